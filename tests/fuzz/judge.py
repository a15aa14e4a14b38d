"""Whether what gradc makes of a program is what NumPy computes, and its slope that of the function.

NumPy's result is not the truth: it rounds, over- and underflows. So a difference counts only when
it is larger than what a change of the arguments in the last digits makes of either result, or one
of its functions of mathematics, and when the exact result, or its limit, does not side with gradc.
Nor does it count when every operand of the last operation is right, and NumPy's operation makes
gradc's result of these: what comes after a right value is what IEEE 754 says of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import gradc
from gradc_ir.errors import GradcError
from tests.fuzz.exact import exact, limit
from tests.fuzz.grammar import Program, function_of
from tests.fuzz.operands import operands_of
from tests.fuzz.running import (
    OPEN,
    SHAKE,
    as_numpy,
    is_float,
    nudging,
    plain,
    quietly,
    remembered,
    shake,
    shown,
)
from tests.fuzz.slopes import slopes

Array = Any
Function = Callable[..., Any]

# A rounding of the dtype, as a share.
EPS = {"float64": 2.0**-52, "float32": 2.0**-23}
# How much more than its arguments in their last digits a result may change.
_SLACK = 64.0
# Functions of mathematics are right to so many last digits, in NumPy and in gradc.
_NUDGES = 4.0
# Where the sign of a zero says nothing. A sum in NumPy begins with zero, in gradc that of minus
# zeros is minus zero; which of two zeros is the larger one, or the first in order, depends in NumPy
# on the processor. So a quotient by such a zero may have either sign.
_QUOTIENT = re.compile(r"/|reciprocal|\*\*|log|arctan2|sinc")
# Products of these are added without rounding, so where NumPy's overflow on the way they need not;
# and in another order, so where NumPy's infinity of the data comes first, an overflow may.
_PRODUCTS = re.compile(r"@|dot|inner|einsum|trace|var|std|norm|sum|mean")
# Elements that are surely zero count for nothing in products, unless stable=False leaves them in:
# what is no number beside them is then of no matter.
_PLACED = re.compile(r"diag|tril|triu|tri\(|eye|identity|zeros|kron|pad")
# A norm never overflows on its way, stable rules or none, where NumPy's squares do.
# NumPy's arrays take the root, its numbers the power, which differ at -0 and -inf.
_ROOT = re.compile(r"(\w+) \*\* 0\.5\b")
_ZEROS = re.compile(
    r"sum|mean|@|dot|inner|einsum|trace|average|var|std|norm|max|min|clip|ptp|sort|median"
)
# A result that other last digits change by this share is chaos.
_CHAOS = 1e-2


def differences(program: Program, seed: int = 0) -> Iterator[str]:
    """Yield what is wrong with a program, a line each; none where gradc refuses it with reason."""
    text = _ROOT.sub(r"np.sqrt(\1)", program.text)
    for stable in (True, False):
        options = "" if stable else "stable=False, "
        compiled = remembered(gradc.compile(function_of(text), stable=stable))
        for point in program.points:
            try:
                wanted = quietly(plain(text), point)
            except (ArithmeticError, IndexError):
                continue  # of Python's own numbers, and beyond the end of a short array
            try:
                found = quietly(compiled, point)
            except GradcError:
                return
            except Exception as error:
                yield f"{options}raised {type(error).__name__}: {error}"
                return
            for place, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
                result = Result(text, compiled, point, place, np.asarray(mine), np.asarray(theirs))
                for wrong in result.wrong(stable):
                    head = OPEN if wrong.startswith(OPEN) else ""
                    what = wrong.removeprefix(OPEN)
                    yield f"{head}{options}{program.results[place]}: {what}, at {shown(point)}"
    yield from slopes(text, program.points[0], seed)


# -- values ----------------------------------------------------------------------------------------


@dataclass
class Result:
    """One result at one point, gradc's and NumPy's."""

    text: str
    compiled: Function
    point: Sequence[Any]
    place: int
    mine: Array
    theirs: Array

    def wrong(self, stable: bool) -> Iterator[str]:
        """Yield what is wrong with it; what has no exact result begins with ``OPEN``."""
        mine, theirs = self.mine, self.theirs
        if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
            yield f"{mine.dtype}{mine.shape} for {theirs.dtype}{theirs.shape}"
            return
        differs = self._differs()
        if not differs.any():
            return
        differs &= self._is_steady(self.compiled, mine) & ~self._is_chaos()
        is_judged = stable or _PRODUCTS.search(self.text) is not None
        right, known = self._judged() if is_judged else (~differs, differs)
        if (differs & ~right).any():
            right |= self._follows(stable)
        both = _is_number(mine) & _is_number(theirs)
        for head, chosen in (
            ("", differs & ~right & (known | both)),
            (OPEN, differs & ~right & ~(known | both)),
        ):
            if chosen.any():
                at = int(np.flatnonzero(chosen)[0])
                yield f"{head}{mine.flat[at]!r} for {theirs.flat[at]!r} at element {at}"

    def _differs(self) -> Array:
        """Return where the results differ although NumPy's is steady."""
        mine, theirs = self.mine, self.theirs
        if theirs.dtype.kind != "f":
            differs = mine != theirs
            if differs.any():
                differs &= self._is_steady(plain(self.text), theirs)
                for each in self._nudged(theirs):
                    differs &= each == theirs
            return differs
        steady = self._is_steady(plain(self.text), theirs)
        sorts = _sort(mine), _sort(theirs)
        if _ZEROS.search(self.text):
            sorts = tuple(np.where(np.abs(each) == 1, 1, each) for each in sorts)
            if _QUOTIENT.search(self.text):
                sorts = tuple(np.where(np.abs(each) == 3, 3, each) for each in sorts)
        with np.errstate(all="ignore"):
            off = np.abs(mine.astype(np.float64) - theirs)
            far = np.isfinite(theirs) & ~(off <= self._free(plain(self.text), theirs))
        # a zero for what rounds to zero is near enough, a zero of the other sign is not
        zeros = (mine == 0) & (theirs == 0)
        odd = (sorts[0] != sorts[1]) & (zeros | ~np.isfinite(mine) | ~np.isfinite(theirs))
        if _PRODUCTS.search(self.text):
            beyond = np.isinf(mine) & (np.isnan(theirs) | np.isinf(theirs))
            beyond |= np.isnan(mine) & np.isinf(theirs) & _has_huge(self.point)
            odd &= ~beyond | self._of_nan()
        return steady & (odd | far)

    def _follows(self, stable: bool) -> Array:
        """Return where NumPy's last operation makes the result of gradc's operands, all right."""
        nowhere = np.zeros(self.mine.shape, bool)
        split = operands_of(self._alone)
        if split is None:
            return nowhere
        text, names, last = split
        compiled = remembered(gradc.compile(function_of(text), stable=stable))
        try:
            found, wanted = quietly(compiled, self.point), quietly(plain(text), self.point)
            for place, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
                operand = Result(
                    text, compiled, self.point, place, np.asarray(mine), np.asarray(theirs)
                )
                if any(operand.wrong(stable)):
                    return nowhere
            made = function_of(f"def f({', '.join(names)}):\n    {last}\n")
            return self._is_near(np.asarray(quietly(made, [as_numpy(each) for each in found])[0]))
        except Exception:  # what is no operand of its own, such as a function or a dtype
            return nowhere

    def _is_near(self, wanted: Array) -> Array:
        mine = self.mine
        if wanted.shape != mine.shape or wanted.dtype != mine.dtype:
            return np.zeros(mine.shape, bool)
        if mine.dtype.kind != "f":
            return mine == wanted
        with np.errstate(all="ignore"):
            close = np.abs(mine - wanted) <= self._free(self.compiled, wanted)
        is_sort = ~np.isfinite(mine) | ~np.isfinite(wanted) | ((mine == 0) & (wanted == 0))
        return np.where(is_sort, _sort(mine) == _sort(wanted), close)

    def _shaken(self, function: Function, result: Array) -> list[Array]:
        made = [np.asarray(quietly(function, shake(self.point, i))[self.place]) for i in range(3)]
        return [each for each in made if each.shape == result.shape]

    def _is_steady(self, function: Function, result: Array) -> Array:
        """Return where other last digits of the arguments leave a result of its sort."""
        steady = np.ones(result.shape, bool)
        for each in self._shaken(function, result):
            steady &= each == result if result.dtype.kind != "f" else _sort(each) == _sort(result)
        return steady

    def _is_chaos(self) -> Array:
        """Return where other last digits of the arguments are worth much of either number."""
        chaos = np.zeros(self.mine.shape, bool)
        if self.mine.dtype.kind == "f":
            with np.errstate(all="ignore"):
                for function, result in (
                    (self.compiled, self.mine),
                    (plain(self.text), self.theirs),
                ):
                    for each in self._shaken(function, result):
                        chaos |= np.abs(each - result) > _CHAOS * np.abs(result)
        return chaos

    def _free(self, function: Function, result: Array) -> Array:
        """Return how far off a result may be."""
        # f32 anywhere in the program rounds so
        is_single = "float32" in self.text or any(
            np.asarray(each).dtype == np.float32 for each in self.point
        )
        eps = EPS["float32" if is_single else "float64"]
        moved = np.zeros(result.shape)
        with np.errstate(all="ignore"):
            for each in self._shaken(function, result) + self._shaken(self.compiled, result):
                moved = np.fmax(moved, np.abs(each.astype(np.float64) - result))
            off = np.zeros(result.shape)
            for each in self._nudged(result):
                off = np.fmax(off, np.abs(each.astype(np.float64) - result))
        share = max(SHAKE, 4 * eps)
        largest = np.max(np.abs(result[np.isfinite(result)]), initial=0.0)
        least = 64 * float(np.finfo(result.dtype).smallest_subnormal)
        rounded = moved * eps / share + eps * (np.abs(result) + 1e-3 * largest)
        return _SLACK * rounded + _NUDGES * off + least

    def _nudged(self, result: Array) -> Iterator[Array]:
        """Yield NumPy's results where its functions of mathematics are off in their last digits."""
        for seed in range(4):
            try:
                made = np.asarray(quietly(nudging(self.text, seed), self.point)[self.place])
            except Exception:  # what is compiled on the way sees NumPy's own functions alone
                return
            if made.shape == result.shape:
                yield made

    def _judged(self) -> tuple[Array, Array]:
        """Return where gradc's number is right, and where that is known.

        Right is what is nearer to the exact result than NumPy's number, and where there is none,
        the limit. What is nan in NumPy because an argument is nan has to be nan, unless the exact
        result does not depend on it.
        """
        mine, theirs = self.mine, self.theirs
        right, known, sure = (np.zeros(mine.shape, bool) for _ in range(3))
        for wanted in (self._exact, self._limit):
            if wanted is None or wanted.shape != mine.shape:
                continue
            if mine.dtype.kind != "f":
                right |= mine == wanted
                known[...] = True
                continue
            with np.errstate(all="ignore"):
                rounded = wanted.astype(mine.dtype)
                close = np.abs(mine - rounded) <= self._free(self.compiled, rounded)
                close |= np.abs(mine - wanted) <= np.abs(theirs - wanted)
            found = np.where(
                np.isfinite(mine) & np.isfinite(rounded), close, _sort(rounded) == _sort(mine)
            )
            there = ~np.isnan(wanted) & ~known
            if wanted is self._exact:
                sure |= there
            right |= found & there
            known |= there
        if mine.dtype.kind == "f":
            lost = self._of_nan() & ~np.isnan(mine) & ~sure
            right &= ~lost
            known |= lost
            right |= self._is_beside_zeros() & ~np.isnan(mine) & np.isnan(theirs)
        return right, known

    def _is_beside_zeros(self) -> Array:
        """Return where there is no number if products of zeros by their place are left in."""
        if not (_PLACED.search(self._alone) and _PRODUCTS.search(self._alone)):
            return np.zeros(self.mine.shape, bool)
        with_zeros = gradc.compile(function_of(self._alone), stable=False)
        return np.isnan(np.asarray(quietly(with_zeros, self.point)[0]))

    @cached_property
    def _exact(self) -> Array | None:
        return next(iter(exact(self._alone, self.point) or []), None)

    @cached_property
    def _limit(self) -> Array | None:
        return next(iter(limit(self._alone, self.point) or []), None)

    @cached_property
    def _alone(self) -> str:
        """The program of this result alone: what others are made of may have no exact meaning."""
        head, _, results = self.text.rpartition("return ")
        return f"{head}return {results.split(',')[self.place].strip()},\n"

    def _of_nan(self) -> Array:
        """Return where NumPy has nan because of arguments that are nan."""

        def known(each: Any) -> Any:
            if not is_float(each):
                return each
            made = np.where(np.isnan(each), 1, each).astype(np.asarray(each).dtype)
            return made if isinstance(each, np.ndarray) else type(each)(made[()])

        there = np.isnan(self.theirs)
        if not there.any() or not any(np.isnan(x).any() for x in self.point if is_float(x)):
            return np.zeros(there.shape, bool)
        other = quietly(plain(self.text), [known(each) for each in self.point])[self.place]
        return there & ~np.isnan(other) if np.shape(other) == there.shape else there


def _is_number(x: Array) -> Array:
    return np.isfinite(x) if x.dtype.kind == "f" else np.ones(x.shape, bool)


def _sort(x: Array) -> Array:
    """Return 0 for nan, and else the sign, times 3 for infinities, 1 for zeros, 2 for numbers."""
    if x.dtype.kind != "f":
        return x
    sign = np.where(np.signbit(x), -1, 1)
    size = np.where(np.isinf(x), 3, np.where(x == 0, 1, 2))
    return np.where(np.isnan(x), 0, sign * size)


def _has_huge(point: Sequence[Any]) -> bool:
    """Whether products of the arguments overflow."""
    arrays = [np.asarray(each, np.float64).ravel() for each in point if is_float(each)]
    every = np.concatenate(arrays) if arrays else np.zeros(0)
    return bool((np.abs(every[np.isfinite(every)]) > 1e19).any())
