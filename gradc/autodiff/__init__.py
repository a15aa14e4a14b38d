"""Differentiation of graphs in both modes, to any order: what holds for every op, while what is
an op's own stands in derivatives.
"""
