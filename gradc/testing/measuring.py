"""From a function and sizes to its kernels, measured on random arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gradc.api.compiled import Compiled
from gradc.arguments import pytree
from gradc.calls.signature import bind_types
from gradc.costs.ceilings import Ceilings, ceilings
from gradc.costs.measured import Measured, measure
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.testing.sampling import sample_arguments, within
from gradc.tracing import Traced
from gradc_ir.core import sizes
from gradc_ir.core.types import Array, Type
from gradc_ir.errors import TraceError

_SIZE = 1000

Run = tuple[Traced, Request, list[Array]]


def asked(
    compiled: Compiled[..., Any],
    spec: str | None,
    kinds: Sequence[str],
    wrt: Any,
    numbers: Mapping[str, int],
    ranges: Mapping[str, tuple[float, float]],
) -> list[Run]:
    """Return what is to be measured: a function traced at sizes, what of it, and arguments.

    Raises TraceError for a name that is no size or no argument, and the errors of tracing and of
    differentiation.
    """
    types = compiled.argument_types(spec)
    leaves, structure = pytree.flatten(types)
    symbols = dict.fromkeys(name for leaf in leaves for name in leaf.symbols)
    unknown = [name for name in numbers if name not in symbols]
    if unknown:
        known = f"its sizes: {', '.join(symbols)}" if symbols else "it has none"
        raise TraceError(f"{compiled.__name__} has no size called {unknown[0]}", found=known)
    given = {name: numbers.get(name, _SIZE) for name in symbols}
    drawn = sample_arguments([_at(leaf, given) for leaf in leaves], size=_SIZE)
    bound, _ = bind_types(compiled._parameters.names, types)
    arguments = pytree.unflatten(structure, within(drawn, bound.paths, ranges))
    runs = []
    for kind in kinds or _usual(compiled, arguments):
        traced, request = compiled._request(arguments, kind, wrt)
        bound, _ = compiled._bound(arguments)
        arrays = [*bound.leaves, *(capture.read() for capture in traced.captures)]
        runs.append((traced, request, arrays))
    return runs


def measured(compiled: Compiled[..., Any], runs: Iterable[Run]) -> tuple[Ceilings, list[Measured]]:
    """Return the ceilings of this core, and the kernels of runs measured right after them."""
    most = ceilings()
    found = []
    for traced, request, arrays in runs:
        final = derive(traced.function, request)
        extra = final.param_types[len(arrays) :]  # cotangents or tangents
        drawn = [*arrays, *sample_arguments(extra, size=_SIZE)]
        found.append(measure(final, drawn, most, request.options.blas))
    return most, found


def _at(leaf: Type, numbers: Mapping[str, int]) -> Type:
    return leaf.with_shape(tuple([sizes.substitute(size, numbers) for size in leaf.shape]))


def _usual(compiled: Compiled[..., Any], arguments: tuple[Any, ...]) -> tuple[str, ...]:
    """Return what of a function is measured when nobody says what."""
    traced, _ = compiled._request(arguments, "value", 0)
    results = traced.function.result_types
    if len(results) == 1 and not results[0].shape and results[0].dtype.is_float:
        return ("value", "value_and_grad")
    return ("value",)
