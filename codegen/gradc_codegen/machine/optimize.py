"""LLVM's optimiser over the text of a module: strict IEEE, no calls but those the text makes.

Nothing here changes a bit of a result: without fast-math flags LLVM neither reassociates nor fuses,
so the vectorisers only widen elementwise code, and ``no-builtins`` keeps it from knowing what
``exp`` or ``memset`` are: a zero loop stays a loop, ``exp(1)`` stays a call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Literal

from llvmlite.binding.newpassmanagers import NewPassManager, create_new_function_pass_manager

from gradc_codegen.machine.large_arrays import put_back
from gradc_codegen.target.bindings import llvm
from gradc_codegen.target.llvm_lock import uses_llvm
from gradc_codegen.target.target import (
    FAST_SELECTION,
    NO_PEEPHOLES,
    NO_STRENGTH_REDUCTION,
    NO_SUMS,
    SHORT_SEARCH,
    Target,
    asking,
    machine_of,
)
from gradc_codegen.text.module import AS_WRITTEN, NARROW, PLAIN_LOOP, UNMASKED
from gradc_ir.classes.quick import dataclass
from gradc_ir.errors import ExportError, VerifyError

# What every function carries. Added here, not by those who write the text: none can forget it.
FUNCTION_ATTRIBUTES = 'nounwind "no-builtins"'

# … where code is short before it is fast. That it is as short as can be LLVM is not told: on 32-bit
# machines it would call the compiler's library to shift 64 bits, and gain a fiftieth elsewhere.
SMALL_ATTRIBUTES = "optsize"

# … of a module that keeps to registers of 32 bytes
_NARROW_ATTRIBUTES = ' "prefer-vector-width"="256" "min-legal-vector-width"="256"'

# Attributes are added to the text: llvmlite 0.47 puts those added to a function on its result.
# A literal beginning is found at once, the beginnings of all lines one by one.
_DEFINITION = re.compile(r"\n(define [^\n]*?)[ \t]*\{[ \t]*(?:;[^\n]*)?$", re.MULTILINE)
_DECLARATION = re.compile(
    r"\n(declare [^\n;@]*@(?!\"?llvm\.)[^\n;]*?)[ \t]*(?:;[^\n]*)?$", re.MULTILINE
)

# Functions that are written as they are to be, and groups of their attributes
_MARKED = re.compile(rf"\ndefine [^\n]*{AS_WRITTEN}.*?\n}}", re.DOTALL)
# Functions that are hardly ever called: that they have loops says nothing of the code around.
_COLD = re.compile(r"\ndefine [^\n]*\) [^\n]*\bcold\b.*?\n}", re.DOTALL)
_INDEX = re.compile(r" %(?:\S+\.)?i = phi i64 ")  # of a loop
_MARKED_ATTRIBUTES = re.compile(rf"\nattributes #\d+ = [^\n]*{AS_WRITTEN}[^\n]*")

# Where callers align the stack to, in bytes. Vectors that no register is left for lie there; when
# LLVM finds that out it is too late to align it, and they cross lines of the cache in half of all
# processes, by chance: that takes some loops 1.8 times as long.
_STACK = 16
_NUMBERS = ("double", "float", "i64", "i32")

# Modules of more lines than this are compiled with less effort and their internal functions are
# kept apart: in one function they would be slow, emitting is more than linear in its length.
_LARGE_MODULE = 20_000
# … and with loops, of more than this: what is long is the code beside the loops.
_LONG_WITH_LOOPS = 9_000
# With more outputs than this, each of which may be NULL, LLVM's second level takes too long: with
# 1,000 of them 10 s, 0.5 s at the first.
_MANY_OUTPUTS = 300
# Unrolling makes most of the code of a loop: 400 loops take 5 s with it and 0.7 s without. Of more
# than a few loops compiling takes a quarter to a third less without it, and running as long: those
# that time is spent in are as wide as they are to be. Plain loops are never unrolled.
_SOME_LOOPS = 18
_MANY_LOOPS = 100
_HUGE_MODULE = 200_000
# Loop strength reduction tries the sums of all strides that a loop's addresses have: with numbers
# for sizes that is quick, and a stencil gains a tenth; with products of sizes it takes up to nine
# tenths of the compile time, and no kernel gains. docs/decisions/0012-strength-reduction.md
_MANY_STRIDES = 40
_STRIDE = re.compile(r" = mul (?:nsw |nuw )*i64 %\S+ %")


@dataclass(frozen=True)
class Effort:
    """How hard LLVM tries: levels of its pipeline and code generator, and what to leave out.

    ``pipeline``: 0 only inlines what is always inlined, None does nothing; "few" are some passes
    over each function by itself, ``_FEW``.
    ``as_written``: whether code is emitted instruction by instruction, but for math functions.
    ``marked``: whether there are functions that are written as they are to be.
    ``is_small``: whether short code is worth more than fast code.
    ``selects_fast``: whether instructions are chosen one by one.
    """

    pipeline: int | Literal["few"] | None
    generator: int
    vectorize: bool
    unroll: bool
    reduce_strength: bool
    keep_apart: bool
    as_written: bool = False
    marked: bool = False
    is_small: bool = False
    selects_fast: bool = False


USUAL = Effort(
    pipeline=2, generator=2, vectorize=True, unroll=True, reduce_strength=True, keep_apart=False
)
# Code without loops is nearly as it should be when it is written: more than the first level takes
# a third of its time and gains nothing. Vectors of neighbouring numbers, the quotients and products
# of small matrices above all, make some kernels a third faster; in long code they are few, and the
# first level, a third of LLVM's time, gains a twentieth.
SHORT = replace(USUAL, pipeline=1)
STRAIGHT = replace(USUAL, pipeline=0, generator=1, vectorize=False, selects_fast=True)
_SHORT_MODULE = 5_000
STRIDED = replace(USUAL, reduce_strength=False)
MEDIUM = replace(STRIDED, unroll=False)
FIRST = Effort(
    pipeline=1, generator=1, vectorize=False, unroll=False, reduce_strength=False, keep_apart=True
)
# In long code the levels look for what is not there: of 21,000 lines the first takes 0.6 s, as long
# as emission. What loops around vectors gain of it three passes find in a tenth of the time.
LARGE = replace(FIRST, pipeline="few")
_FEW = ("sroa", "simplify_cfg", "instruction_combine")
# Without loops the machine code is the same, to a few bytes, when nothing looks at it before; and
# when the generator takes one instruction after another, it is a tenth longer and there in half the
# time.
LONG = replace(LARGE, pipeline=None, as_written=True, selects_fast=True)
# A function of math by itself is as it should be when it is written.
MATH = replace(USUAL, pipeline=None)
HUGE = replace(LARGE, pipeline=None, generator=0, selects_fast=True)
# Functions stay apart, one of each, but those that are called once; rare ones are optimised.
SMALL = replace(USUAL, vectorize=False, unroll=False, is_small=True)

# The vectoriser of straight-line code loses numbers before this version of LLVM,
# docs/decisions/0055-vectors-of-neighbours.md
_JOINS_NEIGHBOURS = llvm.llvm_version_info[0] >= 22
_BY_LEVEL = (HUGE, FIRST, USUAL)


def effort(
    texts: Sequence[str], level: int | Literal["size", "math"] | Effort | None = None
) -> Effort:
    """Return how hard to try: by what the texts are like, or a level 0, 1, 2, "size", "math"."""
    if isinstance(level, Effort):
        return level
    if level == "size":
        return SMALL
    if level == "math" and not any(" alwaysinline" in text for text in texts):
        return MATH
    marked = any(AS_WRITTEN in text for text in texts)
    if level is not None and level != "math":
        return replace(_BY_LEVEL[level], marked=marked)
    longest = max(text.count("\n") for text in texts)
    if marked:
        texts = [_MARKED.sub("", text) for text in texts]
    return replace(_usual_effort(texts, longest), marked=marked)


def _usual_effort(texts: Sequence[str], longest: int) -> Effort:
    """Return the effort for texts without marked functions.

    ``longest``: the lines with these of the longest one. Many kernels of one object are long, too.
    """
    lines = sum(text.count("\n") for text in texts)
    loops = sum(len(_INDEX.findall(_COLD.sub("", text))) for text in texts)
    if lines > _HUGE_MODULE:
        return HUGE
    if loops and longest > _LONG_WITH_LOOPS:
        return LARGE
    if lines > _LARGE_MODULE:
        return LONG
    if sum(text.count(", null\n") for text in texts) > _MANY_OUTPUTS:
        return LARGE
    if not loops:
        return SHORT if lines <= _SHORT_MODULE else STRAIGHT
    if loops > _MANY_LOOPS:
        return MEDIUM
    strides = sum(len(_STRIDE.findall(text)) for text in texts)
    how = STRIDED if strides > _MANY_STRIDES else USUAL
    plain = sum(text.count(PLAIN_LOOP) for text in texts)
    return replace(how, unroll=loops - plain <= _SOME_LOOPS)


@uses_llvm
def parse(
    texts: Sequence[str],
    target: Target,
    how: Effort,
    attributes: str = "",
    aside: Sequence[str] = (),
) -> llvm.ModuleRef:
    """Return the module of one or more texts, laid out for a target.

    Functions get their attributes, and those that are given. What is internal to one text stays
    apart from the others. ``aside``: the bytes of arrays that are not in the texts.

    Raises
    ------
    VerifyError: LLVM refuses a text, with its own words; a defect of what wrote it.
    """
    context = llvm.create_context()
    modules = []
    for text in texts:
        try:
            attributed = _with_attributes(text, how, target, attributes)
            module = llvm.parse_assembly(put_back(attributed, aside), context)
            module.verify()
        except RuntimeError as error:
            raise VerifyError("LLVM refuses the text of a module", found=str(error)) from None
        module.triple, module.data_layout = target.triple, target.layout
        modules.append(module)
    for other in modules[1:]:
        modules[0].link_in(other)
    return modules[0]


def _narrow_attributes(text: str, target: Target) -> str:
    """Return what is told of the functions of a text for the registers that they use."""
    if UNMASKED in text:
        return f' "target-features"="{f"{target.features},-avx512f".lstrip(",")}"'
    return _NARROW_ATTRIBUTES if NARROW in text else ""


def _with_attributes(text: str, how: Effort, target: Target, attributes: str) -> str:
    """Return a text whose functions have their attributes."""
    width, told = machine_of(target).vector_bytes, _narrow_attributes(text, target)

    def define(match: re.Match[str]) -> str:
        head = match[1]
        apart = how.keep_apart and head.startswith("define internal ")
        more = " noinline" if apart and "inline" not in head else ""
        if how.is_small:
            head, more = head.replace(" optnone", ""), f" {SMALL_ATTRIBUTES}"
        elif AS_WRITTEN in head:
            more = " optnone"
        elif how.as_written and "@gradc." not in head:
            more = " noinline optnone"
        more += f" {attributes}" if attributes else ""
        if width > _STACK and _loops_over_vectors(match.string, match.end()):
            more += f" alignstack({width})"
        return f"\n{head} {FUNCTION_ATTRIBUTES}{told}{more} {{"

    if how.keep_apart or how.is_small:
        text = text.replace(") alwaysinline\n", ")\n")
    if how.is_small:
        text = text.replace(") noinline\n", ")\n")
    # nobuiltin: or calls of constants are computed here, with the libm LLVM was built with
    return _DECLARATION.sub(r"\n\1 nobuiltin", _DEFINITION.sub(define, f"\n{text}"))[1:]


def _loops_over_vectors(text: str, start: int) -> bool:
    """Whether the function whose body begins at ``start`` has loops and vectors."""
    end = text.find("\n}", start)
    if text.find(" = phi i64 ", start, end) < 0:
        return False
    return any(text.find(f" x {type_}>", start, end) >= 0 for type_ in _NUMBERS)


@dataclass(frozen=True)
class Optimized:
    """A module after the optimiser, with the machine and the effort to emit it with, once."""

    module: llvm.ModuleRef
    machine: llvm.TargetMachine
    how: Effort
    target: Target

    @uses_llvm
    def object(self) -> bytes:
        """Return the module's object file.

        Raises ExportError when LLVM cannot make one of it, for a target it is not known to.
        """
        if not self.target.is_proven:
            from gradc_codegen.machine.apart import try_apart  # few targets need a process

            try_apart(str(self.module), self.target, self.how.generator)
        with self._options():
            try:
                return bytes(self.machine.emit_object(self.module))
            except RuntimeError as error:
                raise ExportError(
                    f"LLVM writes no object file for {self.target.triple} / {self.target.cpu}",
                    found=str(error),
                ) from None

    @property
    @uses_llvm
    def called(self) -> tuple[str, ...]:
        """The functions that the module calls and does not define, in alphabetical order."""
        every = (one.name for one in self.module.functions if one.is_declaration)
        return tuple(sorted(name for name in every if not name.startswith("llvm.")))

    @uses_llvm
    def copied(self) -> Optimized:
        """Return a copy, to emit something else of: what is emitted changes the module."""
        return replace(
            self,
            module=self.module.clone(),
            machine=self.target.machine(self.how.generator),
        )

    @uses_llvm
    def assembly(self) -> str:
        """Return the module's assembly."""
        with self._options():
            return str(self.machine.emit_assembly(self.module))

    def _options(self) -> AbstractContextManager[None]:
        # LLVM 22's peephole pass loses numbers, docs/decisions/0018-peepholes.md
        options = [NO_PEEPHOLES]
        if not self.how.reduce_strength:
            options.append(NO_STRENGTH_REDUCTION)
        how = FAST_SELECTION
        if not self.how.selects_fast:
            how = how._replace(wanted=how.usual)
        return asking(*options, how)


def _without_marks(module: llvm.ModuleRef) -> llvm.ModuleRef:
    """Return a module whose marked functions the code generator looks at like all others."""
    text = _MARKED_ATTRIBUTES.sub(lambda found: found[0].replace(" optnone", ""), str(module))
    return llvm.parse_assembly(text, llvm.create_context())


def _run_few(module: llvm.ModuleRef, machine: llvm.TargetMachine) -> None:
    """Run few passes over each function that a module defines."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(1))
    passes = create_new_function_pass_manager()
    for name in _FEW:
        getattr(passes, f"add_{name}_pass")()
    try:
        for function in module.functions:
            if not function.is_declaration:
                passes.run(function, builder)
    finally:
        NewPassManager._dispose(passes)
        passes.detach()


@uses_llvm
def optimize(module: llvm.ModuleRef, target: Target, how: Effort) -> Optimized:
    """Optimise a module in place; returns it with a fresh machine of the same effort."""
    if how.pipeline == "few":
        _run_few(module, target.machine(how.generator))
    elif how.pipeline is not None:
        options = llvm.create_pipeline_tuning_options(how.pipeline)
        options.loop_vectorization = how.vectorize
        options.slp_vectorization = how.vectorize and _JOINS_NEIGHBOURS
        options.loop_unrolling = how.unroll
        builder = llvm.create_pass_builder(target.machine(how.generator), options)
        passes = builder.getModulePassManager()
        try:
            with asking(SHORT_SEARCH, NO_SUMS):
                passes.run(module, builder)
        finally:
            # llvmlite's class inherits a disposal that does nothing: 30 KiB would stay
            NewPassManager._dispose(passes)
            passes.detach()
    if how.marked:
        module = _without_marks(module)
    return Optimized(module, target.machine(how.generator), how, target)
