"""Writing LLVM IR: lines, index arithmetic, vectors, loads and stores."""
