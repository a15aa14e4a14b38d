"""Jacobians of numbers by elimination: what lies between inputs and results goes, in a good order."""
