"""Stable rules of trigonometric functions and their inverses."""
