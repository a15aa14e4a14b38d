"""``gradc doctor``: what a function does that is not supported, or what this machine lacks."""

from __future__ import annotations

import sys

import click

from gradc.cli.frame.options import spec_option, stable_option
from gradc.cli.frame.output import json_option, write, write_json
from gradc.cli.frame.target import load, optional_target_argument


@click.command(
    short_help="List what a function does that is not supported, or what is on this machine.",
    epilog="""\b
Example:
  gradc doctor model.py:loss --spec "w: f64[2], x: f64[n,2], y: f64[n]\"""",
)
@optional_target_argument
@spec_option
@stable_option
@json_option
def doctor(target: str | None, spec: str | None, stable: bool | None, as_json: bool) -> None:
    """List every unsupported call of a function with its line and its cure; exit 1 when there is.

    The function is traced past each problem with sample values. The last line says whether the
    value and its derivatives, forward and reverse, exist. Without a function: versions, CPU and
    BLAS of this machine, and whether a kernel made here computes what it should.
    """
    if target is None:
        _look_around(as_json)
        return
    found = load(target, stable).support(spec=spec)
    if as_json:
        problems = [
            {
                "error": type(problem).__name__,
                "what": problem.what,
                "line": problem.at.short if problem.at else None,
                "code": problem.at.code if problem.at else None,
                "found": problem.found,
                "help": problem.help,
            }
            for problem in found.problems
        ]
        exist = {"value": found.value, "forward": found.forward, "reverse": found.reverse}
        facts = {"function": found.name, "spec": found.spec, "supported": found.ok}
        write_json("doctor", {**facts, **exist, "problems": problems, "notes": found.notes})
    else:
        write(str(found), "-")
    if not found.ok:
        sys.exit(1)


def _look_around(as_json: bool) -> None:
    from gradc.testing.this_machine import this_machine

    found = this_machine()
    if as_json:
        write_json("doctor", {"machine": dict(found.facts), "problems": found.problems})
    else:
        write(str(found), "-")
    if found.problems:
        sys.exit(1)
