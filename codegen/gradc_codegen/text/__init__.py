"""Writing LLVM text, lines, index arithmetic, vectors, loads and stores: no op and no loop nest
is known here.
"""
