"""LLVM's optimiser over the text of a module: strict IEEE, no calls but those the text makes.

Nothing here changes a bit of a result: without fast-math flags LLVM neither reassociates nor fuses, so the
vectorisers only widen elementwise code, and ``no-builtins`` keeps it from knowing what ``exp`` or ``memset``
are: a zero loop stays a loop, ``exp(1)`` stays a call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import llvmlite.binding as llvm
from gradc_ir.errors import VerifyError

from gradc_codegen.target import LOCK, Target

# What every function carries. Written here, not by those who write the text, so that none can forget it.
FUNCTION_ATTRIBUTES = 'nounwind "no-builtins"'

# Attributes are added to the text: llvmlite 0.47 puts those added to a function on its result.
_DEFINITION = re.compile(r"^(define [^\n]*?)[ \t]*\{[ \t]*(?:;[^\n]*)?$", re.MULTILINE)
_DECLARATION = re.compile(r"^(declare [^\n;@]*@(?!\"?llvm\.)[^\n;]*?)[ \t]*(?:;[^\n]*)?$", re.MULTILINE)

# Straight-line modules of more lines than this are compiled with less effort and their internal functions
# are kept apart: together they would be one function, and emitting is more than linear in its length.
_LARGE_MODULE = 20_000
_HUGE_MODULE = 200_000


@dataclass(frozen=True)
class Effort:
    """How hard LLVM tries: the level of its pipeline, of its code generator, and what to leave out."""

    pipeline: int
    generator: int
    vectorize: bool
    keep_apart: bool


USUAL = Effort(pipeline=2, generator=2, vectorize=True, keep_apart=False)
LARGE = Effort(pipeline=1, generator=1, vectorize=False, keep_apart=True)
HUGE = Effort(pipeline=0, generator=0, vectorize=False, keep_apart=True)
_BY_LEVEL = (HUGE, LARGE, USUAL)


def effort(text: str, level: int | None = None) -> Effort:
    """Return how hard to try: by the size of the text, or a level 0, 1 or 2."""
    if level is not None:
        return _BY_LEVEL[level]
    lines = text.count("\n")
    return USUAL if lines <= _LARGE_MODULE else LARGE if lines <= _HUGE_MODULE else HUGE


def parse(text: str, target: Target, how: Effort) -> llvm.ModuleRef:
    """Return the module of a text, laid out for a target, its functions with their attributes.

    Raises
    ------
    VerifyError: LLVM refuses the text, with its own words; a defect of what wrote it.
    """

    def define(match: re.Match[str]) -> str:
        head = match[1]
        apart = how.keep_apart and head.startswith("define internal ")
        noinline = " noinline" if apart and "alwaysinline" not in head else ""
        return f"{head} {FUNCTION_ATTRIBUTES}{noinline} {{"

    # nobuiltin: or calls of constants are computed here, with the libm LLVM was built with
    text = _DECLARATION.sub(r"\1 nobuiltin", _DEFINITION.sub(define, text))
    with LOCK:
        try:
            module = llvm.parse_assembly(text, llvm.create_context())
            module.triple = target.triple
            module.data_layout = str(target.machine().target_data)
            module.verify()
        except RuntimeError as error:
            raise VerifyError("LLVM refuses the text of a module", found=str(error)) from None
        return module


def optimize(module: llvm.ModuleRef, target: Target, how: Effort) -> llvm.TargetMachine:
    """Optimise a module in place; returns a fresh machine of the same effort to emit it with."""
    with LOCK:
        if how.pipeline:
            options = llvm.create_pipeline_tuning_options(how.pipeline)
            options.loop_vectorization = how.vectorize
            options.slp_vectorization = how.vectorize
            builder = llvm.create_pass_builder(target.machine(how.generator), options)
            builder.getModulePassManager().run(module, builder)
        return target.machine(how.generator)
