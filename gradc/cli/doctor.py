"""``gradc doctor``: list everything a function does that is not supported."""

from __future__ import annotations

import sys

import click

from gradc.cli.frame.target import load, spec_option, target_argument


@click.command(short_help="List everything a function does that is not supported.")
@target_argument
@spec_option
def doctor(target: str, spec: str | None) -> None:
    """List every unsupported call of a function with its line and its cure; exit 1 when there is.

    The function is traced past each problem with sample values. The last line says whether the
    value and its derivatives, forward and reverse, exist.
    """
    found = load(target).support(spec=spec)
    click.echo(str(found))
    if not found.ok:
        sys.exit(1)
