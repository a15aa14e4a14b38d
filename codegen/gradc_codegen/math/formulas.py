"""The function that computes formulas whose exponents have no bound, for any formula as data.

It is called where plain arithmetic may over- or underflow, so it is small rather than fast: one
function a dtype, compiled once a process; an exported object has one of its own. A program is i32
numbers: how many operands, constants, steps and results, then of each step a code and two places,
then the places of the results. Operands come first, an array of lanes each, then constants, then
the results of steps. A value is a significand of magnitude 1/2 to 1 and an exponent; 0, inf and nan
have exponent 0.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradc_codegen.module import REGISTER, literal, suffix
from gradc_ir.types import DType
from gradc_ir.unbounded import Formulas

if TYPE_CHECKING:
    from gradc_codegen.jit import Compiled

CODES = {"add": 0, "sub": 1, "mul": 2, "div": 3, "neg": 4, "abs": 5, "sqrt": 6}
# Exponents of numbers that are neither large nor small: some products of them stay in the range.
MODERATE = {DType.F64: 256, DType.F32: 30}
_POINTERS = ("program", "constants", "operands", "results", "flags")
_NAME = re.compile(rb"gradc_formula_f(?:64|32)\b")
_DECLARATION = re.compile(r"^declare void @gradc_formula_f(64|32)\(.*\n", re.MULTILINE)
_DTYPES = {"64": DType.F64, "32": DType.F32}


def name_of(dtype: DType) -> str:
    """Return the symbol of the function for a dtype."""
    return f"gradc_formula_{suffix(dtype)}"


def declaration(dtype: DType) -> str:
    """Return how a module declares the function.

    Its arguments: the program, its constants, the operands, the results (which hold those of plain
    arithmetic), a byte for each lane, how many lanes. A lane is computed whose byte is 2, or is 1
    where an operand is large or small and neither infinite, nan nor zero.
    """
    return f"declare void @{name_of(dtype)}(ptr, ptr, ptr, ptr, ptr, i64)"


def program(formulas: Formulas, operands: int) -> tuple[list[int], list[float]]:
    """Return a program and its constants; powers are made of products, by squaring."""
    steps = formulas.steps
    numbers: dict[float, int] = {}
    for step in steps:
        for each in step.operands[: 1 if step.word == "power" else None]:
            if isinstance(each, float):
                numbers.setdefault(each, len(numbers))
    made: list[int] = []
    places = list(range(operands))
    first = operands + len(numbers)

    def put(word: str, x: int, y: int) -> int:
        made.extend([CODES[word], x, y])
        return first + len(made) // 3 - 1

    for word, given in steps:
        of = [
            places[each] if isinstance(each, int) else operands + numbers.get(each, 0)
            for each in given
        ]
        if word == "power":
            places.append(_power(put, of[0], int(given[1])))
        else:
            places.append(put(word, of[0], of[-1]))
    results = [places[each] for each in formulas.results]
    head = [operands, len(numbers), len(made) // 3, len(results)]
    return [*head, *made, *results], list(numbers)


def _power(put: Callable[[str, int, int], int], base: int, exponent: int) -> int:
    result = None
    while exponent:
        if exponent % 2:
            result = base if result is None else put("mul", result, base)
        exponent //= 2
        if exponent:
            base = put("mul", base, base)
    assert result is not None
    return result


def symbols(code: bytes) -> dict[str, int]:
    """Return the functions that an object file calls, with their addresses in this process."""
    found = {match.decode() for match in _NAME.findall(code)}
    return {name: _compiled(name).address("formula") for name in sorted(found)}


@functools.cache
def _compiled(name: str) -> Compiled:
    from gradc_codegen.jit import compile_module

    return compile_module(text(_DTYPES[name[-2:]], "define", "formula"))


def contained(module: str) -> str:
    """Return the text of a module with the functions that it declares, for an object file."""
    found = [_DTYPES[bits] for bits in _DECLARATION.findall(module)]
    if not found:
        return module
    made = _DECLARATION.sub("", module)
    for dtype in found:
        for line in text(dtype, "define internal", name_of(dtype)).splitlines():
            # an intrinsic is declared once a module
            if not (line.startswith("declare ") and f"{line}\n" in made):
                made += f"{line}\n"
    return made


@functools.cache
def text(dtype: DType, define: str, name: str) -> str:
    """Return the function's text, of which the first words and the name are given."""
    blanks = {
        **_FORMATS[dtype],
        "DEFINE": define,
        "NAME": name,
        "PARAMETERS": ", ".join(f"ptr %{each}" for each in _POINTERS) + ", i64 %lanes",
        "F": suffix(dtype),
        "T": REGISTER[dtype],
        "ZERO": literal(0.0, dtype),
        "INFINITY": literal(math.inf, dtype),
        "SMALL": literal(2.0 ** -MODERATE[dtype], dtype),
        "LARGE": literal(2.0 ** MODERATE[dtype], dtype),
        "LIFT": literal(2.0 ** int(_FORMATS[dtype]["lift"]), dtype),
        "TINY": literal(2.0 ** -int(_FORMATS[dtype]["far"]), dtype),
    }
    made = _TEXT
    for blank, filling in blanks.items():
        made = made.replace("{" + blank + "}", filling)
    return made


# The blanks: T the type, I integers of its size, and the format.
_FORMATS = {
    DType.F64: {"I": "i64", "digits": "52", "ones": "2047", "half": "1022", "bias": "1023",
                "far": "1000", "lift": "64", "WIDE": "add i64 0, %field",
                "NARROW": "add i64 %biased, 0"},
    DType.F32: {"I": "i32", "digits": "23", "ones": "255", "half": "126", "bias": "127",
                "far": "100", "lift": "32", "WIDE": "zext i32 %field to i64",
                "NARROW": "trunc i64 %biased to i32"},
}  # fmt: skip

_TEXT = """
declare {T} @llvm.fabs.{F}({T})
declare {T} @llvm.sqrt.{F}({T})
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)

define internal void @gradc.put.{F}(ptr %to, {T} %x, i64 %e) {
  %bits = bitcast {T} %x to {I}
  %shifted = lshr {I} %bits, {digits}
  %field = and {I} %shifted, {ones}
  %zero = icmp eq {I} %field, 0
  %special = icmp eq {I} %field, {ones}
  %kept = or i1 %zero, %special
  %mask = shl {I} {ones}, {digits}
  %inverse = xor {I} %mask, -1
  %rest = and {I} %bits, %inverse
  %half = shl {I} {half}, {digits}
  %new = or {I} %rest, %half
  %significand = bitcast {I} %new to {T}
  %wide = {WIDE}
  %above = sub i64 %wide, {half}
  %sum = add i64 %e, %above
  %m = select i1 %kept, {T} %x, {T} %significand
  %n = select i1 %kept, i64 0, i64 %sum
  store {T} %m, ptr %to
  %behind = getelementptr inbounds i8, ptr %to, i64 8
  store i64 %n, ptr %behind
  ret void
}

define internal void @gradc.enter.{F}(ptr %to, {T} %x) {
  %size = call {T} @llvm.fabs.{F}({T} %x)
  %small = fcmp olt {T} %size, {TINY}
  %lifted = fmul {T} %x, {LIFT}
  %y = select i1 %small, {T} %lifted, {T} %x
  %e = select i1 %small, i64 -{lift}, i64 0
  call void @gradc.put.{F}(ptr %to, {T} %y, i64 %e)
  ret void
}

define internal {T} @gradc.scaled.{F}({T} %x, i64 %e) {
  %biased = add i64 %e, {bias}
  %narrow = {NARROW}
  %bits = shl {I} %narrow, {digits}
  %scale = bitcast {I} %bits to {T}
  %r = fmul {T} %x, %scale
  ret {T} %r
}

define internal i64 @gradc.within.{F}(i64 %x, i64 %low, i64 %high) {
  %above = call i64 @llvm.smax.i64(i64 %x, i64 %low)
  %r = call i64 @llvm.smin.i64(i64 %above, i64 %high)
  ret i64 %r
}

define internal {T} @gradc.leave.{F}({T} %m, i64 %e) {
  %first = call i64 @gradc.within.{F}(i64 %e, i64 -{far}, i64 {far})
  %left = sub i64 %e, %first
  %second = call i64 @gradc.within.{F}(i64 %left, i64 -{far}, i64 {far})
  %once = call {T} @gradc.scaled.{F}({T} %m, i64 %first)
  %twice = call {T} @gradc.scaled.{F}({T} %once, i64 %second)
  ret {T} %twice
}

{DEFINE} void @{NAME}({PARAMETERS}) {
entry:
  %p1 = getelementptr inbounds i32, ptr %program, i64 1
  %p2 = getelementptr inbounds i32, ptr %program, i64 2
  %p3 = getelementptr inbounds i32, ptr %program, i64 3
  %steps.at = getelementptr inbounds i32, ptr %program, i64 4
  %inputs.32 = load i32, ptr %program
  %numbers.32 = load i32, ptr %p1
  %steps.32 = load i32, ptr %p2
  %outputs.32 = load i32, ptr %p3
  %inputs = zext i32 %inputs.32 to i64
  %numbers = zext i32 %numbers.32 to i64
  %steps = zext i32 %steps.32 to i64
  %outputs = zext i32 %outputs.32 to i64
  %steps.length = mul i64 %steps, 3
  %outputs.at = getelementptr inbounds i32, ptr %steps.at, i64 %steps.length
  %given = add i64 %inputs, %numbers
  %count = add i64 %given, %steps
  %values = alloca [2 x i64], i64 %count, align 16
  %has.numbers = icmp ne i64 %numbers, 0
  br i1 %has.numbers, label %number, label %start
number:
  %c = phi i64 [ 0, %entry ], [ %c.next, %number ]
  %c.from = getelementptr inbounds {T}, ptr %constants, i64 %c
  %c.x = load {T}, ptr %c.from
  %c.place = add i64 %inputs, %c
  %c.to = getelementptr inbounds [2 x i64], ptr %values, i64 %c.place
  call void @gradc.enter.{F}(ptr %c.to, {T} %c.x)
  %c.next = add i64 %c, 1
  %c.more = icmp ult i64 %c.next, %numbers
  br i1 %c.more, label %number, label %start
start:
  br label %lane
lane:
  %i = phi i64 [ 0, %start ], [ %i.next, %next ]
  %flag.at = getelementptr inbounds i8, ptr %flags, i64 %i
  %flag = load i8, ptr %flag.at
  %needed = icmp ne i8 %flag, 0
  br i1 %needed, label %enter, label %next
enter:
  %surely = icmp eq i8 %flag, 2
  br label %operand
operand:
  %o = phi i64 [ 0, %enter ], [ %o.next, %operand ]
  %far = phi i1 [ %surely, %enter ], [ %far.next, %operand ]
  %o.row = mul i64 %o, %lanes
  %o.place = add i64 %o.row, %i
  %o.from = getelementptr inbounds {T}, ptr %operands, i64 %o.place
  %o.x = load {T}, ptr %o.from
  %o.to = getelementptr inbounds [2 x i64], ptr %values, i64 %o
  call void @gradc.enter.{F}(ptr %o.to, {T} %o.x)
  %o.size = call {T} @llvm.fabs.{F}({T} %o.x)
  %o.small = fcmp olt {T} %o.size, {SMALL}
  %o.nonzero = fcmp une {T} %o.size, {ZERO}
  %o.low = and i1 %o.small, %o.nonzero
  %o.large = fcmp ogt {T} %o.size, {LARGE}
  %o.finite = fcmp one {T} %o.size, {INFINITY}
  %o.high = and i1 %o.large, %o.finite
  %o.far = or i1 %o.low, %o.high
  %far.next = or i1 %far, %o.far
  %o.next = add i64 %o, 1
  %o.more = icmp ult i64 %o.next, %inputs
  br i1 %o.more, label %operand, label %decide
decide:
  br i1 %far.next, label %step, label %next
step:
  %s = phi i64 [ 0, %decide ], [ %s.next, %made ]
  %s.row = mul i64 %s, 3
  %s.at = getelementptr inbounds i32, ptr %steps.at, i64 %s.row
  %code = load i32, ptr %s.at
  %x.index.at = getelementptr inbounds i32, ptr %s.at, i64 1
  %y.index.at = getelementptr inbounds i32, ptr %s.at, i64 2
  %x.index = load i32, ptr %x.index.at
  %y.index = load i32, ptr %y.index.at
  %x.wide = zext i32 %x.index to i64
  %y.wide = zext i32 %y.index to i64
  %x.at = getelementptr inbounds [2 x i64], ptr %values, i64 %x.wide
  %y.at = getelementptr inbounds [2 x i64], ptr %values, i64 %y.wide
  %x.e.at = getelementptr inbounds i8, ptr %x.at, i64 8
  %y.e.at = getelementptr inbounds i8, ptr %y.at, i64 8
  %xm = load {T}, ptr %x.at
  %ym = load {T}, ptr %y.at
  %xe = load i64, ptr %x.e.at
  %ye = load i64, ptr %y.e.at
  switch i32 %code, label %root [
    i32 0, label %sum
    i32 1, label %difference
    i32 2, label %product
    i32 3, label %quotient
    i32 4, label %minus
    i32 5, label %size
  ]
difference:
  %turned = fneg {T} %ym
  br label %sum
sum:
  %zm = phi {T} [ %ym, %step ], [ %turned, %difference ]
  %x.zero = fcmp oeq {T} %xm, {ZERO}
  %y.zero = fcmp oeq {T} %zm, {ZERO}
  %larger = call i64 @llvm.smax.i64(i64 %xe, i64 %ye)
  %other = select i1 %y.zero, i64 %xe, i64 %larger
  %sum.e = select i1 %x.zero, i64 %ye, i64 %other
  %x.below = sub i64 %xe, %sum.e
  %x.shift = call i64 @gradc.within.{F}(i64 %x.below, i64 -100, i64 0)
  %y.below = sub i64 %ye, %sum.e
  %y.shift = call i64 @gradc.within.{F}(i64 %y.below, i64 -100, i64 0)
  %x.aligned = call {T} @gradc.scaled.{F}({T} %xm, i64 %x.shift)
  %y.aligned = call {T} @gradc.scaled.{F}({T} %zm, i64 %y.shift)
  %sum.m = fadd {T} %x.aligned, %y.aligned
  br label %made
product:
  %product.m = fmul {T} %xm, %ym
  %product.e = add i64 %xe, %ye
  br label %made
quotient:
  %quotient.m = fdiv {T} %xm, %ym
  %quotient.e = sub i64 %xe, %ye
  br label %made
minus:
  %minus.m = fneg {T} %xm
  br label %made
size:
  %size.m = call {T} @llvm.fabs.{F}({T} %xm)
  br label %made
root:
  %odd = and i64 %xe, 1
  %even = sub i64 %xe, %odd
  %doubled = call {T} @gradc.scaled.{F}({T} %xm, i64 %odd)
  %root.m = call {T} @llvm.sqrt.{F}({T} %doubled)
  %root.e = ashr i64 %even, 1
  br label %made
made:
  %m = phi {T} [ %sum.m, %sum ], [ %product.m, %product ], [ %quotient.m, %quotient ],
    [ %minus.m, %minus ], [ %size.m, %size ], [ %root.m, %root ]
  %e = phi i64 [ %sum.e, %sum ], [ %product.e, %product ], [ %quotient.e, %quotient ],
    [ %xe, %minus ], [ %xe, %size ], [ %root.e, %root ]
  %s.place = add i64 %given, %s
  %s.to = getelementptr inbounds [2 x i64], ptr %values, i64 %s.place
  call void @gradc.put.{F}(ptr %s.to, {T} %m, i64 %e)
  %s.next = add i64 %s, 1
  %s.more = icmp ult i64 %s.next, %steps
  br i1 %s.more, label %step, label %result
result:
  %k = phi i64 [ 0, %made ], [ %k.next, %result ]
  %k.at = getelementptr inbounds i32, ptr %outputs.at, i64 %k
  %k.32 = load i32, ptr %k.at
  %k.place = zext i32 %k.32 to i64
  %r.at = getelementptr inbounds [2 x i64], ptr %values, i64 %k.place
  %r.e.at = getelementptr inbounds i8, ptr %r.at, i64 8
  %rm = load {T}, ptr %r.at
  %re = load i64, ptr %r.e.at
  %r = call {T} @gradc.leave.{F}({T} %rm, i64 %re)
  %r.row = mul i64 %k, %lanes
  %r.index = add i64 %r.row, %i
  %r.to = getelementptr inbounds {T}, ptr %results, i64 %r.index
  store {T} %r, ptr %r.to
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, %outputs
  br i1 %k.more, label %result, label %next
next:
  %i.next = add i64 %i, 1
  %i.more = icmp ult i64 %i.next, %lanes
  br i1 %i.more, label %lane, label %done
done:
  ret void
}
"""
