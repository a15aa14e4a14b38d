"""From graph to machine: schedules, loop nests, LLVM text, and what compiles and calls it."""
