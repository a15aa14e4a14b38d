"""What rewritten code calls, by the names that the rewriting uses."""

from __future__ import annotations

from gradc.capture.branches import Branch
from gradc.capture.expressions import (
    asked,
    both,
    both_hold,
    chain,
    chosen,
    decides,
    either,
    either_holds,
    goes_on,
    is_builtin,
    known,
    negated,
    returned,
)
from gradc.capture.held.entries import entries
from gradc.capture.held.heap import NOTHING
from gradc.capture.loops import Loop, WhileLoop

branch = Branch
loop = Loop
loop_while = WhileLoop
nothing = NOTHING

__all__ = [
    "asked",
    "both",
    "both_hold",
    "branch",
    "chain",
    "chosen",
    "decides",
    "either",
    "either_holds",
    "entries",
    "goes_on",
    "is_builtin",
    "known",
    "loop",
    "loop_while",
    "negated",
    "nothing",
    "returned",
]
