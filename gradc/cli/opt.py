"""``gradc opt``: the text of a graph through passes, chosen by their names."""

from __future__ import annotations

import click

from gradc.cli.frame.graph_file import read_graph
from gradc.cli.frame.output import coloured, json_option, output_option, write, write_json
from gradc_ir.errors import TraceError


@click.command(
    short_help="Run the text of a graph through passes.",
    epilog="""\b
Example:
  gradc dump model.py:loss --spec "w: f64[2], x: f64[n,2], y: f64[n]" | gradc opt --pass fold""",
)
@click.argument("file", default="-", type=click.Path(allow_dash=True))
@click.option(
    "--pass", "passes", multiple=True, help="Its name; several with commas, or the option again."
)
@click.option("--no-locations", is_flag=True, help="Leave out the user's lines.")
@json_option
@output_option("A file to write to.")
def opt(file: str, passes: tuple[str, ...], no_locations: bool, as_json: bool, output: str) -> None:
    """Read the text of a graph, run passes over it, and print what they make of it.

    The text is what gradc dump prints, of FILE or standard input; it says of which version it is.
    `gradc passes` lists the passes; before, after and codegen stand for all of a pipeline's.
    The result of each is verified.
    """
    from gradc.reports.passes import named_passes
    from gradc_ir.text.printer import print_module
    from gradc_ir.verify import verify

    function = read_graph(file)
    verify(function)
    known = named_passes()
    for name in [part.strip() for each in passes for part in each.split(",") if part.strip()]:
        if name not in known:
            raise TraceError(f"no pass is called {name!r}", found=f"passes: {', '.join(known)}")
        function = known[name](function)
        verify(function)
    if as_json:
        from gradc.reports.graph_json import graph_json

        write_json("opt", graph_json(function), output)
        return
    text = print_module(function, not no_locations)
    write(coloured(text) if output == "-" else text, output)
