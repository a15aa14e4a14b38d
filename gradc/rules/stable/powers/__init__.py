"""Stable rules of powers, roots and norms."""
