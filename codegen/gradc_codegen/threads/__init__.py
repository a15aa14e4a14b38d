"""Threads of this process that kernels leave tasks to: their pool, as LLVM text."""
