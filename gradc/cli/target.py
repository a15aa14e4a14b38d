"""Finding the function a command names: ``module.py:function`` or ``package.module:function``."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from gradc.api.compiled import Compiled
from gradc.cli.search_path import add_folder, module_name
from gradc.cli.users_errors import loading
from gradc.pipeline import KINDS


def load(target: str) -> Compiled[..., Any]:
    """Return the compiled function a target names; a plain function is wrapped."""
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise click.UsageError(
            f"{target!r} does not name a function: write module.py:function or pkg.module:function"
        )
    found: Any = load_module(place)
    for part in name.split("."):
        if not hasattr(found, part):
            named = getattr(found, "__dict__", {})
            near = ", ".join(sorted(n for n, each in named.items() if callable(each)))
            near = f"; its functions: {near}" if near and isinstance(found, ModuleType) else ""
            raise click.UsageError(f"{place} has no {part!r}{near}")
        found = getattr(found, part)
        place = f"{place}{'.' if ':' in place else ':'}{part}"
    if isinstance(found, Compiled):
        return found
    if not callable(found):
        raise click.UsageError(f"{target} is a {type(found).__name__}, not a function")
    return Compiled(found)


def load_module(place: str) -> Any:
    """Return the module of a path or of a name; raises UsageError when there is none."""
    if not place.endswith(".py"):
        add_folder("")
        if not all(part.isidentifier() for part in place.split(".")):
            raise click.UsageError(f"{place!r} is no name of a module, and no Python file")
        try:
            with loading(place):
                return importlib.import_module(place)
        except ModuleNotFoundError as error:
            if not f"{place}.".startswith(f"{error.name}."):
                raise  # one that the module imports
            raise click.UsageError(f"no module called {error.name}") from None
    path = Path(place)
    try:
        path.read_bytes()
    except FileNotFoundError:
        raise click.UsageError(f"no file {place}") from None
    except OSError as error:
        raise click.UsageError(f"cannot read {place}: {error.strerror}") from None
    name = module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"{place} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    add_folder(path.parent)
    with loading(place):
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

# what int() would refuse, such as two signs or a thousand digits, is no parameter's name either
_POSITION = re.compile("-?[0-9]{1,9}")


def _parsed_wrt(text: str) -> Any:
    """Return the ``wrt`` of an option's text: names and positions; click shows whose it was."""
    entries = [part.strip() for part in text.split(",") if part.strip()]
    if not entries:
        raise click.BadParameter("it names no parameter")
    parsed = [int(part) if _POSITION.fullmatch(part) else part for part in entries]
    return parsed[0] if len(parsed) == 1 else tuple(parsed)


def _wrt_option(absent: Any) -> Callable[[Any], Any]:
    return click.option(
        "--wrt",
        callback=lambda context, option, text: absent if text is None else _parsed_wrt(text),
        help="By which parameters: names or positions, with commas between.",
    )


wrt_option, wrt_option_or_none = _wrt_option(0), _wrt_option(None)


def output_option(help: str) -> Callable[[Any], Any]:
    """Return the option ``-o`` with ``-`` for standard output."""
    return click.option("-o", "--output", default="-", type=click.Path(allow_dash=True), help=help)


def write(text: str, output: str) -> None:
    """Write text to a file, or to standard output for ``-``."""
    try:
        with click.open_file(output, "w") as stream:
            stream.write(text if text.endswith("\n") else text + "\n")
    except BrokenPipeError:
        raise  # who reads has seen enough
    except OSError as error:
        raise click.UsageError(f"cannot write to {output}: {error.strerror}") from None
