"""Kernels in the hands of other libraries in this process: an adapter a file, loaded when it is
asked for, and none of these libraries is needed before.
"""
