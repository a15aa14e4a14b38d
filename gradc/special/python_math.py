"""Functions of Python's math that NumPy lacks, of traced numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc.special.gamma_functions import gamma, gammaln
from gradc.special.normal import erf, erfc
from gradc.tracing.building.weak_numbers import as_float
from gradc.tracing.lens.math_module import SPECIAL


def _number(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: as_float(function(x))


SPECIAL.update(erf=_number(erf), erfc=_number(erfc), gamma=_number(gamma), lgamma=_number(gammaln))
