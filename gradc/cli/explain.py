"""``gradc explain``: which rules fired at which line, or all about one op."""

from __future__ import annotations

from typing import Any

import click

from gradc.cli.frame.target import (
    load,
    of_option,
    output_option,
    spec_option,
    target_argument,
    write,
    wrt_option,
)
from gradc.reports.explain import explain_op


@click.command(short_help="Tell which rule fired at which line, or all about one op.")
@target_argument
@spec_option
@of_option
@wrt_option
@output_option("A file to write to.")
def explain(target: str, spec: str | None, of: str, wrt: Any, output: str) -> None:
    """Tell which rewrite rule fired at which line of the function, what was captured and baked in.

    With the name of an op instead of a function (gradc explain log1p): its type rule, partials,
    lowering, and the rules that mention it.
    """
    if ":" not in target:
        write(explain_op(target), output)
        return
    write(load(target).explain(of=of, spec=spec, wrt=wrt), output)
