"""``gradc cost``: operations, bytes and tape of a function, counted by the user's lines."""

from __future__ import annotations

from typing import Any

import click

from gradc.cli.frame.options import at_option, of_option, spec_option, stable_option, wrt_option
from gradc.cli.frame.output import json_option, write, write_json
from gradc.cli.frame.target import load, target_argument


@click.command(
    short_help="Count operations, bytes and tape, by line.",
    epilog="""\b
Example:
  gradc cost model.py:loss --spec "w: f64[2], x: f64[n,2], y: f64[n]" --of grad --at n=1000""",
)
@target_argument
@spec_option
@of_option
@wrt_option
@at_option("Numbers for sizes that are symbols.")
@stable_option
@json_option
def cost(
    target: str, stable: bool | None, at: dict[str, int], as_json: bool, **options: Any
) -> None:
    """Count what a kernel does, by the lines of the user's; nothing is run.

    Operations are sums, products, comparisons and functions of elements. Read and written are the
    bytes of arrays, each once for each loop over it; tape is what the way back keeps of the way
    there. Sizes that are symbols stay in the figures, unless --at gives them numbers.
    """
    found = load(target, stable).cost(**options).at(**at)
    if as_json:
        write_json("cost", found.as_json())
    else:
        write(str(found), "-")
