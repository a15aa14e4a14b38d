"""NumPy's functions, with its signatures, written as ops or with other functions."""
