"""Stable rules of logarithms, and of sums of exponentials below them."""
