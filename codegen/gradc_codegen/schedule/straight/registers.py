"""Which registers of a machine that has wide ones straight code uses, where nothing runs in lanes.

What is best for long vectors is not for numbers that are alone. A vector of eight that is taken
apart waits for each half of a register of 64 bytes, so code that has functions of so many keeps to
registers of 32. And a number that is chosen by a register of truth values waits as long as for
several additions, where a branch is mostly known before: what chooses much and calls functions,
through which none of the further registers keeps what it has, does without them.
"""

from __future__ import annotations

import re

from gradc_codegen.nest.loop_nest import LoopNest, StatementKind, loops_of
from gradc_codegen.text.module import NARROW, UNMASKED, Machine

_CHOICE = re.compile(r" = select i1 \S+ (?:double|float) ")
_CALL = re.compile(r" = call [^@\n]*@gradc\.")
_CALL_OF_MANY = re.compile(r" = call [^@\n]*@gradc\.[\w.]+\.v(?:8f64|16f32)\(")
_ONLY_OF_WIDE = "@llvm.x86.avx512.mask."
_FUNCTION_OF_MATH = re.compile(r"\ndefine internal [^@\n]*@gradc\.")
_FEWEST_CHOICES = 1 / 40  # of the lines


def machine_for(nest: LoopNest, machine: Machine, text: str) -> Machine:
    """Return a machine as the code of a nest is to use it; ``text`` is that for all of it."""
    if not machine.is_wide or _has_vectors(nest):
        return machine
    own = _FUNCTION_OF_MATH.split(text, 1)[0]  # which all come behind
    chooses = len(_CHOICE.findall(own)) > _FEWEST_CHOICES * own.count("\n")
    if chooses and _CALL.search(own):
        return machine.keeping_to(UNMASKED)
    # functions that are written for wide registers are faster by what only these have
    if _CALL_OF_MANY.search(own) and _ONLY_OF_WIDE not in text:
        return machine.keeping_to(NARROW)
    return machine


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
