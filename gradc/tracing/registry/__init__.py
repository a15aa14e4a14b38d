"""How NumPy's protocols find the record of a function."""
