"""Compiled functions inside of JAX, PyTorch, CasADi and PyTensor, with their derivatives: an
adapter a file, loaded when it is asked for, and none of these libraries is needed before.
"""
