"""Stable rules of error functions and gamma functions."""
