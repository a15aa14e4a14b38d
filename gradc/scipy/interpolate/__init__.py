"""Piecewise polynomials of scipy.interpolate, made outside of traced code or in it."""
