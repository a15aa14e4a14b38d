"""Kernels of this process as functions of C: addresses, capsules, SciPy's callables, Numba; what a
compiled function hands out of itself.
"""
