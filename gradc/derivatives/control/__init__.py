"""Derivatives of control flow: calls, branches and loops, each by graphs of the same ops."""

from gradc.derivatives.control import call, cond_and_checkpoint, scan_and_while

__all__ = ["call", "cond_and_checkpoint", "scan_and_while"]
