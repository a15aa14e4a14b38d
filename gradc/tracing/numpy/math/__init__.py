"""NumPy functions of calculus, polynomials, series and the parts of numbers."""
