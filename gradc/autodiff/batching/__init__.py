"""Batching: a function over one point becomes the function over a leading axis of points; here
stands the rule of each family of ops.

The axis is part of the graph, not a loop around it: every op gets one more axis, at position 0, on
the operands that vary from point to point.
"""

from gradc.autodiff.batching.batch import at_points, batch, batch_each

__all__ = ["at_points", "batch", "batch_each"]
