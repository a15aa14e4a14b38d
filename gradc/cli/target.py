"""Finding the function a command names: ``module.py:function`` or ``package.module:function``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from gradc.api.compiled import Compiled
from gradc.pipeline import KINDS


def load(target: str) -> Compiled:
    """Return the compiled function a target names; a plain function is wrapped."""
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise click.UsageError(
            f"{target!r} does not name a function: write module.py:function or pkg.module:function"
        )
    found: Any = load_module(place)
    for part in name.split("."):
        if not hasattr(found, part):
            near = ", ".join(sorted(n for n in vars(found) if callable(getattr(found, n))))
            raise click.UsageError(f"{place} has no {part!r}; its functions: {near}")
        found = getattr(found, part)
    if isinstance(found, Compiled):
        return found
    if not callable(found):
        raise click.UsageError(f"{target} is a {type(found).__name__}, not a function")
    return Compiled(found)


def load_module(place: str) -> Any:
    """Return the module of a path or of a name; raises UsageError when there is none."""
    if not place.endswith(".py"):
        sys.path.insert(0, "")
        try:
            return importlib.import_module(place)
        except ModuleNotFoundError as error:
            raise click.UsageError(f"no module called {error.name}") from None
    path = Path(place)
    if not path.is_file():
        raise click.UsageError(f"no file {place}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"{place} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


target_argument = click.argument("target", metavar="MODULE.PY:FUNCTION")
spec_option = click.option(
    "--spec",
    default=None,
    help='The arguments: "x: f64[n,3], p: {w: f64[3], b: f64}"; may be left out when the function '
    "was compiled with spec=.",
)
of_option = click.option(
    "--of", type=click.Choice(KINDS), default="value", help="What to make of it."
)


def _parsed_wrt(context: click.Context, option: click.Parameter, text: str | None) -> Any:
    """Return the ``wrt`` of an option's text: 0 when it is not given."""
    if text is None:
        return 0
    entries = [part.strip() for part in text.split(",") if part.strip()]
    parsed = [int(part) if part.lstrip("-").isdigit() else part for part in entries]
    return parsed[0] if len(parsed) == 1 else tuple(parsed)


wrt_option = click.option(
    "--wrt",
    callback=_parsed_wrt,
    help="By which parameters: names or positions, with commas between.",
)


def output_option(help: str) -> Callable[[Any], Any]:
    """Return the option ``-o`` with ``-`` for standard output."""
    return click.option("-o", "--output", default="-", type=click.Path(allow_dash=True), help=help)


def write(text: str, output: str) -> None:
    """Write text to a file, or to standard output for ``-``."""
    with click.open_file(output, "w") as stream:
        stream.write(text if text.endswith("\n") else text + "\n")
