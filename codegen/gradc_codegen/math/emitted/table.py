"""Which words have a function here: a line each."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

from gradc_codegen.math.emitted import (
    bessel,
    error_function,
    exponential,
    gamma,
    hyperbolic,
    inverse_error_function,
    inverse_hyperbolic,
    inverse_trigonometric,
    logarithm,
    logistic,
    normal,
    power,
    remainder,
    roots,
    scaled_error_function,
    tangent,
    trigonometric,
)
from gradc_codegen.math.emitted.builder import Float

DEFINITIONS: dict[str, Callable[..., Float]] = {
    "math.exp": exponential.exp,
    "math.exp2": exponential.exp2,
    "math.exp_product": exponential.exp_product,
    "math.expm1": exponential.expm1,
    "math.log": logarithm.log,
    "math.log1p": logarithm.log1p,
    "math.log2": logarithm.log2,
    "math.log10": logarithm.log10,
    "math.pow": power.pow,
    "math.sigmoid": tangent.sigmoid,
    "math.sigmoid_of_double": tangent.sigmoid_of_double,
    "math.sigmoid_derivative": tangent.sigmoid_derivative,
    "math.sigmoid_derivative_of_double": tangent.sigmoid_derivative_of_double,
    "math.softplus": logistic.softplus,
    "math.logaddexp": logistic.logaddexp,
    "math.log1mexp": logistic.log1mexp,
    "math.sin": trigonometric.sin,
    "math.cos": trigonometric.cos,
    "math.sin_beside_cos": trigonometric.sin_beside_cos,
    "math.cos_beside_sin": trigonometric.cos_beside_sin,
    "math.tan": trigonometric.tan,
    "math.fmod": remainder.fmod,
    "math.cbrt": roots.cbrt,
    "math.hypot": roots.hypot,
    "math.tanh": tangent.tanh,
    "math.sinh": hyperbolic.sinh,
    "math.cosh": hyperbolic.cosh,
    "math.atan": inverse_trigonometric.atan,
    "math.atan2": inverse_trigonometric.atan2,
    "math.asin": inverse_trigonometric.asin,
    "math.acos": inverse_trigonometric.acos,
    "math.asinh": inverse_hyperbolic.asinh,
    "math.acosh": inverse_hyperbolic.acosh,
    "math.atanh": inverse_hyperbolic.atanh,
    "math.erf": error_function.erf,
    "math.erfc": error_function.erfc,
    "math.erfcx": scaled_error_function.erfcx,
    "math.erfinv": inverse_error_function.erfinv,
    "math.ndtr": normal.ndtr,
    "math.log_ndtr": normal.log_ndtr,
    "math.gammaln": gamma.gammaln,
    "math.psi": gamma.psi,
    "math.trigamma": gamma.trigamma,
    "math.i0e": bessel.i0e,
    "math.i1e": bessel.i1e,
}


@functools.cache
def operands_of(word: str) -> int:
    """Return how many operands the function of a word has."""
    return len(inspect.signature(DEFINITIONS[word]).parameters)
