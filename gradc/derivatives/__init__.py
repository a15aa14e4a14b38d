"""Derivatives of the ops, in files of the same names; importing this package fills the table."""

from gradc.autodiff.table import (
    TABLE,
    Derivative,
    Site,
    augmented_rule,
    forward_rule,
    joint_rule,
    masked_transpose,
    nondifferentiable,
    partials,
    reverse_rule,
    transpose,
    zero_derivative,
)
from gradc.derivatives import (
    composed,
    control,
    elementwise,
    factor,
    foreign,
    index,
    linalg,
    order,
    reduce,
    shape,
    special,
    unbounded,
)

FAMILIES = (
    *(elementwise, composed, special, unbounded, reduce, shape, index, order, linalg, factor),
    *(foreign, control),
)  # fmt: skip

__all__ = [
    "FAMILIES",
    "TABLE",
    "Derivative",
    "Site",
    "augmented_rule",
    "forward_rule",
    "joint_rule",
    "masked_transpose",
    "nondifferentiable",
    "partials",
    "reverse_rule",
    "transpose",
    "zero_derivative",
]
