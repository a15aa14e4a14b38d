"""Options that are numbers: each says the least it may be, and what is below is a wrong use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def whole_option(
    name: str, least: int, *, help: str, default: int | None = None
) -> Callable[[Any], Any]:
    """Return an option that is a whole number from ``least`` on."""
    return click.option(
        name,
        type=click.IntRange(min=least),
        default=default,
        show_default=default is not None,
        help=help,
    )


class _Bits(click.FloatRange):
    """Bits of error: nan is below none, above none, and no bound."""

    def convert(
        self, value: Any, param: click.Parameter | None, context: click.Context | None
    ) -> float:
        number = float(super().convert(value, param, context))
        if number != number:
            self.fail("nan is no bound: nothing is above it, and nothing below.", param, context)
        return number


BITS = _Bits(min=0.0)
