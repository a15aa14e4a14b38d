"""Stable rules of sums, products and quotients."""
