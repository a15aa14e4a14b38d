"""``gradc diff``: what differs between two graphs: of passes, functions, files or revisions."""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from gradc.cli.frame.failure import Failure
from gradc.cli.frame.graph_file import read_graph
from gradc.cli.frame.options import of_option, spec_option, stable_option, wrt_option
from gradc.cli.frame.output import coloured_change, json_option, write, write_json
from gradc.cli.frame.target import Target, load
from gradc.reports.difference import difference
from gradc.reports.dump import GRAPHS, every_step, graph, steps_called
from gradc_ir.core.graph import Function
from gradc_ir.text.parser import parse_function


@click.command(
    short_help="Tell what differs between passes, functions, files or revisions.",
    epilog="""\b
Example:
  gradc diff model.py:loss --spec "w: f64[2], x: f64[n,2], y: f64[n]" --passes traced stabilise""",
)
@click.argument("left", metavar="FUNCTION-OR-FILE", type=Target())
@click.argument("right", metavar="[FUNCTION-OR-FILE]", required=False, type=Target())
@spec_option
@of_option
@wrt_option
@click.option("--stage", type=click.Choice(GRAPHS), default="final", help="How far on their way.")
@click.option("--passes", nargs=2, default=None, help="Of one function: after these two passes.")
@click.option(
    "--revisions", nargs=2, default=None, help="Of one function: in two revisions known to git."
)
@click.option("--exactly", is_flag=True, help="Compare the text of the graphs, line by line.")
@stable_option
@json_option
def diff(
    left: str,
    right: str | None,
    passes: tuple[str, str] | None,
    revisions: tuple[str, str] | None,
    exactly: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Tell what differs between two graphs; exit 1 when something does.

    Two functions, each as module.py:function, or files with the text of graphs (gradc dump -o); or
    one function after two passes, or in two revisions. Statements count as the same when only the
    order of sums and products differs.
    """
    if sum(each is not None for each in (right, passes, revisions)) != 1:
        raise click.UsageError("give a second function or file, --passes, or --revisions")
    if right is not None:
        titles = (left, right)
        sides = [_side(name, **options) for name in titles]
    elif passes is not None:
        titles = passes
        sides = _after(left, passes, **options)
    else:
        assert revisions is not None
        titles = revisions
        sides = [_revision(left, revision, options) for revision in revisions]
    found = difference(sides[0], sides[1], exactly=exactly)
    if as_json:
        facts = {"left": titles[0], "right": titles[1], "same": found.same}
        changes = [{"side": "left" if line[0] == "-" else "right", "line": line[2:]}
                   for line in found.lines]  # fmt: skip
        write_json("diff", {**facts, "nodes": found.nodes, "changes": changes})
    elif found.same:
        write(f"{titles[0]} and {titles[1]} are the same: {found.nodes[0]} nodes", "-")
    else:
        head = [f"--- {titles[0]}: {found.nodes[0]} nodes", f"+++ {titles[1]}: {found.nodes[1]}"]
        other = "the same statements; --exactly shows where they are made of other nodes"
        write("\n".join(map(coloured_change, [*head, *(found.lines or [other])])), "-")
    sys.exit(0 if found.same else 1)


def _side(name: str, *, stage: str, stable: bool | None, spec: Any, of: str, wrt: Any) -> Function:
    if ":" not in name:
        return read_graph(name)
    traced, request = load(name, stable)._request((spec,) if spec else (), of, wrt)
    return graph(traced.function, request, stage)


def _after(
    name: str,
    passes: Sequence[str],
    *,
    stage: str,
    stable: bool | None,
    spec: Any,
    of: str,
    wrt: Any,
) -> list[Function]:
    traced, request = load(name, stable)._request((spec,) if spec else (), of, wrt)
    steps = every_step(traced.function, request)
    return [steps_called(steps, wanted)[-1][1] for wanted in passes]


def _revision(name: str, revision: str, options: dict[str, Any]) -> Function:
    """Return the graph of a function as it was: another process runs the files of a revision."""
    place, colon, function = name.rpartition(":")
    if not colon or not place.endswith(".py"):
        raise Failure(f"--revisions are of a function in a file: {name!r} is no file.py:function")
    here = Path(place).resolve().parent
    if not here.is_dir():
        raise Failure(f"no folder {here}")
    top = Path(_git("rev-parse", "--show-toplevel", cwd=here).decode().strip())
    try:
        inside = Path(place).resolve().relative_to(top.resolve())
    except ValueError:
        raise Failure(f"{place} does not lie in the repository {top}") from None
    files = _git("archive", "--format=zip", revision, "--", cwd=top)
    with tempfile.TemporaryDirectory() as folder:
        with zipfile.ZipFile(io.BytesIO(files)) as packed:
            packed.extractall(folder)
        if not (Path(folder) / inside).is_file():
            raise Failure(f"there is no {inside} in {revision}")
        # -P: the folder may hold something that is called as what gradc imports
        command = [sys.executable, "-P", "-m", "gradc", "dump", f"{inside}:{function}"]
        for key in ("spec", "of", "stage"):
            if options[key] is not None:
                command += [f"--{key}", options[key]]
        wrt = options["wrt"] if isinstance(options["wrt"], tuple) else (options["wrt"],)
        command += ["--wrt", ",".join(map(str, wrt))]
        if options["stable"] is not None:
            command.append("--stable" if options["stable"] else "--no-stable")
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise Failure(f"in {revision}: {done.stderr.strip().removeprefix('Error: ')}")
        return parse_function(done.stdout)


def _git(*arguments: str, cwd: Path) -> bytes:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, cwd=cwd)
    except FileNotFoundError:
        raise Failure("--revisions need git, which is not installed") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or ["it failed"]
        raise Failure(f"git {arguments[0]}: {lines[0]}")
    return done.stdout
