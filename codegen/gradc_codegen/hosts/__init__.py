"""Faces of a kernel for hosts with a calling convention of their own, SciPy's, XLA's and CasADi's:
LLVM text of functions that call the C function in front of the kernel.
"""
