"""Distributions of scipy.stats in traced code: methods as formulas of what they are given.

A stand-in has the methods of the distribution. One that has a formula is recorded when an argument
is traced; all are SciPy's own when everything is known.
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from gradc.special.recording import in_double, numpy, quietly, where
from gradc.tracing.captured.top import state
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.drawing.refused import Random
from gradc.tracing.registry.dispatch import Mapped
from gradc_ir.classes.named import NamedTuple

Formula = AnyFunction


class Family(NamedTuple):
    """A standard distribution as formulas of a variable and the shape parameters.

    ``low`` and ``high`` bound its support. What is not given follows from the rest. For a discrete
    one, ``log_density`` is the logarithm of the probability.
    """

    log_density: Formula
    shapes: tuple[str, ...] = ()
    low: float | Formula = -math.inf
    high: float | Formula = math.inf
    valid: Formula | None = None  # which shape parameters are, None when all
    distribution: Formula | None = None
    survival: Formula | None = None
    log_distribution: Formula | None = None
    log_survival: Formula | None = None
    quantile: Formula | None = None
    upper_quantile: Formula | None = None
    mean: Formula | None = None  # this and the next two: of the shape parameters
    variance: Formula | None = None
    entropy: Formula | None = None
    discrete: bool = False


class StandIn:
    """A distribution of scipy.stats: recorded methods, and SciPy's for known arguments."""

    def __init__(self, name: str, recorders: Mapping[str, Formula]) -> None:
        self.name = name
        self.recorders = recorders

    @property
    def __gradc_original__(self) -> Any:
        return getattr(sys.modules["scipy.stats"], self.name)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__gradc_original__, name)
        if name.startswith("_") or not callable(found):
            return found
        full = f"scipy.stats.{self.name}.{name}"
        return Random(full) if name == "rvs" else Mapped(full, found, self.recorders.get(name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the distribution with its parameters fixed; outside of a trace, SciPy's own."""
        if state.top is None:
            return self.__gradc_original__(*args, **kwargs)
        return Frozen(self, args, kwargs)


class Frozen:
    """A distribution with its parameters, which may be traced."""

    def __init__(self, stand_in: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
        self._stand_in = stand_in
        self.args = tuple(args)
        self.kwds = dict(kwargs)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._stand_in, name)
        if name.startswith("_") or not callable(method):
            return method
        return lambda *first, **more: method(*first, *self.args, **self.kwds, **more)


def recorders(title: str, family: Family) -> dict[str, Formula]:
    """Return what records the methods that a family's formulas allow, by their names."""
    family = _completed(family)
    left_out = {"logpdf", "pdf", "ppf", "isf"} if family.discrete else {"logpmf", "pmf"}
    methods = ((name, getattr(family, field)) for name, (field, _) in _METHODS.items())
    return {
        name: _recorder(title, name, family, formula)
        for name, formula in methods
        if formula and name not in left_out
    }


def _completed(family: Family) -> Family:
    """Return a family with the formulas that follow from those it has."""

    def then(change: Formula, formula: Formula | None) -> Formula | None:
        return formula and (lambda *given: change(formula(*given)))

    log = functools.partial(numpy, "log")
    quantile = family.quantile
    survival = family.survival or then(lambda p: 1.0 - p, family.distribution)
    return family._replace(
        survival=survival,
        log_distribution=family.log_distribution or then(log, family.distribution),
        log_survival=family.log_survival or then(log, survival),
        upper_quantile=family.upper_quantile
        or (quantile and (lambda q, *shapes: quantile(1.0 - q, *shapes))),
    )


def _recorder(title: str, name: str, family: Family, formula: Formula) -> Formula:
    method = _METHODS[name][1]
    first = "q" if name in ("ppf", "isf") else "k" if family.discrete else "x"
    names = [*([] if name in _OF_PARAMETERS else [first]), *family.shapes]
    defaults = {"loc": 0.0} if family.discrete else {"loc": 0.0, "scale": 1.0}
    either = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        [inspect.Parameter(each, either) for each in names]
        + [inspect.Parameter(each, either, default=value) for each, value in defaults.items()]
    )

    @quietly
    def record(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise trace_error(f"{title}.{name}: {error}") from None
        bound.apply_defaults()
        rest = [_number(value) for value in bound.arguments.values()]
        scale = 1.0 if family.discrete else rest.pop()
        loc = rest.pop()
        if name in _OF_PARAMETERS:
            found = method(formula(*rest), loc, scale)
        else:
            x = rest.pop(0)
            found = method(family, formula, x, rest, loc, scale)
        conditions = [] if family.valid is None else [family.valid(*rest)]
        conditions += [] if isinstance(scale, float) and scale > 0 else [scale > 0]
        for condition in conditions:
            found = where(condition, found, math.nan)
        return found

    record.__signature__ = signature  # type: ignore[attr-defined]
    return record


def _number(x: Any) -> Any:
    return float(x) if type(x) in (int, float) else in_double(x)


def _is(x: Any, number: float) -> bool:
    """Whether something is known to be a number."""
    return isinstance(x, float) and x == number


def _standard(x: Any, loc: Any, scale: Any) -> Any:
    shifted = x if _is(loc, 0) else x - loc
    return shifted if _is(scale, 1) else shifted / scale


def _bounds(family: Family, shapes: Sequence[Any]) -> list[Any]:
    return [bound(*shapes) if callable(bound) else bound for bound in (family.low, family.high)]


def _everywhere(family: Family) -> bool:
    return family.low == -math.inf and family.high == math.inf and not family.discrete


def _inside(family: Family, y: Any, shapes: Sequence[Any]) -> Any:
    low, high = _bounds(family, shapes)
    found = y >= low
    if not _is(high, math.inf):
        found = found & (y <= high)
    return found & (numpy("floor", y) == y) if family.discrete else found


def _density(outside: float, of_logarithm: Formula, rescaled: Formula) -> Formula:
    """Return a method that is a function of the logarithm of the density."""

    def method(
        family: Family, formula: Formula, x: Any, shapes: Sequence[Any], loc: Any, scale: Any
    ) -> Any:
        y = _standard(x, loc, scale)
        found = of_logarithm(formula(y, *shapes))
        found = found if _is(scale, 1) else rescaled(found, scale)
        if _everywhere(family):
            return found
        return where(_inside(family, y, shapes), found, where(y == y, outside, math.nan))

    return method


def _cumulative(below: float, above: float) -> Formula:
    """Return a method between what it gives below the support and above it."""

    def method(
        family: Family, formula: Formula, x: Any, shapes: Sequence[Any], loc: Any, scale: Any
    ) -> Any:
        y = _standard(x, loc, scale)
        y = numpy("floor", y) if family.discrete else y
        found = formula(y, *shapes)
        if _everywhere(family):
            return found
        low, high = _bounds(family, shapes)
        beneath = y < low if family.discrete else y <= low
        return where(beneath, below, where(y >= high, above, found))

    return method


def _quantile(ends: slice) -> Formula:
    """Return a method between the ends of the support, in this order."""

    def method(
        family: Family, formula: Formula, q: Any, shapes: Sequence[Any], loc: Any, scale: Any
    ) -> Any:
        first, last = _bounds(family, shapes)[ends]
        y = where(q == 0, first, where(q == 1, last, formula(q, *shapes)))
        y = where((q >= 0) & (q <= 1), y, math.nan)
        return loc + scale * y

    return method


def _variance(variance: Any, loc: Any, scale: Any) -> Any:
    return 0.0 * loc + scale * scale * variance


# Methods without a point.
_OF_PARAMETERS = frozenset({"mean", "var", "std", "entropy"})
_DENSITY = _density(0.0, functools.partial(numpy, "exp"), lambda found, scale: found / scale)
_LOG_DENSITY = _density(
    -math.inf, lambda found: found, lambda found, scale: found - numpy("log", scale)
)
# method -> the formula of the family that it is made of, and how
_METHODS: dict[str, tuple[str, Formula]] = {
    "pdf": ("log_density", _DENSITY),
    "pmf": ("log_density", _DENSITY),
    "logpdf": ("log_density", _LOG_DENSITY),
    "logpmf": ("log_density", _LOG_DENSITY),
    "cdf": ("distribution", _cumulative(0.0, 1.0)),
    "sf": ("survival", _cumulative(1.0, 0.0)),
    "logcdf": ("log_distribution", _cumulative(-math.inf, 0.0)),
    "logsf": ("log_survival", _cumulative(0.0, -math.inf)),
    "ppf": ("quantile", _quantile(slice(None))),
    "isf": ("upper_quantile", _quantile(slice(None, None, -1))),
    "mean": ("mean", lambda mean, loc, scale: loc + scale * mean),
    "var": ("variance", _variance),
    "std": ("variance", lambda *given: numpy("sqrt", _variance(*given))),
    "entropy": ("entropy", lambda entropy, loc, scale: 0.0 * loc + numpy("log", scale) + entropy),
}
