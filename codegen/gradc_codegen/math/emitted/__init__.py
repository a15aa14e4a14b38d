"""Mathematical functions as LLVM text, branch-free, without a C library, one definition for
numbers and lanes.
"""
