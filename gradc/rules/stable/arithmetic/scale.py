"""Stable rules for constant factors, which derivatives are full of."""

from __future__ import annotations

import math

from gradc.rules.engine import rule, stable
from gradc_ir.core.types import DType
from gradc_ir.matching.pattern import Match


def _joins_exactly(m: Match) -> bool:
    """Whether a factor is a power of two, and its product with the other one a normal number."""
    first, second = m.number("c"), m.number("d")
    if first is None or second is None or not m.value.type.dtype.is_float:
        return False
    smallest, largest = (
        (2.0**-126, 2.0**127) if m.value.type.dtype is DType.F32 else (2.0**-1022, 2.0**1023)
    )
    numbers = (first, second, first * second)
    if not all(smallest <= abs(number) <= largest for number in numbers):
        return False
    return any(abs(math.frexp(number)[0]) == 0.5 for number in (first, second))


RULES = [
    rule("join-power-of-two", "mul(mul(?x, ?c:const), ?d:const) => mul(?x, ?c * ?d)", stable,
         "a product with a power of two rounds only where numbers get subnormal or infinite on "
         "the way",
         when=_joins_exactly,
         examples=["mul(mul(?x, 100), 2) => mul(?x, 200)",
                   "mul(mul(?x, 0.5), -2) => neg(?x)"]),
]  # fmt: skip
