"""NumPy functions that choose, search, sort and scatter."""
