"""Gradients of the user's, for functions of their own, of NumPy and of C: what declares, checks
and traces them.
"""
