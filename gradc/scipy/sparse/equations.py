"""Solves with sparse matrices in traced code, by SciPy."""
