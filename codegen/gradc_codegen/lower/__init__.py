"""From loop nests and buffers to LLVM IR."""
