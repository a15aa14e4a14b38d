"""Whether the slope of a program is that of its function, by differences of long doubles."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import gradc
from gradc_ir.errors import GradcError
from tests.fuzz.grammar import function_of
from tests.fuzz.running import OPEN, as_numpy, is_float, quietly, shown

Array = Any
Function = Callable[..., Any]

# Differences of long doubles say what the slope is, to this share.
_SLOPE = 1e-5


def slopes(text: str, point: Sequence[Any], seed: int) -> Iterator[str]:
    """Yield where reverse mode, forward mode and differences of long doubles disagree."""
    plain = function_of(text)
    places = tuple(i for i, each in enumerate(point) if is_float(each) and np.size(each))
    values = [np.asarray(each) for each in quietly(plain, point)]
    if not places or not any(each.dtype.kind == "f" and each.size for each in values):
        return
    if not _is_finite(text, point):
        return
    total = _total(plain, values)
    random = np.random.default_rng(seed)
    along = tuple(random.choice([-1.0, 1.0, 0.5], np.shape(point[i])) for i in places)
    point = [as_numpy(each) for each in point]
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
    wide = [np.asarray(x, np.longdouble)[()] if is_float(x) else x for x in point]
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
