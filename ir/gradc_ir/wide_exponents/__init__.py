"""Arithmetic whose exponents have no bound: what it means, and how functions are made of its
steps.
"""
