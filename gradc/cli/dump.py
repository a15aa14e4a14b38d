"""``gradc dump``: print a function or its derivative at any stage."""

from __future__ import annotations

from typing import Any

import click

from gradc.cli.frame.target import (
    load,
    of_option,
    output_option,
    spec_option,
    target_argument,
    write,
    wrt_option,
)
from gradc.reports.dump import STAGES


@click.command(short_help="Print a function or its derivative at any stage.")
@target_argument
@spec_option
@of_option
@wrt_option
@click.option("--stage", type=click.Choice(STAGES), default="final", help="How far on its way.")
@click.option("--after", default=None, metavar="PASS", help="After this pass, or 'all' of them.")
@click.option("--no-locations", is_flag=True, help="Leave out the user's lines.")
@click.option("--cpu", default="native", help="The CPU of --stage llvm and asm.")
@output_option("A file to write to.")
def dump(target: str, no_locations: bool, output: str, **options: Any) -> None:
    """Print a function, or the derivative --of names, at a stage of its way to machine code."""
    write(load(target).dump(locations=not no_locations, **options), output)
