"""Derivatives of control flow: calls, branches, loops and what reverse mode computes again."""

from gradc.derivatives.control import call, cond_and_checkpoint, scan_and_while

__all__ = ["call", "cond_and_checkpoint", "scan_and_while"]
