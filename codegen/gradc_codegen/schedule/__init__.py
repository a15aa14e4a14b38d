"""From a graph to loop nests: labels, statements, phases, lanes; what decides, and writes no
code.
"""
