"""LLVM itself: text to optimised code, in this process or in an object file; only here is
llvmlite called.
"""
