"""Derivatives compared: with slopes that owe nothing to rules, and forward with reverse mode."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.api.compile import compiled
from gradc.arguments import pytree
from gradc.autodiff.open_calls import OpenCalls
from gradc.derivatives import jvp, vjp
from gradc.pipeline import after, stabilise
from gradc.rules.verify.arithmetic import NoMeaning
from gradc.testing.sampling import check_least
from gradc.testing.slopes import CENTRAL, REFERENCES, Reference, widen
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array, DType
from gradc_ir.interpreter.interpret import interpret

Finish = Callable[[Function], Function]

_MODES = {"fwd": "forward mode", "rev": "reverse mode"}


@dataclass(frozen=True)
class Tolerance:
    """What two derivatives may differ by: absolute, and relative to the sum of their terms.

    ``numeric`` holds for differences of floats, ``exact`` for all else.
    """

    numeric: float
    exact: float
    absolute: float

    @classmethod
    def of(
        cls, function: Function, rtol: float | None = None, atol: float | None = None
    ) -> Tolerance:
        """Return the tolerance for a function's dtypes."""
        single = any(t.dtype is DType.F32 for t in function.param_types + function.result_types)
        numeric, exact, absolute = (1e-3, 1e-4, 1e-5) if single else (1e-6, 1e-9, 1e-8)
        numeric = numeric if rtol is None else rtol
        return cls(
            numeric,
            exact if rtol is None else min(exact, rtol) if single else rtol,
            absolute if atol is None else atol,
        )


@dataclass(frozen=True)
class Comparison:
    """Two derivatives of a function along one direction of an argument.

    Parameters
    ----------
    function: its name.
    order: of the derivative.
    argument: its name, or that of one element; ``type`` is its type.
    result: which result, or which element of it.
    mode: how ``found`` was computed, ``against`` how ``expected`` was.
    scale: the sum of the magnitudes of the terms, which rounding errors grow with.
    """

    function: str
    order: int
    argument: str
    type: str
    result: str
    mode: str
    against: str
    expected: float
    found: float
    scale: float
    tolerance: float

    @property
    def agree(self) -> bool:
        """Whether they differ by no more than the tolerance."""
        return bool(abs(self.found - self.expected) <= self.tolerance)

    @property
    def is_empty(self) -> bool:
        """Whether all terms of both are zero, so that their agreement proves nothing."""
        return self.scale == 0

    @property
    def error(self) -> float:
        """Their distance, relative to the terms."""
        distance = abs(self.found - self.expected)
        return float(distance / self.scale) if self.scale > 0 else distance

    def __str__(self) -> str:
        order = "" if self.order == 1 else f" at order {self.order}"
        return (
            f"{self.function}: {self.mode} disagrees with {self.against}{order}\n"
            f"  argument: {self.argument} ({self.type}), {self.result}\n"
            f"  expected: {self.expected}\n"
            f"  found:    {self.found}"
        )


def comparisons(
    function: Function,
    arrays: Sequence[Array],
    wrt: Sequence[int],
    order: int,
    modes: Sequence[str],
    references: Sequence[Reference],
    tolerance: Tolerance,
    *,
    seed: int,
    finish: Finish,
    depth: int = 1,
) -> Iterator[Comparison]:
    """Yield every comparison of a graph's derivatives by its parameters at ``wrt``.

    ``finish`` makes a derivative ready to be run. Of a comparison that fails, the one element of
    the argument and the one of the result that differ most are compared instead.
    """
    check_least(1, order=order)
    check_least(0, seed=seed)
    random = np.random.default_rng(seed)
    for position in wrt:
        checked = _Argument(function, arrays, position, random, tolerance, finish, depth)
        yield from checked.comparisons(modes, references)
    if order > depth:
        results = interpret(OpenCalls()(function), arrays)
        seeds = [_drawn(random, value) for value in results if value.dtype.kind == "f"]
        further = [len(function.params) + i for i in range(len(seeds))]
        yield from comparisons(
            vjp(function, wrt), [*arrays, *seeds], [*wrt, *further], order, modes, references,
            tolerance, seed=seed + 1, finish=finish, depth=depth + 1,
        )  # fmt: skip


def _drawn(random: np.random.Generator, like: Array) -> Array:
    """Return numbers of both signs and of magnitudes in [0.5, 1.5): none is too small to matter."""
    sizes = 0.5 + random.random(like.shape)
    return np.asarray(sizes * random.choice([-1, 1], like.shape), like.dtype)


class _Argument:
    """One argument of a function, along a direction, and random weights of its results."""

    def __init__(
        self,
        function: Function,
        arrays: Sequence[Array],
        position: int,
        random: np.random.Generator,
        tolerance: Tolerance,
        finish: Finish,
        depth: int,
    ) -> None:
        self.function = function
        self.arrays = list(arrays)
        self.position = position
        self.tolerance = tolerance
        self.depth = depth
        self.wide = widen(OpenCalls()(function))
        self.wide_arrays = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]
        self.pushed = finish(jvp(function, [position]))
        self.pulled = finish(vjp(function, [position]))
        self.floats = [i for i, t in enumerate(function.result_types) if t.dtype.is_float]
        x = arrays[position]
        self.direction = _drawn(random, x)
        results = interpret(OpenCalls()(function), arrays)
        self.results = [results[i] for i in self.floats]
        self.weights = [_drawn(random, result) for result in self.results]

    def comparisons(
        self, modes: Sequence[str], references: Sequence[Reference]
    ) -> Iterator[Comparison]:
        """Yield the comparisons of each mode with each reference, then of the modes."""
        slopes: dict[str, list[tuple[float, float]]] = {
            mode: self._found(mode, self.direction, self.weights) for mode in modes
        }
        for reference in references:
            try:
                expected = self._expected(reference, self.direction, self.weights)
            except NoMeaning:
                continue
            for mode in modes:
                for result, (want, have) in enumerate(zip(expected, slopes[mode], strict=True)):
                    made = self._compared(mode, reference.name, reference.exact, result, want, have)
                    yield made if made.agree else self._element(mode, reference, result, made)
        if len(modes) == 2:
            for result, (want, have) in enumerate(zip(*map(slopes.__getitem__, modes))):
                first, second = (_MODES[mode] for mode in modes)
                yield self._compared(second, first, True, result, want, have)

    def _compared(
        self,
        mode: str,
        against: str,
        exact: bool,
        result: int,
        expected: tuple[float, float],
        found: tuple[float, float],
        argument: str = "",
        element: str = "",
    ) -> Comparison:
        (want, terms), (have, further) = expected, found
        scale = terms + further
        relative = self.tolerance.exact if exact else self.tolerance.numeric
        function, position = self.function, self.position
        return Comparison(
            function.name,
            self.depth,
            argument or function.names[position],
            str(function.param_types[position]),
            f"result{element}"
            if len(self.floats) == 1
            else f"result {self.floats[result]}{element}",
            _MODES.get(mode, mode),
            against,
            want,
            have,
            scale,
            self.tolerance.absolute + relative * scale,
        )

    # Each is a list with an entry for each float result: the slope and the sum of its terms.

    def _expected(
        self, reference: Reference, direction: Array, weights: Sequence[Array]
    ) -> list[tuple[float, float]]:
        wide = direction.astype(np.float64)
        slopes = reference.slopes(self.wide, self.wide_arrays, self.position, wide)
        return [_weighted(slope, weight) for slope, weight in zip(slopes, weights, strict=True)]

    def _found(
        self, mode: str, direction: Array, weights: Sequence[Array]
    ) -> list[tuple[float, float]]:
        count = len(self.function.results)
        if mode == "fwd":
            slopes = interpret(self.pushed, [*self.arrays, direction])[count:]
            return [_weighted(slope, weight) for slope, weight in zip(slopes, weights, strict=True)]
        found = []
        for result in range(len(weights)):
            seeds = [w if i == result else np.zeros_like(w) for i, w in enumerate(weights)]
            (gradient,) = interpret(self.pulled, [*self.arrays, *seeds])[count:]
            found.append(_weighted(gradient, direction))
        return found

    def _element(
        self, mode: str, reference: Reference, result: int, whole: Comparison
    ) -> Comparison:
        """Return the comparison of the elements that differ most, by halving."""
        direction, weights = self.direction, list(self.weights)

        def compare(direction: Array, weight: Array) -> Comparison:
            weights[result] = weight
            want = self._expected(reference, direction, weights)[result]
            have = self._found(mode, direction, weights)[result]
            at = [_place(each, one) for each, one in zip((direction, weight), ones)]
            name = self.function.names[self.position] + at[0]
            return self._compared(
                mode, reference.name, reference.exact, result, want, have, name, at[1]
            )

        ones = (False, False)
        direction = _worst(direction, lambda part: compare(part, self.weights[result]))
        weight = _worst(self.weights[result], lambda part: compare(direction, part))
        ones = (True, True)
        found = compare(_unit(direction), _unit(weight))
        return whole if found.agree else found


def _weighted(slope: Array, weight: Array) -> tuple[float, float]:
    with np.errstate(all="ignore"):
        terms = slope.astype(np.float64) * weight
        return float(np.sum(terms)), float(np.sum(np.abs(terms)))


def _worst(whole: Array, compare: Callable[[Array], Comparison]) -> Array:
    """Return an array with all but one element set to zero: one that matters to a comparison."""

    def only(places: Array) -> Array:
        part = np.zeros_like(whole)
        part.flat[places] = whole.flat[places]
        return part

    def distance(places: Array) -> float:
        made = compare(only(places))
        found = abs(made.found - made.expected)
        return np.inf if np.isnan(found) else found

    places = np.arange(whole.size)
    while places.size > 1:
        places = max(np.array_split(places, 2), key=distance)
    return only(places)


def _unit(part: Array) -> Array:
    return np.asarray(part != 0).astype(part.dtype)


def _place(part: Array, shown: bool) -> str:
    """Return the index of the one element that is not zero, as a user writes it."""
    if not shown or part.ndim == 0 or not np.any(part):
        return ""
    return f"[{', '.join(str(int(i[0])) for i in np.nonzero(part))}]"


def checked_modes(modes: Sequence[str]) -> tuple[str, ...]:
    """Return the modes; raises ValueError for what is none."""
    given = (modes,) if isinstance(modes, str) else tuple(modes)
    wrong = set(given) - set(_MODES)
    if wrong:
        raise ValueError(f'modes are "fwd" and "rev", not {", ".join(map(repr, sorted(wrong)))}')
    return given


def check_function(
    function: Function,
    arrays: Sequence[Array],
    wrt: Sequence[int],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> None:
    """Compare a graph's derivatives by its parameters at ``wrt`` with central differences.

    As :func:`check_grads`, on a Function as it is: no rule rewrites it or its derivatives.
    """
    tolerance = Tolerance.of(function, rtol, atol)
    _check(comparisons(
        function, arrays, wrt, order, checked_modes(modes), (CENTRAL,), tolerance,
        seed=seed, finish=OpenCalls(),
    ))  # fmt: skip


def _check(made: Iterator[Comparison]) -> bool:
    """Raise AssertionError at the first comparison of two that disagree.

    Returns whether they prove something: whether some of what was compared is not zero.
    """
    empty = []
    for comparison in made:
        if not comparison.agree:
            raise AssertionError(str(comparison))
        empty.append(comparison.is_empty)
    return not empty or not all(empty)


def compare_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> Iterator[Comparison]:
    """Yield every comparison that :func:`check_grads` makes."""
    form = compiled(f)
    options = form.options
    bound = form._parameters.bind(tuple(args), {})
    traced = form._at(bound).trace(bound.types)
    arrays = [*bound.leaves, *(capture.read() for capture in traced.captures)]
    by = [True] * len(bound.leaves) + [each.variable is not None for each in traced.captures]
    wrt = [i for i, array in enumerate(arrays) if by[i] and array.dtype.kind == "f"]
    function = stabilise(traced.function, options)
    yield from comparisons(
        function, arrays, wrt, order, checked_modes(modes), REFERENCES,
        Tolerance.of(function, rtol, atol), seed=seed, finish=after(options),
    )  # fmt: skip


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    rtol: float | None = None,
    atol: float | None = None,
    seed: int = 0,
) -> None:
    """Compare a function's derivatives with numbers that owe nothing to its rules, at ``args``.

    For each floating-point argument, and each Variable that the function reads, a random direction
    is drawn. Forward mode (``"fwd"``) and, through random cotangents, reverse mode
    (``"rev"``) are compared with each other, and with the slope of the results along it: by central
    differences in float64; by a complex step where every op is analytic; and by differences in
    numbers of 80 digits where the ops have formulas and there are few elements. ``order=2``
    compares the derivatives of reverse mode in the same way, and so on.

    Tolerances are relative to the sum of the terms' magnitudes: ``rtol`` is by default 1e-6 for
    central differences and 1e-9 for the rest, for float32 1e-3 and 1e-4. Raises AssertionError that
    names the element of the argument, what was expected and what was found. Warns (UserWarning)
    when all that was compared is zero, which proves nothing.
    """
    proved = _check(compare_grads(f, args, order, modes, rtol=rtol, atol=atol, seed=seed))
    if not proved and all(np.size(leaf) for leaf in pytree.flatten(tuple(args))[0]):
        name = getattr(f, "__name__", "the function")
        warnings.warn(
            f"check_grads proved nothing of {name}: all derivatives are 0 at these arguments",
            stacklevel=2,
        )
