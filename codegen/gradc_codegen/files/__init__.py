"""The files in which kernels are handed over: archives, shared libraries, and what is read off them
before; no graph and no loop nest is known here.
"""
