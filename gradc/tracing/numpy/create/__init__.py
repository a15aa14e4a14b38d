"""NumPy functions that make arrays."""
