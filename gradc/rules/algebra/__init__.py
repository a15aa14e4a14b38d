"""Sums, products and polynomials as rules see them."""
