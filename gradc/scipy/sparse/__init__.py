"""Sparse matrices of SciPy in traced code: products, sums and solves by their elements."""
