"""Derivatives of control flow: calls, branches, loops and what reverse mode computes again."""

from gradc.derivatives.control import call, checkpoint, cond, scan, while_loop

__all__ = ["call", "checkpoint", "cond", "scan", "while_loop"]
