"""SciPy's functions and distributions, recorded in terms of ops."""
