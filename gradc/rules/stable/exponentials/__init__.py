"""Stable rules of exponentials, and of functions made of them."""
