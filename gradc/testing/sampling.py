"""Random arguments for types: ordinary ones, and points to measure accuracy at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from gradc.arguments import pytree
from gradc_ir.core import sizes
from gradc_ir.core.types import Array, Type
from gradc_ir.errors import ShapeError, TraceError
from gradc_ir.meaning.ulp_distance import uniform_patterns

Ranges = Mapping[str, tuple[float, float]]

# Of ten points: these are of bit patterns, these of daily use, and the rest close to a spot.
_PATTERNS, _USUAL = 4, 3
_DAILY = (-10.0, 10.0)
_SPOTS = (0.0, 0.25, 0.5, 0.6931471805599453, 1.0, 2.0, 10.0, 36.0, 100.0, 708.0, 745.0, 1e10)


def sample_arguments(types: Sequence[Any], size: int = 5, seed: int = 0) -> tuple[Any, ...]:
    """Return random arguments for nests of types, with ``size`` for every symbolic size.

    Floats are normally distributed, integers and booleans are 0 or 1. Raises ValueError for numbers
    below 0, and ShapeError for arrays that memory has no room for.
    """
    check_least(0, size=size, seed=seed)
    random = np.random.default_rng(seed)

    def sample(type_: Type) -> Array:
        shape = _shape(type_, size)
        if type_.dtype.is_float:
            return np.asarray(random.normal(size=shape), dtype=type_.dtype.numpy)
        return np.asarray(random.integers(0, 3, size=shape) > 0, dtype=type_.dtype.numpy)

    leaves, structure = pytree.flatten(tuple(types))
    with _in_memory(leaves, size):
        drawn = [sample(leaf) for leaf in leaves]
    arguments: tuple[Any, ...] = pytree.unflatten(structure, drawn)
    return arguments


def points(
    types: Sequence[Type], names: Sequence[str], count: int, ranges: Ranges, size: int, seed: int
) -> list[list[Array]]:
    """Return ``count`` lists of arrays, one of each type, with ``size`` for symbolic sizes.

    Floats of a range, or of all, come from the bit patterns (every exponent is as likely as any
    other), uniformly from daily use (the whole range where one is given), and from the
    neighbourhoods of spots and of each other. Integers are from 0 to 4. Raises TraceError for a
    range of no argument, and the errors of :func:`sample_arguments`.
    """
    check_least(1, points=count)
    check_least(0, size=size, seed=seed)
    _check_names(ranges, names)
    random = np.random.default_rng(seed)
    with _in_memory(types, size):
        return [
            [
                _array(random, _shape(type_, size), type_, i % 10, ranges.get(name))
                for name, type_ in zip(names, types, strict=True)
            ]
            for i in range(count)
        ]


def within(
    arrays: Sequence[Array], names: Sequence[str], ranges: Ranges, seed: int = 0
) -> list[Array]:
    """Return arrays, those of floats that have a range drawn uniformly from it.

    An end that is infinite is ten from the other one, or from 0. Raises TraceError for a range of
    no argument.
    """
    _check_names(ranges, names)
    random = np.random.default_rng(seed)
    found = []
    for name, array in zip(names, arrays, strict=True):
        low, high = ranges.get(name, (0.0, 0.0))
        if low < high and array.dtype.kind == "f":
            low, high = max(low, min(high, 0.0) - 10.0), min(high, max(low, 0.0) + 10.0)
            array = np.asarray(random.uniform(low, high, array.shape), array.dtype)
        found.append(array)
    return found


def _check_names(ranges: Ranges, names: Sequence[str]) -> None:
    unknown = [name for name in ranges if name not in names]
    if unknown:
        raise TraceError(
            f"no argument is called {unknown[0]!r}", help=f"the arguments: {', '.join(names)}"
        )


def check_least(least: int, **numbers: int) -> None:
    """Raise ValueError for the first number that is below the least, by its name."""
    for name, number in numbers.items():
        if number < least:
            raise ValueError(f"{name} is at least {least}, not {number}")


@contextmanager
def _in_memory(types: Sequence[Type], size: int) -> Iterator[None]:
    try:
        yield
    except (MemoryError, ValueError) as error:  # what NumPy says of too large a shape
        chosen = f" with {size} for every symbolic size" if any(t.symbols for t in types) else ""
        raise ShapeError(
            f"arguments{chosen} are too large",
            found=str(error),
            help="take a smaller size",
        ) from None


def _shape(type_: Type, size: int) -> tuple[int, ...]:
    numbers = dict.fromkeys(type_.symbols, size)
    return tuple(sizes.evaluate(each, numbers) for each in type_.shape)


def _array(
    random: np.random.Generator,
    shape: tuple[int, ...],
    type_: Type,
    turn: int,
    given: tuple[float, float] | None,
) -> Array:
    dtype = type_.dtype.numpy
    if not type_.dtype.is_float:
        return np.asarray(random.integers(0, 5, size=shape)).astype(dtype)
    largest = float(np.finfo(dtype.name).max)
    low, high = given or (-largest, largest)
    low, high = max(low, -largest), min(high, largest)
    if turn < _PATTERNS:
        made: Any = uniform_patterns(random, low, high, shape, dtype)
    else:
        usual = given or _DAILY
        made = random.uniform(max(usual[0], -1e300), min(usual[1], 1e300), size=shape)
        if turn >= _PATTERNS + _USUAL:
            near = _near(random, made)
            made = np.where((low <= near) & (near <= high), near, made)
    return np.asarray(np.clip(made, low, high)).astype(dtype)


def _near(random: np.random.Generator, usual: Array) -> Array:
    """Return numbers close to spots, all of an array to the same one as often as not."""
    together = random.random() < 0.5
    shape = () if together else usual.shape
    spots = random.choice(_SPOTS, shape)
    signs = random.choice([-1.0, 1.0], shape)
    return np.asarray(signs * spots + distances(random, usual.shape) * np.maximum(spots, 1.0))


def distances(random: np.random.Generator, shape: Any) -> Array:
    """Return numbers of both signs from 2**-60 to 1 whose logarithms are uniform."""
    return np.asarray(2.0 ** random.uniform(-60.0, 0.0, shape) * random.choice([-1.0, 1.0], shape))
