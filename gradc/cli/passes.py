"""``gradc passes``: list the passes in the order in which they run, or how long they take."""

from __future__ import annotations

from typing import Any

import click

from gradc.cli.frame.options import of_option, spec_option, stable_option, wrt_option
from gradc.cli.frame.output import json_option, write, write_json
from gradc.cli.frame.table import lines_of
from gradc.cli.frame.target import load, optional_target_argument

_TITLES = {
    "before": "before differentiation",
    "after": "after differentiation",
    "codegen": "code generation",
}


@click.command(
    short_help="List the passes in their order, or how long they take.",
    epilog="""\b
Example:
  gradc passes model.py:loss --spec "w: f64[2], x: f64[n,2], y: f64[n]" --of grad""",
)
@optional_target_argument
@spec_option
@of_option
@wrt_option
@stable_option
@json_option
def passes(
    target: str | None, stable: bool | None, spec: str | None, as_json: bool, **options: Any
) -> None:
    """List the passes before and after differentiation and before the schedule.

    Of a function: how long each takes on it, and how many nodes it leaves.
    """
    from gradc.reports.passes import pipelines, timings

    if target is None:
        lists = pipelines()
        if as_json:
            found = [
                {"pipeline": name, "pass": step.name, "summary": step.summary}
                for name, each in lists.items()
                for step in each.passes
            ]
            write_json("passes", {"passes": found})
            return
        for name, each in lists.items():
            click.echo(f"{_TITLES[name]}:")
            for step in each.passes:
                click.echo(f"  {step.name:14} {step.summary}")
        return
    compiled = load(target, stable)
    traced, request = compiled._request((spec,) if spec else (), **options)
    taken = timings(traced.function, request)
    if as_json:
        steps = [{"pass": x.name, "seconds": x.seconds, "nodes": x.nodes} for x in taken]
        write_json("passes", {"function": compiled.__name__, "of": request.of, "steps": steps})
        return
    rows = [("pass", "milliseconds", "nodes")]
    rows += [(x.name, f"{1e3 * x.seconds:12.3f}", f"{x.nodes:5}") for x in taken]
    total = sum(x.seconds for x in taken)
    rows.append(("all", f"{1e3 * total:12.3f}", ""))
    write("\n".join(lines_of(rows)), "-")
