"""From a graph to machine code: schedules, loop nests, LLVM text, and what compiles and calls
it.
"""
