"""``gradc.export``: several functions as kernels for C, in one file with one header."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from gradc.api.compile import compiled
from gradc.api.compiled import Compiled
from gradc.runtime.specialize import alone
from gradc.traceback import boundary
from gradc_ir.errors import ExportError

if TYPE_CHECKING:
    from gradc.exports.export import ExportOptions

_T = TypeVar("_T")


@boundary
@alone
def export(
    name: str,
    functions: Mapping[str, Callable[..., Any]] | Sequence[Callable[..., Any]],
    *,
    spec: Any = None,
    of: Any = None,
    outputs: Any = None,
    wrt: Any = None,
    bake: Any = (),
    shared: Any = (),
    docs: bool = False,
    **options: Unpack[ExportOptions],
) -> list[Path]:
    """Write several functions to one object file, or library, with one header; returns the paths.

    Parameters
    ----------
    name: of the files, and what the macros of the header begin with.
    functions: by their names in C, or a sequence of functions with names of their own.
    spec, of, outputs, wrt, bake, shared: as of :meth:`gradc.Compiled.export`, for all functions, or
        a dict with the function's name for each. A function may have its spec from ``compile``.
    docs, options: as of :meth:`gradc.Compiled.export`.

    Raises ExportError when two functions have the same name in C, or one cannot be exported.
    """
    from gradc.exports.export import export as write
    from gradc.exports.export import kinds_asked
    from gradc.exports.plan import Asked

    named = _named(functions)
    chosen = []
    for called, function in named.items():

        def of_this(option: Any, called: str = called) -> Any:
            return option.get(called) if isinstance(option, Mapping) else option

        text = of_this(spec)
        kinds = kinds_asked(of_this(of), of_this(outputs))
        asked = Asked(
            called,
            () if text is None else (text,),
            kinds,
            of_this(wrt),
            of_this(bake) or (),
            of_this(shared) or (),
            docs,
        )
        chosen.append((compiled(function), asked))
    _check_words(named, spec=spec, of=of, outputs=outputs, wrt=wrt, bake=bake, shared=shared)
    return write(name, chosen, options)


def _named(
    functions: Mapping[str, Callable[..., Any]] | Sequence[Callable[..., Any]],
) -> dict[str, Callable[..., Any]]:
    if isinstance(functions, Mapping):
        return dict(functions)
    if callable(functions) or isinstance(functions, Compiled):
        functions = [functions]
    named: dict[str, Callable[..., Any]] = {}
    for function in functions:
        called = getattr(function, "__name__", type(function).__name__)
        if called in named:
            raise ExportError(
                f"two functions are called {called}",
                help=f'name them: export(…, {{"{called}": …, "{called}_more": …}})',
            )
        named[called] = function
    if not named:
        raise ExportError("there is no function to export")
    return named


def _check_words(named: Mapping[str, Any], **options: Any) -> None:
    """Raise for an entry of an option that is of no function."""
    for option, given in options.items():
        unknown = [key for key in given if key not in named] if isinstance(given, Mapping) else []
        if unknown:
            raise ExportError(
                f"{option}: there is no function {unknown[0]!r} to export",
                found=f"functions: {', '.join(named)}",
            )
