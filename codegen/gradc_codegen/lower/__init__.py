"""From a loop nest and its buffers to LLVM text: what writes code, and decides nothing of the
schedule.
"""
