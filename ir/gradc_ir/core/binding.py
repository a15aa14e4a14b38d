"""Binding symbolic sizes to the numbers that arguments have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from gradc_ir.core import sizes
from gradc_ir.core.types import Type
from gradc_ir.errors import ShapeError

# sizes, and what each must be at least
Least: TypeAlias = tuple[tuple[sizes.Size, int], ...]


def bind_sizes(
    types: Sequence[Type], shapes: Sequence[tuple[int, ...]], names: Iterable[str] = ()
) -> dict[str, int]:
    """Return the value of every size symbol, given the arguments' shapes.

    Raises ShapeError, naming the argument, when a rank or a size does not fit: a static size
    differs, two axes of one symbol differ, or an expression has another value.
    """
    values: dict[str, int] = {}
    labels = list(names) or [f"argument {i}" for i in range(len(types))]
    for label, type_, shape in zip(labels, types, shapes, strict=True):
        if len(shape) != type_.rank:
            raise _misfit(label, type_, shape)
        for size, have in zip(type_.shape, shape):
            if isinstance(size, sizes.Expr) and str(size).isidentifier():
                values.setdefault(str(size), have)
    for label, type_, shape in zip(labels, types, shapes):
        for size, have in zip(type_.shape, shape):
            if not sizes.symbols(size) or all(name in values for name in sizes.symbols(size)):
                if sizes.evaluate(size, values) != have:
                    raise _misfit(label, type_, shape, values)
            else:
                raise ShapeError(f"{label}: the sizes in {type_} cannot be found from its shape")
    return values


def _misfit(
    label: str, type_: Type, shape: tuple[int, ...], values: dict[str, int] | None = None
) -> ShapeError:
    known = ", ".join(f"{name} = {value}" for name, value in (values or {}).items())
    found = "[" + ",".join(map(str, shape)) + "]"
    return ShapeError(
        f"{label} has shape {found}, wanted {type_}", found=f"with {known}" if known else ()
    )
