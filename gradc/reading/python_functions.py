"""What Python calls the ops: names of NumPy, SciPy and gradc for texts that can be run."""

from __future__ import annotations

from collections.abc import Iterator

from gradc_ir.core.graph import Function
from gradc_ir.core.walk import nested

# Names by the module that has them; an op stands under its own name where no other is given.
_NUMPY = {
    **{name: name for name in (
        "abs", "sign", "floor", "maximum", "minimum", "sqrt", "exp", "expm1", "log", "log1p",
        "exp2", "log2", "log10", "cbrt", "hypot", "sin", "cos", "tan", "tanh", "sinh", "cosh",
        "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "arctan2", "logaddexp",
        "logical_not", "cumsum",
    )},
    "truncate": "int64", "not_equal_zero": "bool_",
    "any": "any", "all": "all",
    "reduce_sum": "sum", "reduce_prod": "prod", "reduce_max": "max", "reduce_min": "min",
}  # fmt: skip
_SCIPY = {
    **{name: name for name in (
        "erf", "erfc", "erfcx", "erfinv", "gamma", "rgamma", "digamma", "beta", "betaln", "binom",
        "poch", "gammainc", "gammaincc", "gammaincinv", "gammainccinv", "betainc", "betaincinv",
        "stdtr", "stdtrit", "ndtri", "ndtr", "log_ndtr", "dawsn", "spence", "ellipkm1", "ellipe",
        "expi", "exp1", "zeta", "logsumexp",
    )},
    "lgamma": "gammaln", "bessel_j": "jv", "bessel_y": "yv", "bessel_i": "iv",
    "bessel_i_scaled": "ive", "bessel_k": "kv", "bessel_k_scaled": "kve",
}  # fmt: skip
_GRADC = {name: name for name in ("softplus", "sigmoid", "log1mexp")}
_LINALG = {"norm": "norm", "cholesky": "cholesky"}

MODULES = {
    "numpy": _NUMPY,
    "numpy.linalg": _LINALG,
    "scipy.special": _SCIPY,
    "gradc.special": _GRADC,
}
# What texts need beside functions for ops, all of NumPy.
SHAPES = frozenset({
    "add", "all", "any", "arange", "array", "broadcast_to", "concatenate", "einsum", "full", "inf",
    "nan", "reshape", "stack", "transpose", "where", "zeros",
})  # fmt: skip
_FALLBACK = "gradc.reading.plain_ops"


def place_of(op: str) -> tuple[str, str]:
    """Return the module that has a function for an op, and its name there; or the op by name."""
    for module, names in MODULES.items():
        if op in names:
            return module, names[op]
    return _FALLBACK, "op"


def reserved(function: Function) -> Iterator[str]:
    """Yield the names that the text of a function may need for functions of these modules."""
    yield from SHAPES
    yield "op"
    for _, node in nested(function):
        yield place_of(node.op.name)[1]
