"""``gradc passes``: list the passes in the order in which they run."""

from __future__ import annotations

import click

from gradc.pipeline import Options, after, before


@click.command(short_help="List the passes in the order in which they run.")
def passes() -> None:
    """List the passes before and after differentiation, with what each does."""
    options = Options()
    for pipeline in (before(options), after(options)):
        click.echo(f"{pipeline.name} differentiation:")
        for step in pipeline.passes:
            click.echo(f"  {step.name:14} {step.summary}")
