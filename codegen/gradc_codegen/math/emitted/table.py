"""Which words have a function here, by the module that defines it under its own name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

from gradc_codegen.lazy_table import LazyTable
from gradc_codegen.math.emitted.builder import Float

DEFINITIONS: LazyTable[Callable[..., Float]] = LazyTable(
    {
        "gradc_codegen.math.emitted.exponential": "exp exp2 exp_product expm1",
        "gradc_codegen.math.emitted.logarithm": "log log1p log2 log10",
        "gradc_codegen.math.emitted.power": "pow",
        "gradc_codegen.math.emitted.tangent": """
            sigmoid sigmoid_of_double sigmoid_derivative sigmoid_derivative_of_double tanh
        """,
        "gradc_codegen.math.emitted.logistic": "softplus logaddexp log1mexp",
        "gradc_codegen.math.emitted.trigonometric": "sin cos sin_beside_cos cos_beside_sin tan",
        "gradc_codegen.math.emitted.remainder": "fmod",
        "gradc_codegen.math.emitted.roots": "cbrt hypot hypot_infinity_wins",
        "gradc_codegen.math.emitted.hyperbolic": "sinh cosh",
        "gradc_codegen.math.emitted.inverse_trigonometric": "atan atan2 asin acos",
        "gradc_codegen.math.emitted.inverse_hyperbolic": "asinh acosh atanh",
        "gradc_codegen.math.emitted.error_function": "erf erfc",
        "gradc_codegen.math.emitted.scaled_error_function": "erfcx",
        "gradc_codegen.math.emitted.inverse_error_function": "erfinv",
        "gradc_codegen.math.emitted.normal": "ndtr log_ndtr",
        "gradc_codegen.math.emitted.gamma": "gammaln psi trigamma",
        "gradc_codegen.math.emitted.bessel": "i0e i1e",
    },
    prefix="math.",
)


@functools.cache
def operands_of(word: str) -> int:
    """Return how many operands the function of a word has."""
    return len(inspect.signature(DEFINITIONS[word]).parameters)
