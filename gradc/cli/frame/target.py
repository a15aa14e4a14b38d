"""Finding the function a command names: ``module.py:function`` or ``package.module:function``."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from click.shell_completion import CompletionItem

from gradc.api.compiled import Compiled
from gradc.cli.frame.failure import Failure
from gradc.cli.frame.search_path import add_folder, module_name
from gradc.cli.frame.users_errors import loading


def load(target: str, stable: bool | None = None) -> Compiled[..., Any]:
    """Return the compiled function a target names; a plain function is wrapped.

    ``stable`` says whether stable rules apply, whatever the function was compiled with.
    """
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise Failure(
            f"{target!r} does not name a function: write module.py:function or pkg.module:function"
        )
    found: Any = load_module(place)
    with loading(place):
        for part in name.split("."):
            if not hasattr(found, part):
                named = getattr(found, "__dict__", {})
                near = ", ".join(sorted(n for n, each in named.items() if callable(each)))
                near = f"; its functions: {near}" if near and isinstance(found, ModuleType) else ""
                raise Failure(f"{place} has no {part!r}{near}")
            found = getattr(found, part)
            place = f"{place}{'.' if ':' in place else ':'}{part}"
    if not isinstance(found, Compiled):
        if not callable(found):
            raise Failure(f"{target} is a {type(found).__name__}, not a function")
        found = Compiled(found)
    compiled: Compiled[..., Any] = found
    if stable is None or stable is compiled.options.stable:
        return compiled
    options = {**vars(compiled.options), "stable": stable}
    static = sorted(compiled._parameters.static)
    return Compiled(compiled.__wrapped__, spec=compiled.spec, static=static, **options)


def load_module(place: str) -> Any:
    """Return the module of a path or of a name; raises Failure when there is none."""
    if not place.endswith(".py"):
        add_folder("")
        if not all(part.isidentifier() for part in place.split(".")):
            raise Failure(f"{place!r} is no name of a module, and no Python file")
        try:
            with loading(place):
                return importlib.import_module(place)
        except ModuleNotFoundError as error:
            if not f"{place}.".startswith(f"{error.name}."):
                raise  # one that the module imports
            raise Failure(f"no module called {error.name}") from None
    path = Path(place)
    try:
        path.read_bytes()
    except FileNotFoundError:
        raise Failure(f"no file {place}") from None
    except (OSError, ValueError) as error:
        raise Failure(f"cannot read {place}: {getattr(error, 'strerror', error)}") from None
    name = module_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise Failure(f"{place} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    add_folder(path.parent)
    with loading(place):
        spec.loader.exec_module(module)
    return module


class Target(click.ParamType):  # type: ignore[type-arg]
    """A function of a file; a shell completes files, and then the functions of one."""

    name = "target"

    def shell_complete(
        self, context: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the Python files, or the functions of the file that is named."""
        place, colon, begun = incomplete.partition(":")
        if not colon:
            return [CompletionItem(place, type="file")]
        return [
            CompletionItem(f"{place}:{name}")
            for name in _functions_of(place)
            if name.startswith(begun)
        ]


def _functions_of(place: str) -> list[str]:
    """Return the functions that a file defines, which is not run."""
    try:
        tree = ast.parse(Path(place).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return []
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


target_argument = click.argument("target", metavar="MODULE.PY:FUNCTION", type=Target())
optional_target_argument = click.argument(
    "target", metavar="[MODULE.PY:FUNCTION]", required=False, type=Target()
)
