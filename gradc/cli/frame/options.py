"""Options that commands share: what of a function, by what, with which rules, for which machine."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click

from gradc.requests.request import KINDS

spec_option = click.option(
    "--spec",
    default=None,
    help='The arguments: "x: f64[n,3], p: {w: f64[3], b: f64}"; may be left out when the function '
    "was compiled with spec=.",
)
of_option = click.option(
    "--of", type=click.Choice(KINDS), default="value", help="What to make of it."
)
stable_option = click.option(
    "--stable/--no-stable",
    default=None,
    help="With the stable rules, or without; as the function was compiled when not given.",
)
cpu_option = click.option("--cpu", default="native", help="The CPU that machine code is for.")
triple_option = click.option(
    "--target", "triple", default=None, help="The LLVM triple it is for; this machine's by default."
)


def _parsed_sizes(context: click.Context, option: click.Parameter, text: str | None) -> Any:
    found = {}
    for part in filter(None, (text or "").replace(" ", "").split(",")):
        name, _, number = part.partition("=")
        if not (name.isidentifier() and number.isascii() and number.isdecimal()):
            raise click.BadParameter(f"{part!r} is no size: write n=1000,d=50")
        if len(number) > 15:
            raise click.BadParameter(f"{name} is too large a size")
        found[name] = int(number)
    return found


def at_option(help: str) -> Callable[[Any], Any]:
    """Return the option ``--at`` with numbers for sizes, by their names."""
    return click.option("--at", callback=_parsed_sizes, metavar="n=1000,…", help=help)


def _parsed_ranges(context: click.Context, option: click.Parameter, texts: Any) -> Any:
    return dict(map(parsed_range, texts))


def parsed_range(text: str) -> tuple[str, tuple[float, float]]:
    """Return the name and the ends of ``x=-50:50``; an end that is left out is infinite."""
    name, equals, ends = text.partition("=")
    low, colon, high = ends.partition(":")
    try:
        interval = float(low or "-inf"), float(high or "inf")
    except ValueError:
        colon = ""
        interval = (0.0, 0.0)
    if not name or not equals or not colon or not interval[0] < interval[1]:
        raise click.BadParameter(f"{text!r} is no range: write x=-50:50, or x=0: without an end")
    return name.strip(), interval


def range_option(help: str) -> Callable[[Any], Any]:
    """Return the option ``--range``, which may be given several times: intervals by names."""
    return click.option(
        "--range",
        "ranges",
        multiple=True,
        callback=_parsed_ranges,
        metavar="NAME=LOW:HIGH",
        help=help,
    )


# what int() would refuse, such as two signs or a thousand digits, is no parameter's name either
_POSITION = re.compile("-?[0-9]{1,9}")


def _parsed_wrt(text: str) -> Any:
    """Return the ``wrt`` of an option's text: names and positions; click shows whose it was."""
    entries = [part.strip() for part in text.split(",") if part.strip()]
    if not entries:
        raise click.BadParameter("it names no parameter")
    parsed = [int(part) if _POSITION.fullmatch(part) else part for part in entries]
    return parsed[0] if len(parsed) == 1 else tuple(parsed)


def _wrt_option(absent: Any) -> Callable[[Any], Any]:
    return click.option(
        "--wrt",
        callback=lambda context, option, text: absent if text is None else _parsed_wrt(text),
        help="By which parameters: names or positions, with commas between.",
    )


wrt_option, wrt_option_or_none = _wrt_option(0), _wrt_option(None)
