"""``gradc rules``: list the rewrite rules."""

from __future__ import annotations

import click

from gradc.rules import EXACT, FAST, STABLE


@click.command(short_help="List the rewrite rules.")
@click.option("--kind", type=click.Choice(["exact", "stable", "fast"]), help="Only of this class.")
def rules(kind: str | None) -> None:
    """List every rule: its class, name, equation and reason."""
    for name, listed in (("exact", EXACT), ("stable", STABLE), ("fast", FAST)):
        if kind not in (None, name):
            continue
        click.echo(f"{name}:")
        for rule in listed:
            click.echo(f"  {rule.name:24} {rule.text}")
            click.echo(f"  {'':24}   {rule.reason}")
