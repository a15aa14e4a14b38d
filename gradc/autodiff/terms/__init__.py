"""Jacobians as sums of terms: coefficients of a linear graph, and where each stands; no seeds."""
