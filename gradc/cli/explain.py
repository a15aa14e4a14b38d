"""``gradc explain``: which rules fired at which line, or all about one op."""

from __future__ import annotations

from typing import Any

import click

from gradc.cli.frame.options import of_option, spec_option, stable_option, wrt_option
from gradc.cli.frame.output import json_option, output_option, write, write_json
from gradc.cli.frame.target import load, target_argument
from gradc.reports.explain import explain_op, explained, explained_op


@click.command(
    short_help="Tell which rule fired at which line, or all about one op.",
    epilog="""\b
Example:
  gradc explain model.py:loss --spec "w: f64[2], x: f64[n,2], y: f64[n]" --of grad""",
)
@target_argument
@spec_option
@of_option
@wrt_option
@stable_option
@json_option
@output_option("A file to write to.")
def explain(
    target: str,
    spec: str | None,
    of: str,
    wrt: Any,
    stable: bool | None,
    as_json: bool,
    output: str,
) -> None:
    """Tell which rewrite rule fired at which line of the function, what was captured and baked in.

    With the name of an op instead of a function (gradc explain log1p): its type rule, partials,
    lowering, and the rules that mention it.
    """
    if ":" not in target:
        if as_json:
            write_json("explain", explained_op(target), output)
        else:
            write(explain_op(target), output)
        return
    compiled = load(target, stable)
    if as_json:
        traced, request = compiled._request((spec,) if spec else (), of, wrt)
        write_json("explain", explained(traced, request), output)
    else:
        write(compiled.explain(of=of, spec=spec, wrt=wrt), output)
