"""``gradc export``: write C-callable kernels, an object or a library, and its header."""

from __future__ import annotations

from typing import Any

import click

from gradc.api.export import export as export_functions
from gradc.cli.frame.options import stable_option, wrt_option_or_none
from gradc.cli.frame.output import json_option, write_json
from gradc.cli.frame.target import load
from gradc.runtime.export import LINKS


@click.command(
    short_help="Write values and derivatives as kernels for C.",
    epilog="""\b
Example:
  gradc export model.py:loss --spec "w: f64[2], x: f64[n,2], y: f64[n]" --out build""",
)
@click.argument("targets", metavar="MODULE.PY:FUNCTION...", nargs=-1, required=True)
@click.option(
    "--spec",
    multiple=True,
    help='The arguments: "x: f64[n,3], p: {w: f64[3], b: f64}"; may be left out when the function '
    "was compiled with spec=. Of several functions one each, in their order.",
)
@click.option(
    "--of",
    multiple=True,
    default=None,
    help="What to write beside the value: vg (value and gradient), grad, jvp, vjp, hvp, jac, hess, "
    "jac_sparse, hess_sparse; several with commas, or the option again. With _batch behind it, it "
    "is of many points at once: vg_batch. By default vg, for a function of one float.",
)
@wrt_option_or_none
@click.option(
    "--name", default=None, help="The C name, and that of the files; the function's by default."
)
@click.option(
    "--out", default=".", type=click.Path(file_okay=False), help="The folder to write to."
)
@click.option("--cpu", default=None, help="The CPU; the target's baseline by default, or 'native'.")
@click.option(
    "--target", "triple", default=None, help="The LLVM triple; this machine's by default."
)
@click.option(
    "--link",
    type=click.Choice(LINKS),
    default="object",
    help="An object file, a static or a shared library, LLVM's text, or assembly.",
)
@click.option(
    "--optimize",
    type=click.Choice(["0", "1", "2", "size"]),
    default=None,
    callback=lambda context, option, level: int(level) if level in ("0", "1", "2") else level,
    help="How hard LLVM tries; by default what suits the function. 'size' is for small machines: "
    "short code rather than fast, with the same results.",
)
@click.option(
    "--bake",
    multiple=True,
    help="A captured array that becomes a constant of the kernels, by its name, or 'all'.",
)
@click.option(
    "--shared", multiple=True, help="An argument that all points of a batch have in common."
)
@click.option("--docs/--no-docs", default=False, help="Formulas in the header's comments.")
@click.option(
    "--structs/--no-structs", default=False, help="NAME_struct, with a struct of arguments a side."
)
@click.option(
    "--parallel/--no-parallel",
    default=False,
    help="NAME_parallel, whose caller hands in what runs its tasks, on threads of its own.",
)
@click.option(
    "--package/--no-package",
    default=False,
    help="An example_main.c that checks itself, and files for pkg-config and CMake.",
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
@click.option(
    "--soft-double/--no-soft-double",
    default=False,
    help="Whether functions of the object's own may compute with doubles where the CPU has none: "
    "the same bits, slowly.",
)
@stable_option
@json_option
def export(
    targets: tuple[str, ...],
    spec: tuple[str, ...],
    name: str | None,
    of: tuple[str, ...],
    stable: bool | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Write NAME.o and NAME.h with the value (NAME) and the value with its gradient (NAME_vg).

    C passes arguments in the order of the spec: the entries of {w: f64[3], b: f64} as w, b, under
    the names p_w, p_b of an argument p. Results have the names of the keys and fields that the
    function returns, in its order. --of writes NAME_jac, NAME_vjp and so on. Several functions go
    into one file, each under its own name.

    Where the gradient goes back through a loop without a known number of steps (while_loop without
    max_iter), the last size argument of NAME_vg, tape, says for how many steps there is room.
    """
    loaded = [load(target, stable) for target in targets]
    if spec and len(spec) != len(loaded):
        raise click.UsageError(f"{len(spec)} specs for {len(loaded)} functions")
    names = [one.__name__ for one in loaded]
    file = name or names[0]
    if len(loaded) == 1:
        names = [file]
    repeated = next((one for one in names if names.count(one) > 1), None)
    if repeated is not None:
        raise click.UsageError(f"two of the functions are called {repeated}")
    paths = export_functions(
        file,
        dict(zip(names, loaded)),
        spec=dict(zip(names, spec)) or None,
        of=of or None,
        **options,
    )
    if as_json:
        write_json("export", {"files": [str(path) for path in paths]})
        return
    for path in paths:
        click.echo(str(path))
