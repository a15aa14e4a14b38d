"""Arithmetic whose exponents have no bound."""
