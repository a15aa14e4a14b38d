"""LLVM: text to optimised code, in this process or in an object file."""
