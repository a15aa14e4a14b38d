"""Jacobians as sums of terms: the coefficients of a linear graph, each beside where it stands; no seeds, no passes."""
