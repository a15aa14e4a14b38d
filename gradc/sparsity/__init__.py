"""Where derivatives are surely zero: patterns read off graphs, colourings, and what both save; no
graph is made here.
"""
