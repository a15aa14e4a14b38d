"""NumPy functions of single elements, of calculus, polynomials, series and the parts of numbers."""
