"""Reductions as LLVM, in the defined order: their states, groups of elements, chunks of groups."""
