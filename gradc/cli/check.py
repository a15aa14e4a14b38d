"""``gradc check``: compare gradients with finite differences."""

from __future__ import annotations

import sys

import click

from gradc.cli.target import load, spec_option, target_argument
from gradc.testing import check_grads, sample_arguments


@click.command(short_help="Compare gradients, forward and reverse, with finite differences.")
@target_argument
@spec_option
@click.option("--size", default=5, show_default=True, help="The number to take for symbolic sizes.")
@click.option("--seed", default=0, show_default=True, help="Of the random arguments.")
def check(target: str, spec: str | None, size: int, seed: int) -> None:
    """Check forward and reverse gradients on random arguments; exit 1 when they disagree."""
    compiled = load(target)
    args = sample_arguments(compiled.argument_types(spec), size=size, seed=seed)
    try:
        check_grads(compiled, args)
    except AssertionError as error:
        click.echo(f"FAILED {target}\n{error}")
        sys.exit(1)
    click.echo(f"ok {target}: forward = reverse = central differences")
