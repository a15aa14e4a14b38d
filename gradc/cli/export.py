"""``gradc export``: write a C-callable kernel, an object and its header."""

from __future__ import annotations

from typing import Any

import click

from gradc.cli.target import load, spec_option, target_argument, wrt_option_or_none
from gradc.requests.request import KINDS


@click.command(short_help="Write value and gradient as an object and a C header.")
@target_argument
@spec_option
@click.option(
    "--of",
    type=click.Choice(KINDS),
    multiple=True,
    default=None,
    help="What to write beside the value, may be given several times; by default value_and_grad, "
    "for a function of one float.",
)
@wrt_option_or_none
@click.option("--name", default=None, help="The C name; the function's by default.")
@click.option(
    "--out", default=".", type=click.Path(file_okay=False), help="The folder to write to."
)
@click.option("--cpu", default=None, help="The CPU; the target's baseline by default, or 'native'.")
@click.option(
    "--target", "triple", default=None, help="The LLVM triple; this machine's by default."
)
@click.option(
    "--blas/--no-blas",
    default=False,
    help="Whether large matrix products call BLAS, to be linked with; no by default.",
)
@click.option(
    "--fma",
    type=click.Choice(["emulate", "split"]),
    default=None,
    help="For a CPU without fused multiply-add: the same bits, slowly, or products of sums rounded "
    "before they are added, which gives others.",
)
@click.option(
    "--helpers/--no-helpers",
    default=False,
    help="Whether the object may call functions of the compiler's library (libgcc) for what the "
    "CPU has no instructions for, to be linked with; no by default.",
)
def export(target: str, name: str | None, of: tuple[str, ...], **options: Any) -> None:
    """Write NAME.o and NAME.h with the value (NAME) and the value with its gradient (NAME_vg).

    C passes arguments in the order of the spec: the entries of {w: f64[3], b: f64} as w, b, under
    the names p_w, p_b of an argument p. Results have the names of the keys and fields that the
    function returns, in its order. --of writes NAME_jacobian, NAME_vjp and so on.

    Where the gradient goes back through a loop without a known number of steps (while_loop without
    max_iter), the last size argument of NAME_vg, tape, says for how many steps there is room.
    """
    compiled = load(target)
    for path in compiled.export(name or compiled.__name__, of=of or None, **options):
        click.echo(str(path))
