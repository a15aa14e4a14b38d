"""Distributions of scipy.stats in traced code: methods as formulas of what they are given.

A stand-in has the methods of the distribution. One that has a formula is recorded when an argument
is traced; all are SciPy's own when everything is known.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gradc.special.recording import in_double, numpy, quietly, where
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import state
from gradc.tracing.core.table import AnyFunction
from gradc.tracing.lens.modules import Random
from gradc.tracing.registry.dispatch import Mapped

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
    density: Formula | None = None
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
    made: dict[str, Formula] = {
        name: _recorder(f"{title}.{name}", family, method)
        for name, (method, needs) in _METHODS.items()
        if all(getattr(family, field) for field in needs)
    }
    density = ("logpmf", "pmf") if family.discrete else ("logpdf", "pdf")
    wrong = {"logpdf", "pdf", "logpmf", "pmf", "ppf", "isf"} - {*density}
    if not family.discrete:
        wrong -= {"ppf", "isf"}
    return {name: record for name, record in made.items() if name not in wrong}


def _recorder(title: str, family: Family, method: Formula) -> Formula:
    name = title.rpartition(".")[2]
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
            raise trace_error(f"{title}: {error}") from None
        bound.apply_defaults()
        rest = [_number(value) for value in bound.arguments.values()]
        scale = 1.0 if family.discrete else rest.pop()
        loc = rest.pop()
        x = None if name in _OF_PARAMETERS else rest.pop(0)
        found = method(family, x, rest, loc, scale)
        conditions = [] if family.valid is None else [family.valid(*rest)]
        conditions += [] if _is_known(scale) and scale > 0 else [scale > 0]
        for condition in conditions:
            found = where(condition, found, math.nan)
        return found

    record.__signature__ = signature  # type: ignore[attr-defined]
    return record


def _number(x: Any) -> Any:
    return float(x) if type(x) in (int, float) else in_double(x)


def _is_known(x: Any) -> bool:
    return isinstance(x, float)


def _standard(x: Any, loc: Any, scale: Any) -> Any:
    shifted = x if _is_known(loc) and loc == 0 else x - loc
    return shifted if _is_known(scale) and scale == 1 else shifted / scale


def _bounds(family: Family, shapes: Sequence[Any]) -> list[Any]:
    return [bound(*shapes) if callable(bound) else bound for bound in (family.low, family.high)]


def _everywhere(family: Family) -> bool:
    return family.low == -math.inf and family.high == math.inf and not family.discrete


def _inside(family: Family, y: Any, shapes: Sequence[Any]) -> Any:
    low, high = _bounds(family, shapes)
    found = y >= low
    if not (_is_known(high) and high == math.inf):
        found = found & (y <= high)
    return found & (numpy("floor", y) == y) if family.discrete else found


def _density(family: Family, x: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    y = _standard(x, loc, scale)
    if family.density:
        found = family.density(y, *shapes)
    else:
        found = numpy("exp", family.log_density(y, *shapes))
    found = found if _is_known(scale) and scale == 1 else found / scale
    return found if _everywhere(family) else _bounded(family, y, shapes, found, 0.0)


def _log_density(family: Family, x: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    y = _standard(x, loc, scale)
    found = family.log_density(y, *shapes)
    found = found if _is_known(scale) and scale == 1 else found - numpy("log", scale)
    return found if _everywhere(family) else _bounded(family, y, shapes, found, -math.inf)


def _bounded(family: Family, y: Any, shapes: Sequence[Any], found: Any, outside: float) -> Any:
    return where(_inside(family, y, shapes), found, where(y == y, outside, math.nan))


def _cumulative(below: float, above: float, formula: Formula) -> Formula:
    """Return a method between what it gives below the support and above it."""

    def method(family: Family, x: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
        y = _standard(x, loc, scale)
        y = numpy("floor", y) if family.discrete else y
        found = formula(family, y, shapes)
        if _everywhere(family):
            return found
        low, high = _bounds(family, shapes)
        beneath = y < low if family.discrete else y <= low
        return where(beneath, below, where(y >= high, above, found))

    return method


def _distribution(family: Family, y: Any, shapes: Sequence[Any]) -> Any:
    assert family.distribution is not None
    return family.distribution(y, *shapes)


def _survival(family: Family, y: Any, shapes: Sequence[Any]) -> Any:
    return (
        family.survival(y, *shapes) if family.survival else 1.0 - _distribution(family, y, shapes)
    )


def _log_distribution(family: Family, y: Any, shapes: Sequence[Any]) -> Any:
    if family.log_distribution:
        return family.log_distribution(y, *shapes)
    return numpy("log", _distribution(family, y, shapes))


def _log_survival(family: Family, y: Any, shapes: Sequence[Any]) -> Any:
    if family.log_survival:
        return family.log_survival(y, *shapes)
    return numpy("log", _survival(family, y, shapes))


def _quantiles(upper: bool) -> Formula:
    def method(family: Family, q: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
        low, high = _bounds(family, shapes)
        low, high = (high, low) if upper else (low, high)
        assert family.quantile is not None
        if upper and family.upper_quantile:
            y = family.upper_quantile(q, *shapes)
        else:
            y = family.quantile(1.0 - q if upper else q, *shapes)
        y = where(q == 0, low, where(q == 1, high, y))
        y = where((q >= 0) & (q <= 1), y, math.nan)
        return loc + scale * y

    return method


def _mean(family: Family, _: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    assert family.mean is not None
    return loc + scale * family.mean(*shapes)


def _variance(family: Family, _: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    assert family.variance is not None
    return 0.0 * loc + scale * scale * family.variance(*shapes)


def _deviation(family: Family, _: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    return numpy("sqrt", _variance(family, _, shapes, loc, scale))


def _entropy(family: Family, _: Any, shapes: Sequence[Any], loc: Any, scale: Any) -> Any:
    assert family.entropy is not None
    return 0.0 * loc + numpy("log", scale) + family.entropy(*shapes)


# Methods without a point.
_OF_PARAMETERS = frozenset({"mean", "var", "std", "entropy"})
# method -> how it is computed, and the formulas of the family it cannot do without
_METHODS: dict[str, tuple[Formula, tuple[str, ...]]] = {
    "pdf": (_density, ()),
    "pmf": (_density, ()),
    "logpdf": (_log_density, ()),
    "logpmf": (_log_density, ()),
    "cdf": (_cumulative(0.0, 1.0, _distribution), ("distribution",)),
    "sf": (_cumulative(1.0, 0.0, _survival), ("distribution",)),
    "logcdf": (_cumulative(-math.inf, 0.0, _log_distribution), ("distribution",)),
    "logsf": (_cumulative(0.0, -math.inf, _log_survival), ("distribution",)),
    "ppf": (_quantiles(False), ("quantile",)),
    "isf": (_quantiles(True), ("quantile",)),
    "mean": (_mean, ("mean",)),
    "var": (_variance, ("variance",)),
    "std": (_deviation, ("variance",)),
    "entropy": (_entropy, ("entropy",)),
}
