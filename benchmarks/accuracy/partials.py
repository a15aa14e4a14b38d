"""Partial derivatives of NumPy's and SciPy's functions, as a table of formulas has them.

They hold over the reals and are computed in the arithmetic of a tape: in balls their rounding
does not matter, in doubles it is what a mechanical derivative has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.special as sp

# Takes a ufunc and its operands to the value in some arithmetic.
Apply = Callable[..., Any]


def _root_pi(f: Apply) -> Any:
    return f(np.sqrt, f(np.arccos, -1.0))


def _normal_density(f: Apply, x: Any) -> Any:
    return f(np.exp, -x * x / 2) / (f(np.sqrt, 2.0) * _root_pi(f))


# From an arithmetic, the result and the operands of a ufunc to the partials, None for zero.
PARTIALS: dict[Any, Callable[..., Sequence[Any]]] = {
    np.add: lambda f, z, x, y: (1, 1),
    np.subtract: lambda f, z, x, y: (1, -1),
    np.multiply: lambda f, z, x, y: (y, x),
    np.divide: lambda f, z, x, y: (1 / y, -x / (y * y)),
    np.negative: lambda f, z, x: (-1,),
    np.positive: lambda f, z, x: (1,),
    np.square: lambda f, z, x: (2 * x,),
    np.reciprocal: lambda f, z, x: (-1 / (x * x),),
    np.sqrt: lambda f, z, x: (1 / (2 * z),),
    np.cbrt: lambda f, z, x: (1 / (3 * z * z),),
    np.exp: lambda f, z, x: (z,),
    np.exp2: lambda f, z, x: (z * f(np.log, 2.0),),
    np.expm1: lambda f, z, x: (z + 1,),
    np.log: lambda f, z, x: (1 / x,),
    np.log2: lambda f, z, x: (1 / (x * f(np.log, 2.0)),),
    np.log10: lambda f, z, x: (1 / (x * f(np.log, 10.0)),),
    np.log1p: lambda f, z, x: (1 / (x + 1),),
    np.sin: lambda f, z, x: (f(np.cos, x),),
    np.cos: lambda f, z, x: (-f(np.sin, x),),
    np.tan: lambda f, z, x: (1 + z * z,),
    np.sinh: lambda f, z, x: (f(np.cosh, x),),
    np.cosh: lambda f, z, x: (f(np.sinh, x),),
    np.tanh: lambda f, z, x: (1 - z * z,),
    np.arcsin: lambda f, z, x: (1 / f(np.sqrt, 1 - x * x),),
    np.arccos: lambda f, z, x: (-1 / f(np.sqrt, 1 - x * x),),
    np.arctan: lambda f, z, x: (1 / (1 + x * x),),
    np.arcsinh: lambda f, z, x: (1 / f(np.sqrt, x * x + 1),),
    np.arccosh: lambda f, z, x: (1 / f(np.sqrt, x * x - 1),),
    np.arctanh: lambda f, z, x: (1 / (1 - x * x),),
    np.arctan2: lambda f, z, y, x: (x / (x * x + y * y), -y / (x * x + y * y)),
    np.hypot: lambda f, z, x, y: (x / z, y / z),
    np.sign: lambda f, z, x: (None,),
    np.floor: lambda f, z, x: (None,),
    sp.erf: lambda f, z, x: (2 / _root_pi(f) * f(np.exp, -x * x),),
    sp.erfc: lambda f, z, x: (-2 / _root_pi(f) * f(np.exp, -x * x),),
    sp.ndtr: lambda f, z, x: (_normal_density(f, x),),
    sp.gamma: lambda f, z, x: (z * f(sp.psi, x),),
    sp.gammaln: lambda f, z, x: (f(sp.psi, x),),
    sp.expit: lambda f, z, x: (z * (1 - z),),
    sp.xlogy: lambda f, z, x, y: (f(np.log, y), x / y),
}
