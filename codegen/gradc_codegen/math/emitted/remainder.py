"""fmod: what a multiple of the divisor leaves, which a fused multiply-add takes off exactly."""

from __future__ import annotations

import math

from gradc_codegen.math.emitted.builder import Float, fma
from gradc_codegen.math.emitted.rare import rarely, repeated

# A divisor is enlarged by this where the quotient has more digits than a float.
_STEP = 2.0**48


def fmod(x: Float, y: Float) -> Float:
    """Return x less the multiple of y next to it towards zero; exact."""
    x, y = x.settled, y.settled
    size, divisor = abs(x), abs(y)
    quotient = size / divisor
    rare = quotient > 2.0 ** (x.format.fraction - 1)
    found = _taken_off(size, divisor, quotient).with_sign_of(x)
    return rarely(rare, _fmod_of_large, [x, y], found)


def _taken_off(size: Float, divisor: Float, quotient: Float) -> Float:
    """Return the remainder, where the quotient has been rounded."""
    rest = fma(quotient.floor, -divisor, size)
    rest = (rest < 0.0).select(rest + divisor, rest)  # the quotient was rounded up
    return (size < divisor).select(size, rest)


def _fmod_of_large(x: Float, y: Float) -> Float:
    size, divisor = abs(x), abs(y)
    defined = (size < math.inf) & (divisor > 0.0)
    size = defined.select(size, 0.0)
    (largest,) = repeated(
        [divisor], lambda enlarged: enlarged * _STEP < size, lambda enlarged: [enlarged * _STEP]
    )
    rest, _ = repeated(
        [size, largest],
        lambda _, enlarged: defined & (enlarged > divisor * 0.5),
        lambda rest, enlarged: [_taken_off(rest, enlarged, rest / enlarged), enlarged / _STEP],
    )
    return defined.select(rest.with_sign_of(x), math.nan)
