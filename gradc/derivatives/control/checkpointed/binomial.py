"""The schedule of binomial checkpointing: how far to advance before the next state is stored.

From Griewank and Walther, *Algorithm 799: revolve*, ACM TOMS 26 (2000). Of a loop whose first state
is stored, and with s slots in all, that one's included, C(s + r, r) steps can be reversed without
running any step forward more than r times. With r the least for which that is enough, reversing l
steps takes r l - C(s + r, r - 1) forward steps, and no way takes fewer.
"""

from __future__ import annotations

from gradc.derivatives.control.checkpointed.grouped_loops import Groups, while_loop
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType


def most_sweeps(length: Size | None, slots: Size) -> int:
    """Return how many sweeps suffice, as far as sizes tell: 1, 2, or 3 for more than that."""
    if length is None:
        return 3
    if sizes.at_least(slots + 1, length):
        return 1
    # (s + 1) (s + 2) / 2 > n for s + 1 > sqrt(2 n)
    return 2 if sizes.at_least(slots, sizes.square_root(2 * length) + 1) else 3


def advance(length: Value, slots: Value, sweeps: int) -> Value:
    """Return how many of ``length`` steps to advance before the next state is stored.

    Both are i64 scalars; ``length > slots + 1``, so that not every state can be stored, and
    ``slots >= 1``, the slot of the first state included. ``sweeps`` is what :func:`most_sweeps`
    says. What is left behind then takes r - 1 sweeps with the same slots, what is ahead r sweeps
    with one less. Of the best choices it is the longest advance, which stores the fewest states.
    """
    before, reach = build.constant(1, DType.I64), slots + 1
    if sweeps > 2:
        two = build.constant(2, DType.I64)
        ((_, before, reach),) = while_loop(
            "binomial_sweeps",
            [(length, slots)],
            [(two, before, reach)],
            _more_sweeps,
            _next_sweep,
        )
    # C(s + r - 1, r - 1) = C(s + r - 2, r - 2) + C(s - 1 + r - 1, r - 1): one slot less ahead
    return build.minimum(reach, length - reach + before)


def start(slot: Value, slots: Value) -> Value:
    """Return the step of the state in a slot below the topmost one, where two sweeps suffice.

    Each advance is then one step shorter than the one before: s + 1, s, s - 1 …
    """
    return build.floor_divide(slot * (2 * slots + 3 - slot), 2)


def _more_sweeps(given: list[Value], carried: list[Value]) -> Value:
    """Whether r sweeps do not reach: C(s + r, r) < l, by numbers that stay below l r."""
    length, slots = given
    sweeps, _, reach = carried
    together = slots + sweeps
    needed = build.floor_divide(length * sweeps + together - 1, together)
    return build.lt(reach, needed)


def _next_sweep(given: list[Value], carried: list[Value]) -> Groups:
    """From r, C(s + r - 2, r - 2) and C(s + r - 1, r - 1) to those of r + 1."""
    _, slots = given
    sweeps, _, reach = carried
    further = build.floor_divide(reach * (slots + sweeps), sweeps)
    return [(sweeps + 1, reach, further)]
