"""NumPy's linear algebra: norms, factorisations, equations, determinants."""
