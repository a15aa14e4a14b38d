"""``gradc check``: derivatives against other numbers, bits against bits; or accuracy."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from gradc.cli.frame.numbers import BITS, whole_option
from gradc.cli.frame.options import range_option, spec_option, stable_option
from gradc.cli.frame.output import json_option, progress, write_json
from gradc.cli.frame.table import lines_of
from gradc.cli.frame.target import load, target_argument
from gradc.testing import compare_bits, compare_grads, sample_arguments
from gradc.testing.determinism import A_CALL, Repeat
from gradc.testing.gradients import Comparison

_NOTHING = """\
no derivative was checked: all of them are 0 at these arguments, and so is what they should be
  help: draw others with --seed or --size; is the function constant, or cut off where they lie?"""
_NO_FLOATS = """\
no derivative was checked: the function takes or returns no floating-point numbers
  help: gradients are by floats; declare x: f64[n], say, in --spec"""


@click.command(
    short_help="Compare derivatives with numeric ones, and bits; or measure accuracy.",
    epilog="""\b
Example:
  gradc check model.py:loss --spec "w: f64[2], x: f64[n,2], y: f64[n]" --repeat 1""",
)
@target_argument
@spec_option
@whole_option("--size", 0, help="The number to take for symbolic sizes: 5, or 2 with --accuracy.")
@whole_option("--order", 1, default=1, help="Up to which order of derivatives.")
@whole_option("--repeat", 1, default=5, help="How many upstream gradients to draw.")
@whole_option("--seed", 0, default=0, help="Of the random arguments.")
@click.option(
    "--accuracy",
    is_flag=True,
    help="Measure bits of error of value and gradient instead, and tell at which op they arise.",
)
@range_option("With --accuracy: where an argument comes from; all floats when not given.")
@whole_option("--points", 1, default=200, help="With --accuracy: how many points.")
@click.option("--max-bits", type=BITS, help="With --accuracy: exit 1 when a mean is above this.")
@stable_option
@json_option
def check(
    target: str,
    spec: str | None,
    size: int | None,
    order: int,
    repeat: int,
    seed: int,
    accuracy: bool,
    ranges: dict[str, tuple[float, float]],
    points: int,
    max_bits: float | None,
    stable: bool | None,
    as_json: bool,
) -> None:
    """Check derivatives and determinism on random arguments; exit 1 when something disagrees.

    Exit 1, too, when all derivatives are 0 at the arguments, which proves nothing.

    Forward and reverse mode are compared with each other and with slopes that owe nothing to
    derivative rules; values and gradients of random upstream gradients have to have the same bits
    in every run, process and kernel.

    With --accuracy, the bits of error of value and gradient are measured over sampled points (bit
    patterns, daily use, and where expressions break) against numbers of many digits, beside naive
    code. The worst points are shown, each with the op and the line at which the error arises.
    """
    if accuracy:
        from gradc.cli import accuracy as measured

        well = measured.check(
            load(target, stable),
            spec,
            ranges,
            points,
            2 if size is None else size,
            seed,
            max_bits,
            as_json,
        )
        sys.exit(0 if well else 1)
    if ranges or max_bits is not None:
        raise click.UsageError("--range and --max-bits belong to --accuracy")
    compiled = load(target, stable)
    args = sample_arguments(
        compiled.argument_types(spec), size=5 if size is None else size, seed=seed
    )
    found = compare_grads(compiled, args, order, seed=seed)
    compared = list(progress(found, "derivatives compared:"))
    ways = compare_bits(compiled, args, repeat, seed=seed)
    repeated = list(progress(ways, "ways to compute them:"))
    failures = [str(made) for made in compared if not made.agree][:1]
    failures += [str(made.difference) for made in repeated if made.difference is not None][:1]
    nothing = all(made.is_empty for made in compared)
    status = "FAILED" if failures else "NOTHING PROVED" if nothing else "ok"
    if as_json:
        write_json("check", _described(compiled.__name__, status, compared, repeated, failures))
    else:
        _print(target, status, compared, repeated, failures, repeat)
    sys.exit(0 if status == "ok" else 1)


def _described(
    name: str,
    status: str,
    compared: Sequence[Comparison],
    repeated: Sequence[Repeat],
    failures: Sequence[str],
) -> dict[str, Any]:
    return {
        "function": name,
        "status": status,
        "derivatives": [
            {
                "order": made.order,
                "argument": made.argument,
                "result": made.result,
                "mode": made.mode,
                "against": made.against,
                "expected": float(made.expected),
                "found": float(made.found),
                "error": float(made.error),
                "agree": bool(made.agree),
                "zeros": bool(made.is_empty),
            }
            for made in compared
        ],
        "bits": [
            {
                "way": run.way,
                "against": run.against,
                "same": None if run.reason else run.difference is None,
                "not_compared": run.reason or None,
            }
            for run in repeated
        ],
        "failures": list(failures),
    }


def _print(
    target: str,
    status: str,
    compared: Sequence[Comparison],
    repeated: Sequence[Repeat],
    failures: Sequence[str],
    repeat: int,
) -> None:
    colour = "green" if status == "ok" else "red"
    click.echo(f"{click.style(status, fg=colour, bold=True)} {target}")
    rows = [("order", "argument", "result", "mode", "against", "expected", "found", "error", "")]
    for made in compared:
        names = str(made.order), made.argument, made.result, made.mode, made.against
        numbers = f"{made.expected:.9g}", f"{made.found:.9g}", f"{made.error:.0e}"
        verdict = "" if made.agree else "WRONG"
        rows.append((*names, *numbers, "0 = 0" if made.is_empty else verdict))
    click.echo("\n" + "\n".join(lines_of(rows)))
    runs = [("compared with a call", f"bits for {repeat} upstream gradients")]
    for run in repeated:
        bits = "the same" if run.difference is None else "OTHERS"
        if run.against != A_CALL:
            bits += f", compared with {run.against}"
        runs.append((run.way, f"not compared: {run.reason}" if run.reason else bits))
    click.echo("\n" + "\n".join(lines_of(runs)))
    if status == "NOTHING PROVED":
        click.echo("\n" + _NOTHING if compared else "\n" + _NO_FLOATS)
    # one of each kind tells where to look; the tables have the others
    for failure in failures:
        click.echo("\n" + failure)
