"""Which registers code is written for: where nothing runs in lanes, those of 32 bytes.

On a machine with wider ones a few numbers side by side wait longer for each other in these: what
loads and permutes them, and what takes the upper ones out again, takes more time, and vectors of
eight numbers go through the arithmetic by halves on many machines anyway.
"""

from __future__ import annotations

from gradc_codegen.nest.loop_nest import LoopNest, StatementKind, loops_of
from gradc_codegen.text.module import Machine


def machine_for(nest: LoopNest, machine: Machine) -> Machine:
    """Return a machine as the code of a nest uses it."""
    return machine if _has_vectors(nest) else machine.narrow


def _has_vectors(nest: LoopNest) -> bool:
    """Whether a nest has loops in lanes, or ops on whole arrays, which have loops of their own."""
    return (
        any(loop.block > 1 for loop in loops_of(nest.body))
        or any(
            each.kind is StatementKind.WHOLE and each.node not in nest.bodies
            for each in nest.statements
        )
        or any(_has_vectors(body) for bodies in nest.bodies.values() for body in bodies)
    )
