"""NumPy functions that reduce or accumulate along axes."""
