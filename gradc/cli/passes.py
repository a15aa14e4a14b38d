"""``gradc passes``: list the passes in the order in which they run."""

from __future__ import annotations

import click

from gradc.pipeline import after, before
from gradc.requests.options import Options


@click.command(short_help="List the passes in the order in which they run.")
def passes() -> None:
    """List the passes before and after differentiation and before the schedule."""
    from gradc_codegen.schedule.passes.prepare import (  # other commands need no code generation
        preparation,
    )

    options = Options()
    for title, steps in (
        ("before differentiation", before(options).passes),
        ("after differentiation", after(options).passes),
        ("code generation", preparation(options.blas).passes),
    ):
        click.echo(f"{title}:")
        for step in steps:
            click.echo(f"  {step.name:14} {step.summary}")
