"""Jacobians of numbers by elimination of what lies between inputs and results."""
