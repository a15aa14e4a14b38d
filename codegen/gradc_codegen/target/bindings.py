"""LLVM as llvmlite has it. Whoever imports this module loads LLVM."""

from __future__ import annotations

import llvmlite.binding as llvm

from gradc_ir.forks import Depth, hold_across_forks

__all__ = ["llvm"]

# llvmlite's own lock, which what is freed takes at any time, without ours; it has no public name
if (_freeing := getattr(getattr(llvm.ffi.lib, "_lock", None), "_lock", None)) is not None:
    hold_across_forks(_freeing, Depth.FREEING)
