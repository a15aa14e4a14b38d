"""Distributions of scipy.stats: what stands in for each of them in traced code."""

from __future__ import annotations

import sys
from typing import Any

from gradc.scipy.stats.continuous import CONTINUOUS
from gradc.scipy.stats.discrete import DISCRETE
from gradc.scipy.stats.distributions import Frozen, StandIn, recorders
from gradc.scipy.stats.multivariate import MULTIVARIATE
from gradc.tracing.registry.scipy_function import MAKERS, OBJECTS


def frozen(value: Any) -> Any:
    """Return what stands in for a distribution with its parameters; other objects as they are."""
    if not type(value).__module__.startswith("scipy.stats."):
        return value
    distribution = getattr(value, "dist", getattr(value, "_dist", None))
    if distribution is None:
        return value
    name = getattr(distribution, "name", type(distribution).__name__.removesuffix("_gen"))
    if type(getattr(sys.modules["scipy.stats"], name, None)) is not type(distribution):
        return value  # no distribution, or one of the user's own
    args, kwds = getattr(value, "args", ()), getattr(value, "kwds", {})
    if name in _PARAMETERS:
        args = tuple(getattr(value, each) for each in _PARAMETERS[name])
    return Frozen(OBJECTS.get(f"scipy.stats.{name}", StandIn(name, {})), args, kwds)


# The parameters of multivariate distributions, which a frozen one has as attributes.
_PARAMETERS = {
    "multivariate_normal": ("mean", "cov", "allow_singular"),
    "dirichlet": ("alpha",),
    "multinomial": ("n", "p"),
}
for _name, _family in (CONTINUOUS | DISCRETE).items():
    _full = f"scipy.stats.{_name}"
    OBJECTS[_full] = StandIn(_name, recorders(_full, _family))
for _name, _methods in MULTIVARIATE.items():
    OBJECTS[f"scipy.stats.{_name}"] = StandIn(_name, _methods)
MAKERS.append(frozen)
