"""The last rule for directions, the derivatives of norms: one division for a row."""

from __future__ import annotations

from gradc.rules.algebra.parts import operands_of
from gradc.rules.engine import procedure, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import peel, rearrange
from gradc_ir.meaning.norms import SCALES


@procedure(
    "fenced-over-norm",
    "fence(div(?y, norm(?x))) => mul(?y, div(1, norm(?x)))",
    stable,
    "a row needs one division; the quotient is rounded twice",
    on="fence: div",
    loss=1.0,
)
def fenced_over_norm(value: Value) -> Value | None:
    """Multiply a row with the reciprocal of its norm, which is made moderate for that."""
    x, below = operands_of(value.operands[0], "div") or (None, None)
    if x is None or below is None:
        return None
    norm, moves = peel(below)
    if norm.op.name != "norm" or not moves:
        return None
    scale = _scale_of(norm)
    made = x * rearrange(scale, moves)
    return build.fence(made * rearrange(1 / (norm * scale), moves))


def _scale_of(norm: Value) -> Value:
    """Return a power of two that makes a large or small number moderate, 1 for any other."""
    _, up, down = SCALES[norm.type.dtype.bytes]
    raised, kept, lowered = (build.full_like(norm, power) for power in (up, 1.0, down))
    least, most = lowered, raised
    rest = build.select(build.lt(most, norm), lowered, kept)
    return build.select(build.lt(norm, least), raised, rest)


RULES = [fenced_over_norm]
