"""``gradc dump``: print a function or its derivative at any stage, as text, data or a picture."""

from __future__ import annotations

from typing import Any

import click

from gradc.cli.frame.options import (
    cpu_option,
    spec_option,
    stable_option,
    triple_option,
    wrt_option,
)
from gradc.cli.frame.output import (
    coloured,
    coloured_change,
    output_option,
    wants_colour,
    write,
    write_json,
)
from gradc.cli.frame.target import load, target_argument
from gradc.reports.dump import GRAPHS, STAGES
from gradc.requests.request import KINDS
from gradc_ir.core.graph import Function

FORMATS = ("text", "json", "dot", "svg", "latex", "html")
# Where derivatives may be other than zero.
_PATTERNS = {"sparsity": "jacobian", "hessian-sparsity": "hessian"}


@click.command(
    short_help="Print a function or its derivative, as text, data or a picture.",
    epilog="""\b
Example:
  gradc dump model.py:loss --spec "w: f64[2], x: f64[n,2], y: f64[n]" --of grad --simple""",
)
@target_argument
@spec_option
@click.option(
    "--of", type=click.Choice((*KINDS, *_PATTERNS)), default="value", help="What to make of it."
)
@wrt_option
@click.option("--stage", type=click.Choice(STAGES), default="final", help="How far on its way.")
@click.option(
    "--after", default=None, metavar="PASS", help="After this pass; 'all' for what each changed."
)
@click.option("--simple", is_flag=True, help="The mathematics alone, without what rescues digits.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="As what.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--no-locations", is_flag=True, help="Leave out the user's lines.")
@stable_option
@cpu_option
@triple_option
@output_option("A file to write to.")
def dump(
    target: str, stable: bool | None, form: str, as_json: bool, output: str, **options: Any
) -> None:
    """Print a function, or the derivative --of names, at a stage of its way to machine code.

    Text of a graph can be read back (gradc opt); with --simple it is Python. Values have the names
    of the user's variables: g_x is what x contributes to the gradient, dx a tangent. --of sparsity
    shows where the Jacobian may be other than zero, hessian-sparsity the Hessian.
    """
    compiled = load(target, stable)
    form = "json" if as_json else form
    if options["of"] in _PATTERNS:
        write(_pattern(compiled, form, options), output)
        return
    stage, after = options["stage"], options["after"]
    if form == "text":
        no_locations = options.pop("no_locations")
        text = compiled.dump(locations=not no_locations, **options)
        write(_shown(text, output, options["simple"], after), output)
        return
    if after is not None or stage not in GRAPHS:
        raise click.UsageError(f"--format {form} is of a graph: give a --stage of {_listed()}")
    if form == "html":
        asked = {key: options[key] for key in ("spec", "of", "wrt")}
        write(compiled.report(**asked), output)
        return
    simple = options["simple"] or form == "latex"
    asked = {key: options[key] for key in ("of", "wrt", "stage")}
    specs = [options["spec"]] if options["spec"] else []
    function = compiled.ir(*specs, simple=simple, **asked)
    if form == "json":
        from gradc.reports.graph_json import graph_json

        found = {"function": compiled.__name__, "of": options["of"], "stage": stage}
        write_json("dump", {**found, "simple": simple, **graph_json(function)}, output)
    else:
        write(_drawn(function, form), output)


def _listed() -> str:
    return ", ".join(GRAPHS)


def _pattern(compiled: Any, form: str, options: dict[str, Any]) -> str:
    """Return the pattern of a derivative, as text or as a picture."""
    from gradc.pictures.spy import svg_of_pattern, text_of_pattern
    from gradc.sparsity.compression import compress, compress_symmetric

    if form not in ("text", "svg") or options["after"] is not None or options["simple"]:
        raise click.UsageError("a pattern is shown as text or svg, without --after and --simple")
    of = _PATTERNS[options["of"]]
    specs = [options["spec"]] if options["spec"] else []
    found = compiled.sparsity(*specs, of=of, wrt=options["wrt"])
    if form == "svg":
        return svg_of_pattern(found, f"{of} of {compiled.__name__}")
    passes = compress(found, "auto") if of == "jacobian" else compress_symmetric(found)
    height, width = found.shape
    about = f"{height} by {width}, {found.nnz} elements"
    counts = f"{passes.forward_passes} passes forward, {passes.reverse_passes} reverse"
    return f"# {of} of {compiled.__name__}: {about}; {counts}\n{text_of_pattern(found)}"


def _drawn(function: Function, form: str) -> str:
    if form == "latex":
        from gradc.reading.latex_text import latex_text

        return latex_text(function)
    if form == "dot":
        from gradc.pictures.dot import dot

        return dot(function)
    from gradc.pictures.svg import svg

    return svg(function)


def _shown(text: str, output: str, simple: bool, after: str | None) -> str:
    """Return a text with colours, where it goes to a terminal."""
    if output != "-" or not wants_colour():
        return text
    if after == "all" and not simple:
        return "\n".join(map(coloured_change, text.splitlines()))
    return coloured(text, python=simple)
