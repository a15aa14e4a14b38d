"""Bits of error of a user's function and its gradient, against numbers of many digits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gradc.api.compile import compiled
from gradc.calls.signature import bind_types
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.runtime.executable import Executable
from gradc.testing.sampling import Ranges, points
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array, Type
from gradc_ir.errors import NoGradientError, TraceError
from gradc_ir.meaning.ulp_distance import bits_between

if TYPE_CHECKING:
    from gradc.testing.origins import Origin

# What the worst element is off by when there is nothing to tell: the rounding of a few ops.
_WELL = 2.0


@dataclass(frozen=True)
class Figures:
    """Bits of error over all elements that have a truth, and how many are not finite.

    The error of an element is log2(1 + how many floats lie between it and the truth), 64 for nan.
    """

    mean: float
    most_of_them: float
    largest: float
    not_finite: int
    count: int

    @classmethod
    def of(cls, errors: Array, found: Array) -> Figures:
        """Return the figures of errors, nan where there is no truth, of numbers found."""
        known = ~np.isnan(errors)
        if not known.any():
            return cls(0.0, 0.0, 0.0, 0, 0)
        given = errors[known]
        return cls(
            float(given.mean()),
            float(np.quantile(given, 0.95)),
            float(given.max()),
            int(np.sum(~np.isfinite(found[known]))),
            int(known.sum()),
        )


@dataclass(frozen=True)
class Row:
    """What is measured, the value or the gradient by an argument: gradc beside naive code."""

    what: str
    gradc: Figures
    naive: Figures


@dataclass(frozen=True)
class Worst:
    """One of the elements that are the furthest off: the arguments, and where the error arises."""

    what: str
    element: tuple[int, ...]
    bits: float
    arguments: dict[str, Array]
    found: float
    true: float
    origin: Origin | None

    def __str__(self) -> str:
        element = f"[{', '.join(map(str, self.element))}]" if self.element else ""
        at = ", ".join(
            f"{name} = {np.array2string(array, separator=', ', floatmode='unique')}"
            for name, array in self.arguments.items()
        )
        lines = [
            f"{self.what}{element}: {self.bits:.1f} bits at {at}",
            f"  found {self.found!r}, the truth is {self.true!r}",
        ]
        if self.origin is not None:
            lines += [f"  {line}" for line in str(self.origin).splitlines()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Accuracy:
    """How accurate a function and its gradient are: rows of figures, and the worst points.

    ``rows[0]`` is the value, the others are gradients, of the sum of the results, weighted with
    powers of two, where there are several. There is none by the arguments of ``without_gradient``.
    ``without_truth`` counts elements for which there is none: not real, infinite, at a
    corner, or not decided in the most digits. Prints as a table.
    """

    name: str
    points: int
    seed: int
    rows: tuple[Row, ...]
    worst: tuple[Worst, ...]
    without_truth: int
    without_gradient: tuple[str, ...] = ()

    @property
    def bits(self) -> float:
        """The largest mean of a row."""
        return max(row.gradc.mean for row in self.rows)

    def __str__(self) -> str:
        table = [("", "mean", "95%", "most", "not finite", "naive:", "mean", "95%", "most",
                  "not finite", "elements")]  # fmt: skip
        for row in self.rows:
            cells = (row.what, *_cells(row.gradc), "", *_cells(row.naive), str(row.gradc.count))
            table.append(cells)
        widths = [max(map(len, column)) for column in zip(*table)]
        lines = [f"bits of error of {self.name} at {self.points} points, seed {self.seed}"]
        for cells in table:
            first = cells[0].ljust(widths[0])
            rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:])]
            lines.append("  ".join([first, *rest]).rstrip())
        if self.without_truth:
            lines.append(f"{self.without_truth} elements have no finite truth and are left out")
        if self.without_gradient:
            lines.append(f"there is no gradient by {', '.join(self.without_gradient)}")
        for each in self.worst:
            lines += ["", str(each)]
        return "\n".join(lines)


def _cells(figures: Figures) -> tuple[str, str, str, str]:
    numbers = (figures.mean, figures.most_of_them, figures.largest)
    mean, most, largest = (f"{number:.2f}" for number in numbers)
    return mean, most, largest, str(figures.not_finite)


def check_accuracy(
    f: Callable[..., Any],
    spec: str | None = None,
    *,
    ranges: Ranges | None = None,
    points: int = 200,
    size: int = 2,
    seed: int = 0,
) -> Accuracy:
    """Return the bits of error of a function and its gradient over sampled arguments.

    Each point is a whole set of arguments. Floats are drawn from the bit patterns, so that every
    exponent is as likely as any other, from daily use, and from the neighbourhoods of spots at
    which expressions break. The truth is the function as it is written, and its derivative, in
    numbers of many digits that know how far they may be off; more digits are taken until they round
    to one float.

    Parameters
    ----------
    spec: the arguments, ``"x: f64[n]"``; may be left out when the function was compiled with one.
    ranges: from which range the floats of an argument come, ``{"x": (0, 10)}``: all floats where
        none is given.
    points: how many.
    size: the number to take for symbolic sizes.
    seed: of the random points.

    Returns figures for the value and for the gradient by each argument of floats, of the compiled
    function and beside it of naive code (``stable=False``); and the worst points, each with the op
    and the line at which the error arises. Raises TraceError when an op has no formula.
    """
    return _Measurement(compiled(f), spec, ranges or {}, points, size, seed).result()


class _Measurement:
    """All that is computed at the points: truths, kernels and naive kernels."""

    def __init__(
        self, form: Any, spec: str | None, ranges: Ranges, count: int, size: int, seed: int
    ) -> None:
        self.name, self.seed = form.__name__, seed
        bound, types = bind_types(form._parameters.names, form.argument_types(spec))
        paths = bound.paths
        drawn = points(types, paths, count, ranges, size, seed)
        types = [t.with_shape(a.shape) for t, a in zip(types, drawn[0])]
        traced = form._at(bound).trace(types)
        captured = [capture.read() for capture in traced.captures]
        results = [t for t in traced.function.result_types if t.dtype.is_float]
        wrt = tuple(i for i, t in enumerate(types) if t.dtype.is_float)
        if not results:
            raise TraceError(f"{self.name} returns no float", at=traced.function.location)
        weights = [_weights(t, seed) for t in results]
        self.names = paths
        self.arguments = drawn
        self.inputs = [[*arrays, *captured, *weights] for arrays in drawn]
        naive = dataclasses.replace(form.options, stable=False, fast=False, rules=())
        wrt, self.without_gradient = _differentiable(traced.function, wrt, naive)
        self.final = derive(traced.function, Request("vjp", wrt, options=form.options))
        self.naive = derive(traced.function, Request("vjp", wrt, options=naive))
        values = len(traced.function.results)
        # results by row: floats of the value, then a gradient an argument
        self.rows = [("value", [i for i in range(values) if self.is_float(i)])]
        self.rows += [(f"gradient {paths[leaf]}", [values + k]) for k, leaf in enumerate(wrt)]

    def is_float(self, result: int) -> bool:
        return self.final.result_types[result].dtype.is_float

    def result(self) -> Accuracy:
        """Return all figures."""
        from gradc.rules.verify.truths import truths  # python-flint, which only this needs

        true = [truths(self.naive, arrays) for arrays in self.inputs]
        ours, naive = ([*_run(function, self.inputs)] for function in (self.final, self.naive))
        rows: list[Row] = []
        errors: dict[str, Array] = {}
        for what, results in self.rows:
            numbers = [_joined(found, results) for found in (ours, naive)]
            bits = [_bits(each, _joined(true, results)) for each in numbers]
            errors[what] = bits[0]
            rows.append(Row(what, *map(Figures.of, bits, numbers)))
        unknown = sum(int(np.sum(np.isnan(bits))) for bits in errors.values())
        worst = tuple(self._worst(errors, ours, true))
        return Accuracy(
            self.name,
            len(self.inputs),
            self.seed,
            tuple(rows),
            worst,
            unknown,
            self.without_gradient,
        )

    def _worst(
        self,
        errors: dict[str, Array],
        ours: Sequence[Sequence[Array]],
        true: Sequence[Sequence[Array]],
    ) -> Iterator[Worst]:
        """Yield the worst element of the value and of each gradient, if it is off by some bits."""
        from gradc.testing.origins import origin_of  # python-flint

        for what, results in self.rows:
            bits = errors[what].reshape(len(self.inputs), -1)
            if not bits.size or np.isnan(bits).all() or np.nanmax(bits) <= _WELL:
                continue
            point, place = map(int, np.unravel_index(int(np.nanargmax(bits)), bits.shape))
            result, element = _place(ours[point], results, place)
            yield Worst(
                what,
                element,
                float(bits[point, place]),
                dict(zip(self.names, self.arguments[point])),
                float(ours[point][result][element]),
                float(true[point][result][element]),
                origin_of(self.final, self.inputs[point], result, element),
            )


def _place(
    found: Sequence[Array], results: Sequence[int], place: int
) -> tuple[int, tuple[int, ...]]:
    """Return which of the results an element of a row belongs to, and its index there."""
    for result in results:
        array = found[result]
        if place < array.size:
            return result, tuple(map(int, np.unravel_index(place, array.shape)))
        place -= array.size
    raise AssertionError(place)


def _weights(type_: Type, seed: int) -> Array:
    """Return what the elements of a result are weighted with: powers of two, which round nothing.

    With equal weights the gradient of what is normalised would be zero.
    """
    shape = tuple(int(size) for size in type_.shape if isinstance(size, int))
    exponents = np.random.default_rng(seed).integers(-2, 3, size=shape) if shape else 0
    return np.asarray(np.exp2(exponents), type_.dtype.numpy)


def _differentiable(
    function: Function, wrt: tuple[int, ...], options: Any
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return by which parameters there is a gradient, and the names of the others."""

    def has_gradient(leaves: tuple[int, ...]) -> bool:
        try:
            derive(function, Request("vjp", leaves, options=options))
        except NoGradientError:
            return False
        return True

    if has_gradient(wrt):
        return wrt, ()
    found = tuple(leaf for leaf in wrt if has_gradient((leaf,)))
    return found, tuple(function.names[leaf] for leaf in wrt if leaf not in found)


def _run(function: Function, inputs: Sequence[Sequence[Array]]) -> Iterator[list[Array]]:
    executable = Executable(function)
    with np.errstate(all="ignore"):
        for arrays in inputs:
            yield executable(arrays)


def _joined(found: Sequence[Sequence[Array]], results: Sequence[int]) -> Array:
    """Return the elements of some results at all points, one after the other."""
    return np.concatenate([arrays[i].ravel() for arrays in found for i in results])


def _bits(found: Array, true: Array) -> Array:
    """Return the error of each element, nan where the truth is not finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = true.astype(found.dtype)
        return bits_between(found, np.where(np.isfinite(nearest), nearest, np.nan))
