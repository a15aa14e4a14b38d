"""Functions of scipy.optimize in traced code: roots and minima, as loops of the graph with the
derivatives of what they solve.
"""
