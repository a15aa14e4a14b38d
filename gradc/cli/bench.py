"""``gradc bench``: time, traffic and arithmetic of kernels, beside the machine's ceilings."""

from __future__ import annotations

from typing import Any

import click

from gradc.cli.frame.options import (
    at_option,
    range_option,
    spec_option,
    stable_option,
    wrt_option,
)
from gradc.cli.frame.output import json_option, progress, write, write_json
from gradc.cli.frame.target import load, target_argument
from gradc.requests.request import KINDS


@click.command(
    short_help="Measure kernels by loop and line, beside the machine's ceilings.",
    epilog="""\b
Example:
  gradc bench model.py:loss --spec "w: f64[2], x: f64[n,2], y: f64[n]" --at n=1000""",
)
@target_argument
@spec_option
@click.option(
    "--of",
    "kinds",
    type=click.Choice(KINDS),
    multiple=True,
    help="What to measure, may be given several times; by default value, and value_and_grad of a "
    "function of one float.",
)
@wrt_option
@at_option("Numbers for sizes that are symbols; 1000 each when not given.")
@range_option("Where an argument comes from, uniformly; normally distributed when not given.")
@stable_option
@json_option
def bench(
    target: str,
    spec: str | None,
    kinds: tuple[str, ...],
    wrt: Any,
    at: dict[str, int],
    ranges: dict[str, tuple[float, float]],
    stable: bool | None,
    as_json: bool,
) -> None:
    """Measure kernels on random arguments: time, memory traffic and arithmetic.

    Of the call, of each of its top-level loops, and of each of the user's lines it says what bounds
    it: memory, arithmetic, functions such as exp, or the order of its operations, where it comes
    near no ceiling. The ceilings (reading at several sizes, multiply-adds, exponentials) are
    measured in the same run. A line's part of a loop that several lines share is estimated.
    """
    from gradc.costs.bench import Bench
    from gradc.testing.measuring import asked, measured

    compiled = load(target, stable)
    runs = asked(compiled, spec, kinds, wrt, at, ranges)
    found = Bench(compiled.__name__, *measured(compiled, progress(runs, "kernels measured:")))
    if as_json:
        write_json("bench", found.as_json())
    else:
        write(found.text(lambda heading: click.style(heading, bold=True)), "-")
