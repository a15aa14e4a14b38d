"""Functions of scipy.linalg."""
