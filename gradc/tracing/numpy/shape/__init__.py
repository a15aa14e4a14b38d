"""NumPy functions that move elements and compute none."""
