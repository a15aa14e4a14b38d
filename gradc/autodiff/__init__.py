"""Differentiation of graphs: Function in, Function out, in forward and reverse mode, any order."""
