"""What is surely known about the numbers in a value, for the guards of rules.

Every question answers *no* when it does not know. Questions about sign and size allow nan: they say
that no element is elsewhere. The numbers meant are those that are computed: ``exp`` is not
positive, because it underflows to zero.
"""

from __future__ import annotations

from gradc_ir.core.graph import Value
from gradc_ir.core.range import INF
from gradc_ir.ranges.reading import range_of


def interval(value: Value) -> tuple[float, float]:
    """Return the ends between which every element is or nan; both may be an element."""
    known = range_of(value)
    return (-INF, INF) if known.is_empty else (known.low, known.high)


def is_positive(value: Value) -> bool:
    """Whether every element is above 0 or nan."""
    return range_of(value).low > 0


def is_nonnegative(value: Value) -> bool:
    """Whether every element is at least 0 (of either sign) or nan."""
    return range_of(value).low >= 0


def is_negative(value: Value) -> bool:
    """Whether every element is below 0 or nan."""
    return range_of(value).high < 0


def is_nonzero(value: Value) -> bool:
    """Whether no element is 0 or -0.0."""
    return range_of(value).nonzero


def is_unsigned(value: Value) -> bool:
    """Whether no element is -0.0."""
    return not range_of(value).signed


def is_within(value: Value, low: float, high: float) -> bool:
    """Whether every element is between two numbers, ends included, or nan."""
    known = range_of(value)
    return low <= known.low and known.high <= high


def is_finite(value: Value) -> bool:
    """Whether every element is a number: not infinite, not nan."""
    known = range_of(value)
    return not known.has_infinity and not known.nan


def is_whole(value: Value) -> bool:
    """Whether every element is a whole number: not infinite, not nan."""
    return range_of(value).whole and is_finite(value)
