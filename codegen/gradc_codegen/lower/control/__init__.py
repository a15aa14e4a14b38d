"""Loops and branches: carries from step to step, and the code around the body."""
