"""Whether the ways to run one program agree in every bit.

Compiled and interpreted, with sizes that are known and sizes that are symbols, with the arguments
one by one and in a nest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import gradc
from gradc.pipeline import derive
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.tracing import PythonNumber, trace
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Type, dtype_of
from gradc_ir.errors import GradcError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.meaning.ulp_distance import same_bits
from tests.fuzz.grammar import Program, function_of
from tests.fuzz.running import quietly, shown

# What has one meaning to the last bit: the rest calls functions of mathematics.
_FAMILIES = {"elementwise", "shape", "index", "reduce", "order"}


@dataclass
class Pack:
    """Some arguments, and a number that nothing uses."""

    first: tuple[Any, ...]
    unused: float


def disagreements(program: Program) -> Iterator[str]:
    """Yield where two ways to run a program differ, a line each."""
    text = program.text
    for stable in (True, False):
        options = {"stable": stable, "blas": False}
        compiled = gradc.compile(function_of(text), **options)
        ways = {
            "interpreted": _interpreted(text, program.points[0], stable),
            "in a nest": _nested(text, options),
            "of symbolic sizes": _symbolic(text, program.points[0], options),
        }
        for point in program.points:
            try:
                wanted = quietly(compiled, point)
            except GradcError:
                return
            for way, function in ways.items():
                if function is None:
                    continue
                for place, (mine, other) in enumerate(
                    zip(wanted, quietly(function, point), strict=True)
                ):
                    mine, other = np.asarray(mine), np.asarray(other)
                    if mine.shape != other.shape or mine.dtype != other.dtype:
                        yield f"{program.results[place]} {way}: {other.dtype}{other.shape}"
                    elif not same_bits(mine, other).all():
                        at = int(np.flatnonzero(~same_bits(mine, other))[0])
                        found = f"{other.flat[at]!r} for {mine.flat[at]!r} at element {at}"
                        what = f"{program.results[place]} {way}, {stable=}"
                        yield f"{what}: {found}, at {shown(point)}"


def _interpreted(text: str, point: Sequence[Any], stable: bool) -> Callable[..., Any] | None:
    """Return what interprets a program, None where a function of mathematics is called."""
    types = [_type(each) for each in point]
    try:
        traced = trace(function_of(text), types).function
        graph = derive(traced, Request("value", options=Options(stable=stable, blas=False)))
    except GradcError:
        return None
    if not _is_exact(graph):
        return None
    return lambda *args: interpret(graph, [np.asarray(each) for each in args])


def _is_exact(graph: Function) -> bool:
    for node in graph.body:
        if node.op.family not in _FAMILIES or (node.op.scalar or "").startswith("math."):
            return False
    return True


def _type(each: Any) -> Any:
    if type(each) in (int, float, bool):
        return PythonNumber(dtype_of(np.asarray(each).dtype))
    array = np.asarray(each)
    return Type(dtype_of(array.dtype), array.shape)


def _nested(text: str, options: dict[str, Any]) -> Callable[..., Any]:
    """Return the program of one dict of a tuple and a dataclass of its arguments."""
    plain = function_of(text)

    def inner(nest: Any) -> Any:
        pack = nest["b"]
        # the keys of a dict are a parameter's place, whatever their order
        return plain(*pack.first, *(nest["a"][key] for key in sorted(nest["a"], reverse=True)))

    compiled = gradc.compile(inner, **options)

    def call(*args: Any) -> Any:
        half = (len(args) + 1) // 2
        rest = {f"z{9 - i}": each for i, each in enumerate(args[half:])}
        return compiled({"b": Pack(tuple(args[:half]), 0.5), "a": rest})

    return call


def _symbolic(text: str, point: Sequence[Any], options: dict[str, Any]) -> Any:
    """Return the program compiled for sizes that are symbols, None where others do not fit."""
    compiled = gradc.compile(function_of(text), **options)
    for more in (1, 2):
        larger = [_grown(each, more) for each in point]
        try:
            quietly(function_of(text), larger)
            quietly(compiled, larger)
        except Exception:
            return None
    return compiled


def _grown(each: Any, more: int) -> Any:
    """Return an array with more elements along each axis that has two or more."""
    if not isinstance(each, np.ndarray):
        return each
    for axis, size in enumerate(each.shape):
        if size > 1:
            each = np.concatenate([each, np.take(each, range(more), axis)], axis)
    return each
