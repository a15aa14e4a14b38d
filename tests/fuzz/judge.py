"""Whether what gradc makes of a program is what NumPy computes, and its slope that of the function.

NumPy's result is not the truth: it rounds, over- and underflows. So a difference counts only when
it is larger than what a change of the arguments in the last digits makes of either result, and when
the exact result, or its limit, does not side with gradc.
"""

from __future__ import annotations

import ast
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

import gradc
from gradc_ir.errors import GradcError
from tests.fuzz.exact import exact, limit
from tests.fuzz.grammar import Program, function_of

Array = Any
Function = Callable[..., Any]

# Begins what is told of an element that has no exact result: nan, or an infinity, for another one.
OPEN = "open: "
# A rounding of the dtype, as a share.
EPS = {"float64": 2.0**-52, "float32": 2.0**-23}
# The share by which arguments are changed, and how much more than that a result may change.
_SHAKE, _SLACK = 2.0**-40, 64.0
# Functions of mathematics are right to so many last digits, in NumPy and in gradc.
_NUDGES = 4.0
# Differences of long doubles say what the slope is, to this share.
_SLOPE = 1e-5
# Where the sign of a zero says nothing. A sum in NumPy begins with zero, in gradc that of minus
# zeros is minus zero; which of two zeros is the larger one, or the first in order, depends in NumPy on the processor.
# So a quotient by such a zero may have either sign.
_QUOTIENT = re.compile(r"/|reciprocal|\*\*|log|arctan2|sinc")
_INEXACT = frozenset(
    "exp log tan tanh sin cos arctan arcsinh log1p expm1 cbrt sinh cosh arcsin arccos arctanh arccosh "
    "exp2 log2 log10 sinc arctan2 logaddexp logaddexp2 power hypot".split()
)
# Products of these are added without rounding, so where NumPy's overflow on the way they need not;
# and in another order, so where NumPy's infinity of the data comes first, an overflow may.
_PRODUCTS = re.compile(r"@|dot|inner|einsum|trace|var|std|norm|sum|mean")
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
                wanted = quietly(_plain(text), point)
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


def quietly(function: Function, point: Sequence[Any]) -> Any:
    """Return the function's results at a point; the arguments stay as they are."""
    copies = [each.copy() if isinstance(each, np.ndarray) else each for each in point]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*copies)


def remembered(function: Function) -> Function:
    """Return the function, which is called once for each arguments."""
    made: dict[Any, Any] = {}

    def call(*args: Any) -> Any:
        arrays = [np.asarray(each) for each in args]
        key = tuple((type(x), a.dtype, a.shape, a.tobytes()) for x, a in zip(args, arrays))
        if key not in made:
            made[key] = function(*args)
        return made[key]

    return call


@lru_cache(maxsize=2)
def _plain(text: str) -> Function:
    return remembered(function_of(text))


class _Nudging:
    """NumPy, whose functions of mathematics are off by one in the last digit."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        if name not in _INEXACT:
            return function

        def nudged(*args: Any) -> Any:
            made = function(*args)
            if np.asarray(made).dtype.kind != "f":
                return made
            side = np.where(self._random.random(np.shape(made)) < 0.5, -np.inf, np.inf)
            there = np.isfinite(made) & (made != 0)
            return np.where(there, np.nextafter(made, side.astype(made.dtype)), made)[()]

        return nudged


@lru_cache(maxsize=4)
def _nudging(text: str, seed: int) -> Function:
    function = function_of(text)
    function.__globals__["np"] = _Nudging(seed)
    return remembered(function)


def operands_of(text: str) -> tuple[str, list[str], str] | None:
    """Return a program of the operands of another's last operation, their names, and what is left.

    ``text`` has one result. None where what is last is no operation on operands.
    """
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    *steps, end = function.body
    if not isinstance(end, ast.Return) or not isinstance(end.value, ast.Tuple):
        return None
    (result,) = map(ast.unparse, end.value.elts)
    while steps and result not in _targets(steps[-1]):
        steps.pop()
    if not steps:
        return None
    last = steps[-1]
    params = ast.unparse(function.args)
    if not isinstance(last, ast.Assign):
        return _split(params, steps, result)
    made: dict[str, ast.expr | None] = {}

    def named(each: ast.expr) -> ast.expr:
        if isinstance(each, ast.Constant):
            return each
        name = each.id if isinstance(each, ast.Name) else f"o{len(made)}"
        made[name] = None if isinstance(each, ast.Name) else each
        return ast.Name(name)

    match last.value:
        case ast.BinOp():
            last.value.left, last.value.right = named(last.value.left), named(last.value.right)
        case ast.UnaryOp():
            last.value.operand = named(last.value.operand)
        case ast.Compare():
            last.value.left = named(last.value.left)
            last.value.comparators = [named(each) for each in last.value.comparators]
        case ast.Call():
            last.value.args = [named(each) for each in last.value.args]
        case _:
            return None
    if not made:
        return None
    lines = [line for step in steps[:-1] for line in ast.unparse(step).splitlines()]
    lines += [f"{name} = {ast.unparse(each)}" for name, each in made.items() if each is not None]
    return _program(params, lines, list(made)), list(made), f"return {ast.unparse(last.value)},"


def _split(params: str, steps: list[ast.stmt], result: str) -> tuple[str, list[str], str] | None:
    """Return a program of what the last statements read, and these, where several make a result."""
    start = len(steps)
    while start and _targets(steps[start - 1]) == {result}:
        start -= 1
    found = [
        node for step in steps[start:] for node in ast.walk(step) if isinstance(node, ast.Name)
    ]
    read = {node.id for node in found if isinstance(node.ctx, ast.Load)}
    read -= {result, *(node.id for node in found if not isinstance(node.ctx, ast.Load))}
    names = sorted(name for name in read if re.fullmatch(r"[av]\d+", name))
    if not names:
        return None
    before, last = (
        [line for step in part for line in ast.unparse(step).splitlines()]
        for part in (steps[:start], steps[start:])
    )
    return _program(params, before, names), names, "\n    ".join([*last, f"return {result},"])


def _program(params: str, lines: list[str], results: list[str]) -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"def f({params}):\n{body}    return {', '.join(results)},\n"


def _targets(step: ast.stmt) -> set[str]:
    """Return what a statement changes, and the arrays of which it changes elements."""
    found = set()
    for node in ast.walk(step):
        if isinstance(node, ast.Assign | ast.AugAssign):
            for each in node.targets if isinstance(node, ast.Assign) else [node.target]:
                found.add(ast.unparse(each.value if isinstance(each, ast.Subscript) else each))
    return found


def shown(point: Sequence[Any]) -> str:
    """Return arguments as Python that makes them again."""
    return ", ".join(
        f"np.array({each.tolist()!r}, np.{each.dtype})"
        if isinstance(each, np.ndarray)
        else repr(each)
        for each in point
    )


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
                differs &= self._is_steady(_plain(self.text), theirs)
                for each in self._nudged(theirs):
                    differs &= each == theirs
            return differs
        steady = self._is_steady(_plain(self.text), theirs)
        sorts = _sort(mine), _sort(theirs)
        if _ZEROS.search(self.text):
            sorts = tuple(np.where(np.abs(each) == 1, 1, each) for each in sorts)
            if _QUOTIENT.search(self.text):
                sorts = tuple(np.where(np.abs(each) == 3, 3, each) for each in sorts)
        with np.errstate(all="ignore"):
            off = np.abs(mine.astype(np.float64) - theirs)
            far = np.isfinite(theirs) & ~(off <= self._free(_plain(self.text), theirs))
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
            found, wanted = quietly(compiled, self.point), quietly(_plain(text), self.point)
            for place, (mine, theirs) in enumerate(zip(found, wanted, strict=True)):
                operand = Result(
                    text, compiled, self.point, place, np.asarray(mine), np.asarray(theirs)
                )
                if any(operand.wrong(stable)):
                    return nowhere
            made = function_of(f"def f({', '.join(names)}):\n    {last}\n")
            return self._is_near(np.asarray(quietly(made, [_numpy(each) for each in found])[0]))
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
                    (_plain(self.text), self.theirs),
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
        share = max(_SHAKE, 4 * eps)
        largest = np.max(np.abs(result[np.isfinite(result)]), initial=0.0)
        least = 64 * float(np.finfo(result.dtype).smallest_subnormal)
        rounded = moved * eps / share + eps * (np.abs(result) + 1e-3 * largest)
        return _SLACK * rounded + _NUDGES * off + least

    def _nudged(self, result: Array) -> Iterator[Array]:
        """Yield NumPy's results where its functions of mathematics are off in their last digits."""
        for seed in range(4):
            try:
                made = np.asarray(quietly(_nudging(self.text, seed), self.point)[self.place])
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
        return right, known

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
            if not _is_float(each):
                return each
            made = np.where(np.isnan(each), 1, each).astype(np.asarray(each).dtype)
            return made if isinstance(each, np.ndarray) else type(each)(made[()])

        there = np.isnan(self.theirs)
        if not there.any() or not any(np.isnan(x).any() for x in self.point if _is_float(x)):
            return np.zeros(there.shape, bool)
        other = quietly(_plain(self.text), [known(each) for each in self.point])[self.place]
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
    arrays = [np.asarray(each, np.float64).ravel() for each in point if _is_float(each)]
    every = np.concatenate(arrays) if arrays else np.zeros(0)
    return bool((np.abs(every[np.isfinite(every)]) > 1e19).any())


def shake(point: Sequence[Any], seed: int) -> list[Any]:
    """Return the arguments with other last digits; zeros and what is not finite stay."""
    random = np.random.default_rng(seed)

    def shaken(each: Any) -> Any:
        if not _is_float(each):
            return each
        made = np.asarray(each)
        share = max(_SHAKE, float(np.finfo(made.dtype).eps) * 4)
        with np.errstate(all="ignore"):
            made = (made * (1 + share * random.choice([-1.0, 1.0], made.shape))).astype(made.dtype)
        return made if isinstance(each, np.ndarray) else type(each)(made[()])

    return [shaken(each) for each in point]


def _numpy(each: Any) -> Any:
    return np.float64(each) if type(each) is float else each


def _is_float(each: Any) -> bool:
    return not isinstance(each, bool | int) and np.asarray(each).dtype.kind == "f"


# -- slopes ----------------------------------------------------------------------------------------


def slopes(text: str, point: Sequence[Any], seed: int) -> Iterator[str]:
    """Yield where reverse mode, forward mode and differences of long doubles disagree."""
    plain = function_of(text)
    places = tuple(i for i, each in enumerate(point) if _is_float(each) and np.size(each))
    values = [np.asarray(each) for each in quietly(plain, point)]
    if not places or not any(each.dtype.kind == "f" and each.size for each in values):
        return
    if not _is_finite(text, point):
        return
    total = _total(plain, values)
    random = np.random.default_rng(seed)
    along = tuple(random.choice([-1.0, 1.0, 0.5], np.shape(point[i])) for i in places)
    point = [_numpy(each) for each in point]
    tangents: list[Any] = [None] * len(point)
    for v, i in zip(along, places, strict=True):
        tangents[i] = np.asarray(v, np.asarray(point[i]).dtype)[()]
    compiled = gradc.compile(_total(function_of(text), values))
    try:
        gradients = quietly(lambda *x: compiled.grad(*x, wrt=places), point)
        _, forward = quietly(lambda *x: gradc.jvp(compiled, x, tuple(tangents)), point)
    except GradcError:
        return
    except Exception as error:
        yield f"the gradient raised {type(error).__name__}: {error}"
        return
    if any(_is_beyond(g, x) for g, x in zip(gradients, (point[i] for i in places), strict=True)):
        return
    with np.errstate(all="ignore"):
        terms = [np.asarray(g, np.float64) * v for g, v in zip(gradients, along, strict=True)]
        reverse = float(sum(np.sum(term) for term in terms))
        scale = float(sum(np.sum(np.abs(term)) for term in terms)) + abs(reverse)
    is_single = any(np.asarray(each).dtype == np.float32 for each in (*point, *values))
    within = 1e-2 if is_single else 1e-6
    # two terms that cancel leave what they were rounded by
    sizes = [float(np.max(np.abs(each), initial=1.0)) for each in values if each.dtype.kind == "f"]
    scale += 1e-3 * max(sizes) if is_single else 0.0
    if not _agree(reverse, float(forward), within, scale):
        yield f"reverse mode has {reverse!r}, forward mode {float(forward)!r}, at {shown(point)}"
    known = _difference(total, point, places, along)
    if known is not None and not _agree(reverse, known, max(within, 10 * _SLOPE), scale):
        # a slope of nan is that of an infinite one times zero, as a rule
        head = "" if math.isfinite(reverse) else OPEN
        yield f"{head}the slope is {reverse!r}, differences say {known!r}, at {shown(point)}"


def _is_beyond(gradient: Any, x: Any) -> bool:
    """Whether a gradient is infinite in single numbers, as its argument is; a slope need not be."""
    return np.asarray(x).dtype == np.float32 and bool(np.isinf(gradient).any())


def _is_finite(text: str, point: Sequence[Any]) -> bool:
    """Whether all that is computed on the way is finite: else slopes are nan by convention."""
    names = re.findall(r"^ +(v\d+) =", text, re.MULTILINE)
    body, _, _ = text.rpartition("    return")
    every = quietly(function_of(f"{body}    return {', '.join(dict.fromkeys(names))},\n"), point)
    return all(np.isfinite(np.asarray(each)).all() for each in every)


def _total(function: Function, values: Sequence[Array]) -> Function:
    """Return a function to one number, in which each float result has weights of its own."""
    weights = [
        np.cos(np.arange(each.size) + 1.0).reshape(each.shape) if each.dtype.kind == "f" else None
        for each in values
    ]

    def total(*args: Any) -> Any:
        found = 0.0
        for value, weight in zip(function(*args), weights, strict=True):
            if weight is not None:
                found = found + np.sum(value * weight)
        return found

    return total


def _agree(x: float, y: float, within: float, scale: float) -> bool:
    if not (math.isfinite(x) and math.isfinite(y)):
        return math.isnan(x) == math.isnan(y) and (math.isnan(x) or x == y)
    return abs(x - y) <= within * (scale + abs(y)) + 1e-12


def _difference(
    total: Function, point: Sequence[Any], places: Sequence[int], along: Sequence[Any]
) -> float | None:
    """Return the slope by differences at two widths, None unless they agree."""
    wide = [np.asarray(x, np.longdouble)[()] if _is_float(x) else x for x in point]
    found = []
    for width in (np.longdouble(2.0) ** -14, np.longdouble(2.0) ** -17):
        sides = []
        for times in (-2, -1, 1, 2):
            moved = list(wide)
            for i, v in zip(places, along, strict=True):
                moved[i] = wide[i] + times * width * v
            try:
                sides.append(np.longdouble(quietly(total, moved)))
            except Exception:  # NumPy has no such function of long doubles
                return None
        low2, low, high, high2 = sides
        found.append((8 * (high - low) - (high2 - low2)) / (12 * width))
    first, second = map(float, found)
    if not (math.isfinite(first) and abs(first - second) <= _SLOPE * (abs(second) + 1e-6)):
        return None
    return second
