"""The meaning of a whole graph: it is run, slowly, in NumPy."""
