"""The meaning of ops on NumPy arrays, the order of sums, fma, functions that NumPy lacks: no
graph enters.
"""
