"""``gradc check``: derivatives against numbers that owe nothing to rules, and bits against bits."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import click

from gradc.cli.target import load, spec_option, target_argument
from gradc.testing import compare_bits, compare_grads, sample_arguments


@click.command(short_help="Compare derivatives with numeric ones, and the bits of every run.")
@target_argument
@spec_option
@click.option("--size", default=5, show_default=True, help="The number to take for symbolic sizes.")
@click.option("--order", default=1, show_default=True, help="Up to which order of derivatives.")
@click.option("--repeat", default=5, show_default=True, help="How many upstream gradients to draw.")
@click.option("--seed", default=0, show_default=True, help="Of the random arguments.")
def check(target: str, spec: str | None, size: int, order: int, repeat: int, seed: int) -> None:
    """Check derivatives and determinism on random arguments; exit 1 when something disagrees.

    Forward and reverse mode are compared with each other and with slopes that owe nothing to
    derivative rules; values and gradients of random upstream gradients have to have the same bits
    in every run, process and kernel.
    """
    compiled = load(target)
    args = sample_arguments(compiled.argument_types(spec), size=size, seed=seed)
    compared = list(compare_grads(compiled, args, order, seed=seed))
    repeated = list(compare_bits(compiled, args, repeat, seed=seed))
    # one of each kind tells where to look; the tables have the others
    failures = [str(made) for made in compared if not made.agree][:1]
    failures += [str(made.difference) for made in repeated if made.difference is not None][:1]
    click.echo(f"{'FAILED' if failures else 'ok'} {target}")
    rows = [("order", "argument", "result", "mode", "against", "expected", "found", "error", "")]
    for made in compared:
        rows.append(
            (
                str(made.order),
                made.argument,
                made.result,
                made.mode,
                made.against,
                f"{made.expected:.9g}",
                f"{made.found:.9g}",
                f"{made.error:.0e}",
                "" if made.agree else "WRONG",
            )
        )
    click.echo("\n" + "\n".join(_table(rows)))
    runs = [("compared with a call", f"bits for {repeat} upstream gradients")]
    for run in repeated:
        bits = "the same" if run.difference is None else "OTHERS"
        runs.append((run.way, f"not compared: {run.reason}" if run.reason else bits))
    click.echo("\n" + "\n".join(_table(runs)))
    for failure in failures:
        click.echo("\n" + failure)
    sys.exit(1 if failures else 0)


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table, its columns as wide as their widest entry."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip()
