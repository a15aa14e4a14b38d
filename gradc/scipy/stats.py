"""Distributions and summaries of scipy.stats: what stands in for each of them in traced code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from gradc.scipy import summaries
from gradc.scipy.continuous import CONTINUOUS
from gradc.scipy.discrete import DISCRETE
from gradc.scipy.distributions import Frozen, StandIn, recorders
from gradc.scipy.moments import MOMENTS
from gradc.scipy.multivariate import MULTIVARIATE


def frozen(value: Any) -> Any:
    """Return what stands in for a distribution with its parameters; other objects as they are."""
    distribution = getattr(value, "dist", getattr(value, "_dist", None))
    if distribution is None:
        return value
    name = getattr(distribution, "name", type(distribution).__name__.removesuffix("_gen"))
    if type(getattr(sys.modules["scipy.stats"], name, None)) is not type(distribution):
        return value  # no distribution, or one of the user's own
    args, kwds = getattr(value, "args", ()), getattr(value, "kwds", {})
    if name in _PARAMETERS:
        args = tuple(getattr(value, each) for each in _PARAMETERS[name])
    return Frozen(OBJECTS.get(name, StandIn(name, {})), args, kwds)


# The parameters of multivariate distributions, which a frozen one has as attributes.
_PARAMETERS = {
    "multivariate_normal": ("mean", "cov", "allow_singular"),
    "dirichlet": ("alpha",),
    "multinomial": ("n", "p"),
}
_FAMILIES = {
    name: family._replace(**MOMENTS[name]._asdict()) if name in MOMENTS else family
    for name, family in (CONTINUOUS | DISCRETE).items()
}
FUNCTIONS: dict[str, Callable[..., Any]] = dict(summaries.FUNCTIONS)
OBJECTS: dict[str, Any] = {
    name: StandIn(name, recorders(f"scipy.stats.{name}", family))
    for name, family in _FAMILIES.items()
}
OBJECTS |= {name: StandIn(name, methods) for name, methods in MULTIVARIATE.items()}
