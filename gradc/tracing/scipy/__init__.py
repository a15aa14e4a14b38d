"""SciPy's functions and distributions in traced code."""
