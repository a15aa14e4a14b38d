"""The text of the function that computes formulas whose exponents have no bound.

A value is a significand of magnitude 1/2 to 1 and an exponent; 0, inf and nan have exponent 0. A
significand of magnitude 1 stands for one that is not known, of a number whose exponent is rounded.
"""

from __future__ import annotations

import functools
import math

from gradc_codegen.module import REGISTER, literal, suffix
from gradc_ir.types import DType
from gradc_ir.unbounded import MODERATE

POINTERS = ("program", "constants", "operands", "results", "flags")


@functools.cache
def text(dtype: DType, define: str, name: str) -> str:
    """Return the function's text, of which the first words and the name are given."""
    blanks = {
        **_FORMATS[dtype],
        "DEFINE": define,
        "NAME": name,
        "PARAMETERS": ", ".join(f"ptr %{each}" for each in POINTERS) + ", i64 %lanes",
        "F": suffix(dtype),
        "T": REGISTER[dtype],
        "ZERO": literal(0.0, dtype),
        "ONE": literal(1.0, dtype),
        "INFINITY": literal(math.inf, dtype),
        "NAN": literal(math.nan, dtype),
        "HALF": literal(0.5, dtype),
        "LARGEST": literal(2.0**1000, DType.F64),
        "LEAST": literal(-(2.0**1000), DType.F64),
        "KNOWN": literal(2.0**52, DType.F64),
        "UNKNOWN": literal(-(2.0**52), DType.F64),
        "SMALL": literal(2.0 ** -MODERATE[dtype.bytes], dtype),
        "LARGE": literal(2.0 ** MODERATE[dtype.bytes], dtype),
        "LIFT": literal(2.0 ** int(_FORMATS[dtype]["lift"]), dtype),
        "TINY": literal(2.0 ** -int(_FORMATS[dtype]["far"]), dtype),
    }
    made = _TEXT
    for blank, filling in blanks.items():
        made = made.replace("{" + blank + "}", filling)
    head, body = made.split("\n\n", 1)
    # in double precision an intrinsic is named twice
    return "\n".join([*dict.fromkeys(head.splitlines()), "", body])


# The blanks: T the type, I integers of its size, and the format.
_FORMATS = {
    DType.F64: {"I": "i64", "digits": "52", "ones": "2047", "half": "1022", "bias": "1023",
                "far": "1000", "lift": "64", "WIDE": "add i64 0, %field",
                "NARROW": "add i64 %biased, 0", "LONG": "fadd double 0.0, %y.value",
                "SHORT": "fadd double 0.0, %xe"},
    DType.F32: {"I": "i32", "digits": "23", "ones": "255", "half": "126", "bias": "127",
                "far": "100", "lift": "32", "WIDE": "zext i32 %field to i64",
                "NARROW": "trunc i64 %biased to i32", "LONG": "fpext float %y.value to double",
                "SHORT": "fptrunc double %xe to float"},
}  # fmt: skip

_TEXT = """
declare {T} @llvm.fabs.{F}({T})
declare {T} @llvm.sqrt.{F}({T})
declare {T} @llvm.floor.{F}({T})
declare {T} @llvm.copysign.{F}({T}, {T})
declare double @llvm.fabs.f64(double)
declare double @llvm.floor.f64(double)

define internal i1 @gradc.unknown.{F}({T} %m) {
  %size = call {T} @llvm.fabs.{F}({T} %m)
  %r = fcmp oeq {T} %size, {ONE}
  ret i1 %r
}

define internal void @gradc.put.{F}(ptr %to, {T} %x, double %e, i1 %unknown) {
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
  %more = sitofp i64 %above to double
  %sum = fadd double %e, %more
  %low = fcmp olt double %sum, {LEAST}
  %high = fcmp ogt double %sum, {LARGEST}
  %raised = select i1 %low, double {LEAST}, double %sum
  %limited = select i1 %high, double {LARGEST}, double %raised
  %size = call double @llvm.fabs.f64(double %limited)
  %far = fcmp ogt double %size, {KNOWN}
  %lost = or i1 %far, %unknown
  %one = call {T} @llvm.copysign.{F}({T} {ONE}, {T} %x)
  %inside = select i1 %lost, {T} %one, {T} %significand
  %m = select i1 %kept, {T} %x, {T} %inside
  %n = select i1 %kept, double 0.0, double %limited
  store {T} %m, ptr %to
  %behind = getelementptr inbounds i8, ptr %to, i64 8
  store double %n, ptr %behind
  ret void
}

define internal void @gradc.enter.{F}(ptr %to, {T} %x) {
  %size = call {T} @llvm.fabs.{F}({T} %x)
  %small = fcmp olt {T} %size, {TINY}
  %lifted = fmul {T} %x, {LIFT}
  %y = select i1 %small, {T} %lifted, {T} %x
  %e = select i1 %small, double -{lift}.0, double 0.0
  call void @gradc.put.{F}(ptr %to, {T} %y, double %e, i1 false)
  ret void
}

define internal i64 @gradc.within.{F}(double %x, double %low, double %high) {
  %below = fcmp olt double %x, %low
  %above = fcmp ogt double %x, %high
  %least = select i1 %below, double %low, double %x
  %most = select i1 %above, double %high, double %least
  %r = fptosi double %most to i64
  ret i64 %r
}

define internal {T} @gradc.scaled.{F}({T} %x, double %e, double %low, double %high) {
  %whole = call i64 @gradc.within.{F}(double %e, double %low, double %high)
  %biased = add i64 %whole, {bias}
  %narrow = {NARROW}
  %bits = shl {I} %narrow, {digits}
  %scale = bitcast {I} %bits to {T}
  %r = fmul {T} %x, %scale
  ret {T} %r
}

define internal {T} @gradc.leave.{F}({T} %m, double %e) {
  %once = call {T} @gradc.scaled.{F}({T} %m, double %e, double -{far}.0, double {far}.0)
  %first = call i64 @gradc.within.{F}(double %e, double -{far}.0, double {far}.0)
  %done = sitofp i64 %first to double
  %left = fsub double %e, %done
  %twice = call {T} @gradc.scaled.{F}({T} %once, double %left, double -{far}.0, double {far}.0)
  %unknown = call i1 @gradc.unknown.{F}({T} %m)
  %size = call double @llvm.fabs.f64(double %e)
  %near = fcmp olt double %size, 2000.0
  %hidden = and i1 %unknown, %near
  %r = select i1 %hidden, {T} {NAN}, {T} %twice
  ret {T} %r
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
  %steps.length = mul i64 %steps, 4
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
  %lost = icmp eq i8 %flag, 3
  br label %operand
operand:
  %o = phi i64 [ 0, %enter ], [ %o.next, %operand ]
  %far = phi i1 [ %surely, %enter ], [ %far.next, %operand ]
  %known = phi i1 [ %lost, %enter ], [ %known.next, %operand ]
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
  %known.next = and i1 %known, %o.finite
  %o.next = add i64 %o, 1
  %o.more = icmp ult i64 %o.next, %inputs
  br i1 %o.more, label %operand, label %decide
decide:
  %computed = select i1 %lost, i1 %known.next, i1 %far.next
  br i1 %computed, label %step, label %next
step:
  %s = phi i64 [ 0, %decide ], [ %s.next, %made ]
  %s.row = mul i64 %s, 4
  %s.at = getelementptr inbounds i32, ptr %steps.at, i64 %s.row
  %code = load i32, ptr %s.at
  %x.index.at = getelementptr inbounds i32, ptr %s.at, i64 1
  %y.index.at = getelementptr inbounds i32, ptr %s.at, i64 2
  %z.index.at = getelementptr inbounds i32, ptr %s.at, i64 3
  %x.index = load i32, ptr %x.index.at
  %y.index = load i32, ptr %y.index.at
  %z.index = load i32, ptr %z.index.at
  %x.wide = zext i32 %x.index to i64
  %y.wide = zext i32 %y.index to i64
  %z.wide = zext i32 %z.index to i64
  %x.at = getelementptr inbounds [2 x i64], ptr %values, i64 %x.wide
  %y.at = getelementptr inbounds [2 x i64], ptr %values, i64 %y.wide
  %z.at = getelementptr inbounds [2 x i64], ptr %values, i64 %z.wide
  %x.e.at = getelementptr inbounds i8, ptr %x.at, i64 8
  %y.e.at = getelementptr inbounds i8, ptr %y.at, i64 8
  %xm = load {T}, ptr %x.at
  %ym = load {T}, ptr %y.at
  %xe = load double, ptr %x.e.at
  %ye = load double, ptr %y.e.at
  %x.unknown = call i1 @gradc.unknown.{F}({T} %xm)
  %y.unknown = call i1 @gradc.unknown.{F}({T} %ym)
  %unknown = or i1 %x.unknown, %y.unknown
  switch i32 %code, label %choice [
    i32 0, label %sum
    i32 1, label %difference
    i32 2, label %difference
    i32 3, label %product
    i32 4, label %quotient
    i32 5, label %minus
    i32 6, label %size
    i32 7, label %root
    i32 8, label %equal
    i32 9, label %floor
    i32 10, label %scale
    i32 11, label %exponent
    i32 12, label %significand
  ]
difference:
  %turned = fneg {T} %ym
  br label %sum
sum:
  %zm = phi {T} [ %ym, %step ], [ %turned, %difference ]
  %x.zero = fcmp oeq {T} %xm, {ZERO}
  %y.zero = fcmp oeq {T} %zm, {ZERO}
  %x.larger = fcmp ogt double %xe, %ye
  %larger = select i1 %x.larger, double %xe, double %ye
  %other = select i1 %y.zero, double %xe, double %larger
  %sum.e = select i1 %x.zero, double %ye, double %other
  %x.below = fsub double %xe, %sum.e
  %y.below = fsub double %ye, %sum.e
  %x.aligned = call {T} @gradc.scaled.{F}({T} %xm, double %x.below, double -100.0, double 0.0)
  %y.aligned = call {T} @gradc.scaled.{F}({T} %zm, double %y.below, double -100.0, double 0.0)
  %x.matters = fcmp ogt double %x.below, -100.0
  %y.matters = fcmp ogt double %y.below, -100.0
  %x.hidden = and i1 %x.unknown, %x.matters
  %y.hidden = and i1 %y.unknown, %y.matters
  %sum.unknown = or i1 %x.hidden, %y.hidden
  %sign = fmul {T} %x.aligned, %y.aligned
  %against = fcmp olt {T} %sign, {ZERO}
  %both = and i1 %x.matters, %y.matters
  %both.against = and i1 %both, %against
  %no.sign = and i1 %sum.unknown, %both.against
  %sum.known = fadd {T} %x.aligned, %y.aligned
  %negligible = fcmp olt double %sum.e, {UNKNOWN}
  %nothing = select i1 %negligible, {T} {ZERO}, {T} {NAN}
  %sum.value = select i1 %no.sign, {T} %nothing, {T} %sum.known
  %less = fcmp olt {T} %sum.value, {ZERO}
  %no.truth = fcmp uno {T} %sum.value, {ZERO}
  %decided = select i1 %less, {T} {ONE}, {T} {ZERO}
  %truth = select i1 %no.truth, {T} %sum.value, {T} %decided
  %compared = icmp eq i32 %code, 2
  %different = icmp ne i32 %code, 2
  %sum.u = and i1 %sum.unknown, %different
  %sum.m = select i1 %compared, {T} %truth, {T} %sum.value
  %sum.n = select i1 %compared, double 0.0, double %sum.e
  br label %made
product:
  %product.m = fmul {T} %xm, %ym
  %product.e = fadd double %xe, %ye
  br label %made
quotient:
  %quotient.m = fdiv {T} %xm, %ym
  %quotient.e = fsub double %xe, %ye
  br label %made
minus:
  %minus.m = fneg {T} %xm
  br label %made
size:
  %size.m = call {T} @llvm.fabs.{F}({T} %xm)
  br label %made
root:
  %half.e = fmul double %xe, 0.5
  %root.e = call double @llvm.floor.f64(double %half.e)
  %even = fadd double %root.e, %root.e
  %odd = fsub double %xe, %even
  %doubled = call {T} @gradc.scaled.{F}({T} %xm, double %odd, double 0.0, double 1.0)
  %root.m = call {T} @llvm.sqrt.{F}({T} %doubled)
  br label %made
equal:
  %same.m = fcmp oeq {T} %xm, %ym
  %same.e = fcmp oeq double %xe, %ye
  %same = and i1 %same.m, %same.e
  %equal.m = select i1 %same, {T} {ONE}, {T} {ZERO}
  br label %made
floor:
  %parted = call {T} @gradc.scaled.{F}({T} %xm, double %xe, double 0.0, double 60.0)
  %lower = call {T} @llvm.floor.{F}({T} %parted)
  %is.whole = fcmp ogt double %xe, 60.0
  %floor.m = select i1 %is.whole, {T} %xm, {T} %lower
  %floor.e = select i1 %is.whole, double %xe, double 0.0
  br label %made
scale:
  %y.value = call {T} @gradc.leave.{F}({T} %ym, double %ye)
  %y.double = {LONG}
  %no.scale = fcmp uno {T} %y.value, %y.value
  %scale.m = select i1 %no.scale, {T} %y.value, {T} %xm
  %scale.e = fadd double %xe, %y.double
  br label %made
exponent:
  %exponent.m = {SHORT}
  br label %made
significand:
  %half.m = call {T} @llvm.copysign.{F}({T} {HALF}, {T} %xm)
  %significand.m = select i1 %x.unknown, {T} %half.m, {T} %xm
  br label %made
choice:
  %first = fcmp one {T} %xm, {ZERO}
  %no.choice = fcmp uno {T} %xm, {ZERO}
  %either.at = select i1 %first, ptr %y.at, ptr %z.at
  %chosen.at = select i1 %no.choice, ptr %x.at, ptr %either.at
  %chosen.e.at = getelementptr inbounds i8, ptr %chosen.at, i64 8
  %chosen.m = load {T}, ptr %chosen.at
  %chosen.e = load double, ptr %chosen.e.at
  %chosen.unknown = call i1 @gradc.unknown.{F}({T} %chosen.m)
  br label %made
made:
  %m = phi {T} [ %sum.m, %sum ], [ %product.m, %product ], [ %quotient.m, %quotient ],
    [ %minus.m, %minus ], [ %size.m, %size ], [ %root.m, %root ], [ %equal.m, %equal ],
    [ %floor.m, %floor ], [ %scale.m, %scale ], [ %exponent.m, %exponent ],
    [ %significand.m, %significand ], [ %chosen.m, %choice ]
  %e = phi double [ %sum.n, %sum ], [ %product.e, %product ], [ %quotient.e, %quotient ],
    [ %xe, %minus ], [ %xe, %size ], [ %root.e, %root ], [ 0.0, %equal ],
    [ %floor.e, %floor ], [ %scale.e, %scale ], [ 0.0, %exponent ],
    [ 0.0, %significand ], [ %chosen.e, %choice ]
  %u = phi i1 [ %sum.u, %sum ], [ %unknown, %product ], [ %unknown, %quotient ],
    [ %x.unknown, %minus ], [ %x.unknown, %size ], [ %x.unknown, %root ], [ false, %equal ],
    [ %x.unknown, %floor ], [ %x.unknown, %scale ], [ false, %exponent ],
    [ false, %significand ], [ %chosen.unknown, %choice ]
  %s.place = add i64 %given, %s
  %s.to = getelementptr inbounds [2 x i64], ptr %values, i64 %s.place
  call void @gradc.put.{F}(ptr %s.to, {T} %m, double %e, i1 %u)
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
  %re = load double, ptr %r.e.at
  %r = call {T} @gradc.leave.{F}({T} %rm, double %re)
  %r.row = mul i64 %k, %lanes
  %r.index = add i64 %r.row, %i
  %r.to = getelementptr inbounds {T}, ptr %results, i64 %r.index
  %r.plain = load {T}, ptr %r.to
  %r.size = call {T} @llvm.fabs.{F}({T} %r.plain)
  %r.finite = fcmp one {T} %r.size, {INFINITY}
  %r.stays = and i1 %lost, %r.finite
  %r.new = select i1 %r.stays, {T} %r.plain, {T} %r
  store {T} %r.new, ptr %r.to
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
