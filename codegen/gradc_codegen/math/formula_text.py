"""The text of the function that computes formulas whose exponents have no bound.

A value is a significand of magnitude 1/2 to 1, an exponent of 2 and one of e: a power and a rank,
which is how often 2**1000 is a factor of it. Of 0, inf and nan all are 0. Of size 1 it is unknown.
"""

from __future__ import annotations

import functools
import math
import re

from gradc_codegen.math.formula_numbers import NUMBERS
from gradc_codegen.math.formula_steps import FUNCTIONS, READ, code_of, most_with_two
from gradc_codegen.text.module import REGISTER, literal, suffix
from gradc_ir.core.types import DType
from gradc_ir.wide_exponents.arithmetic import TOP

POINTERS = ("programs", "program", "operands", "results", "flags")


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
        "POWERS": literal(2.0**1002, DType.F64),
        "PER_RANK": literal(2.0**1003, DType.F64),
        "TOP": literal(TOP, DType.F64),
        "KNOWN": literal(2.0**52, DType.F64),
        "INFINITE": literal(math.inf, DType.F64),
        "NOTHING": literal(-(2.0**40), DType.F64),
        "PER_POWER": literal(1 / math.log(2), DType.F64),
        "WITH_TWO": str(most_with_two()),
        "LIFT": literal(2.0 ** int(_FORMATS[dtype]["lift"]), dtype),
        "TINY": literal(2.0 ** -int(_FORMATS[dtype]["far"]), dtype),
    }
    made = _TEXT.replace("{NUMBERS}", f"{FUNCTIONS.strip()}\n\n{NUMBERS.strip()}")
    made = made.replace("{READ}", READ.strip("\n"))
    made = _CODE.sub(lambda match: str(code_of(match[1])), made)
    for blank, filling in blanks.items():
        made = made.replace("{" + blank + "}", filling)
    head, body = made.split("\n\n", 1)
    # in double precision an intrinsic is named twice
    return "\n".join([*dict.fromkeys(head.splitlines()), "", body])


# the number of an op
_CODE = re.compile(r"\{code (\w+)\}")

# The blanks: T the type, I integers of its size, and the format.
_FORMATS = {
    DType.F64: {"I": "i64", "digits": "52", "ones": "2047", "half": "1022", "bias": "1023",
                "far": "1000", "lift": "64", "WIDE": "add i64 0, %field",
                "NARROW": "add i64 %biased, 0", "LONG": "fadd double 0.0, %y.value",
                "SIGNIFICAND": "fadd double 0.0, %xm", "SHORT": "fadd double 0.0, %found.level"},
    DType.F32: {"I": "i32", "digits": "23", "ones": "255", "half": "126", "bias": "127",
                "far": "100", "lift": "32", "WIDE": "zext i32 %field to i64",
                "NARROW": "trunc i64 %biased to i32", "LONG": "fpext float %y.value to double",
                "SIGNIFICAND": "fpext float %xm to double",
                "SHORT": "fptrunc double %found.level to float"},
}  # fmt: skip

_TEXT = """
declare {T} @llvm.fabs.{F}({T})
declare {T} @llvm.sqrt.{F}({T})
declare {T} @llvm.floor.{F}({T})
declare {T} @llvm.copysign.{F}({T}, {T})
declare double @llvm.fabs.f64(double)
declare double @llvm.copysign.f64(double, double)
declare double @llvm.floor.f64(double)

{NUMBERS}

{DEFINE} void @{NAME}({PARAMETERS}) {
entry:
  %cursor = alloca ptr
  %saved = alloca ptr
  store ptr %program, ptr %cursor
  %inputs = call i64 @gradc.number.{F}(ptr %cursor)
  %count = call i64 @gradc.number.{F}(ptr %cursor)
  %outputs = call i64 @gradc.number.{F}(ptr %cursor)
  %steps.at = load ptr, ptr %cursor
  %values = alloca [4 x i64], i64 %count, align 16
  br label %lane
lane:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %flag.at = getelementptr inbounds i8, ptr %flags, i64 %i
  %flag = load i8, ptr %flag.at
  %needed = icmp ne i8 %flag, 0
  br i1 %needed, label %enter, label %next
enter:
  %lost = icmp eq i8 %flag, 3
  store ptr %steps.at, ptr %cursor
  br label %operand
operand:
  %o = phi i64 [ 0, %enter ], [ %o.next, %operand ]
  %known = phi i1 [ true, %enter ], [ %known.next, %operand ]
  %o.where = call i64 @gradc.number.{F}(ptr %cursor)
  %o.row = mul i64 %o.where, %lanes
  %o.place = add i64 %o.row, %i
  %o.from = getelementptr inbounds {T}, ptr %operands, i64 %o.place
  %o.x = load {T}, ptr %o.from
  %o.to = getelementptr inbounds [4 x i64], ptr %values, i64 %o
  call void @gradc.enter.{F}(ptr %o.to, {T} %o.x)
  %o.size = call {T} @llvm.fabs.{F}({T} %o.x)
  %o.finite = fcmp one {T} %o.size, {INFINITY}
  %known.next = and i1 %known, %o.finite
  %o.next = add i64 %o, 1
  %o.more = icmp ult i64 %o.next, %inputs
  br i1 %o.more, label %operand, label %decide
decide:
  %surely = xor i1 %lost, true
  %computed = or i1 %surely, %known.next
  br i1 %computed, label %step, label %next
step:
  %s = phi i64 [ %inputs, %decide ], [ %s.next, %done.step ]
  %s.to = getelementptr inbounds [4 x i64], ptr %values, i64 %s
{READ}
  %x.e.at = getelementptr inbounds i8, ptr %x.at, i64 8
  %y.e.at = getelementptr inbounds i8, ptr %y.at, i64 8
  %x.p.at = getelementptr inbounds i8, ptr %x.at, i64 16
  %y.p.at = getelementptr inbounds i8, ptr %y.at, i64 16
  %x.q.at = getelementptr inbounds i8, ptr %x.at, i64 24
  %y.q.at = getelementptr inbounds i8, ptr %y.at, i64 24
  %xm = load {T}, ptr %x.at
  %ym = load {T}, ptr %y.at
  %xe = load double, ptr %x.e.at
  %ye = load double, ptr %y.e.at
  %xp = load double, ptr %x.p.at
  %yp = load double, ptr %y.p.at
  %xq = load double, ptr %x.q.at
  %yq = load double, ptr %y.q.at
  %x.unknown = call i1 @gradc.unknown.{F}({T} %xm)
  %y.unknown = call i1 @gradc.unknown.{F}({T} %ym)
  %unknown = or i1 %x.unknown, %y.unknown
  %x.size = call double @gradc.size.{F}(double %xe, double %xp, double %xq)
  %one.rank = fcmp oeq double %xq, %yq
  %equal.p = fcmp oeq double %xp, %yp
  %same.p = and i1 %one.rank, %equal.p
  %y.size = call double @gradc.size.{F}(double %ye, double %yp, double %yq)
  switch i32 %code, label %copy [
    i32 {code add}, label %sum
    i32 {code sub}, label %difference
    i32 {code lt}, label %difference
    i32 {code mul}, label %product
    i32 {code div}, label %quotient
    i32 {code neg}, label %minus
    i32 {code abs}, label %size
    i32 {code sqrt}, label %root
    i32 {code eq}, label %equal
    i32 {code floor}, label %floor
    i32 {code scale}, label %scale
    i32 {code exponent}, label %exponent
    i32 {code significand}, label %significand
    i32 {code select}, label %choice
    i32 {code grown}, label %grown
    i32 {code call}, label %call
    i32 {code return}, label %return
    i32 {code number}, label %number
  ]
difference:
  %turned = fneg {T} %ym
  br label %sum
sum:
  %zm = phi {T} [ %ym, %read ], [ %turned, %difference ]
  %x.zero = fcmp oeq {T} %xm, {ZERO}
  %x.level = call double @gradc.level.{F}(double %xe, double %xp)
  %y.level = call double @gradc.level.{F}(double %ye, double %yp)
  %x.ranked = select i1 %one.rank, double %x.level, double %x.size
  %y.ranked = select i1 %one.rank, double %y.level, double %y.size
  %of.x = select i1 %same.p, double %xe, double %x.ranked
  %of.y = select i1 %same.p, double %ye, double %y.ranked
  %not.larger = fcmp ole double %of.x, %of.y
  %y.counts = fcmp une {T} %zm, {ZERO}
  %y.leads = and i1 %not.larger, %y.counts
  %is.y = or i1 %x.zero, %y.leads
  %larger = select i1 %is.y, double %of.y, double %of.x
  %sum.e = select i1 %is.y, double %ye, double %xe
  %sum.p = select i1 %is.y, double %yp, double %xp
  %sum.q = select i1 %is.y, double %yq, double %xq
  %sum.size = select i1 %is.y, double %y.size, double %x.size
  %x.below = fsub double %of.x, %larger
  %y.below = fsub double %of.y, %larger
  %x.aligned = call {T} @gradc.scaled.{F}({T} %xm, double %x.below, double -100.0, double 0.0)
  %y.aligned = call {T} @gradc.scaled.{F}({T} %zm, double %y.below, double -100.0, double 0.0)
  %x.matters = fcmp ogt double %x.below, -100.0
  %y.matters = fcmp ogt double %y.below, -100.0
  %both = and i1 %x.matters, %y.matters
  %x.hidden = and i1 %x.unknown, %x.matters
  %y.hidden = and i1 %y.unknown, %y.matters
  %either.hidden = or i1 %x.hidden, %y.hidden
  %x.counts = fcmp une {T} %xm, {ZERO}
  %both.count = and i1 %x.counts, %y.counts
  %of.two = xor i1 %same.p, true
  %of.two.powers = and i1 %of.two, %both.count
  %between = and i1 %of.two.powers, %both
  %sum.unknown = or i1 %either.hidden, %between
  %sign = fmul {T} %x.aligned, %y.aligned
  %against = fcmp olt {T} %sign, {ZERO}
  %both.against = and i1 %both, %against
  %no.sign = and i1 %sum.unknown, %both.against
  %sum.known = fadd {T} %x.aligned, %y.aligned
  %negligible = fcmp olt double %sum.size, {NOTHING}
  %nothing = select i1 %negligible, {T} {ZERO}, {T} {NAN}
  %sum.value = select i1 %no.sign, {T} %nothing, {T} %sum.known
  %below = fcmp olt {T} %sum.value, {ZERO}
  %less.x = fneg {T} %zm
  %same.x = fcmp oeq {T} %xm, %less.x
  %x.infinite = call i1 @gradc.infinite.{F}({T} %xm)
  %same.infinite = and i1 %same.x, %x.infinite
  %sum.nan = fcmp uno {T} %sum.value, {ZERO}
  %other.number = xor i1 %same.infinite, true
  %no.truth = and i1 %sum.nan, %other.number
  %decided = select i1 %below, {T} {ONE}, {T} {ZERO}
  %truth = select i1 %no.truth, {T} %sum.value, {T} %decided
  %compared = icmp eq i32 %code, {code lt}
  %different = icmp ne i32 %code, {code lt}
  %sum.u = and i1 %sum.unknown, %different
  %sum.m = select i1 %compared, {T} %truth, {T} %sum.value
  %sum.n = select i1 %compared, double 0.0, double %sum.e
  %sum.r = select i1 %compared, double 0.0, double %sum.p
  br label %made
product:
  %product.m = fmul {T} %xm, %ym
  %product.e = fadd double %xe, %ye
  br label %powers
quotient:
  %quotient.m = fdiv {T} %xm, %ym
  %quotient.e = fsub double %xe, %ye
  %minus.p = fneg double %yp
  br label %powers
powers:
  %other.p = phi double [ %yp, %product ], [ %minus.p, %quotient ]
  %factor.m = phi {T} [ %product.m, %product ], [ %quotient.m, %quotient ]
  %factor.e = phi double [ %product.e, %product ], [ %quotient.e, %quotient ]
  %x.above = fcmp ogt double %xq, %yq
  %y.above = fcmp ogt double %yq, %xq
  %factor.q = select i1 %x.above, double %xq, double %yq
  %first.p = select i1 %y.above, double 0.0, double %xp
  %second.p = select i1 %x.above, double 0.0, double %other.p
  %factor.p = fadd double %first.p, %second.p
  %back.x = fsub double %factor.p, %second.p
  %back.y = fsub double %factor.p, %first.p
  %exact.x = fcmp oeq double %back.x, %xp
  %exact.y = fcmp oeq double %back.y, %other.p
  %exact = and i1 %exact.x, %exact.y
  %inexact = xor i1 %exact, true
  %factor.u = or i1 %unknown, %inexact
  %factor.v = call {T} @gradc.beside.{F}({T} %factor.m, double %factor.p, double %factor.q)
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
  %root.p = fmul double %xp, 0.5
  %root.m = call {T} @llvm.sqrt.{F}({T} %doubled)
  br label %made
equal:
  %same.m = fcmp oeq {T} %xm, %ym
  %same.e = fcmp oeq double %xe, %ye
  %same.both = and i1 %same.m, %same.e
  %same = and i1 %same.both, %same.p
  %equal.m = select i1 %same, {T} {ONE}, {T} {ZERO}
  br label %made
floor:
  %parted = call {T} @gradc.scaled.{F}({T} %xm, double %x.size, double 0.0, double 60.0)
  %lower = call {T} @llvm.floor.{F}({T} %parted)
  %is.whole = fcmp ogt double %x.size, 60.0
  %floor.m = select i1 %is.whole, {T} %xm, {T} %lower
  %floor.e = select i1 %is.whole, double %xe, double 0.0
  %floor.p = select i1 %is.whole, double %xp, double 0.0
  br label %made
scale:
  %y.value = call {T} @gradc.leave.{F}({T} %ym, double %ye, double %yp, double %yq)
  %y.double = {LONG}
  %no.scale = fcmp uno {T} %y.value, %y.value
  %scale.m = select i1 %no.scale, {T} %y.value, {T} %xm
  %scale.e = fadd double %xe, %y.double
  br label %made
exponent:
  %no.rank = fcmp oeq double %xq, 0.0
  %of.two.only = select i1 %no.rank, double %xe, double 0.0
  %found.level = call double @gradc.level.{F}(double %of.two.only, double %xp)
  %no.power = call i1 @gradc.most.{F}(double %xp)
  %short.m = {SHORT}
  %exponent.m = select i1 %no.power, {T} {NAN}, {T} %short.m
  %exponent.e = fmul double %xq, 1000.0
  br label %made
significand:
  %half.m = call {T} @llvm.copysign.{F}({T} {HALF}, {T} %xm)
  %significand.m = select i1 %x.unknown, {T} %half.m, {T} %xm
  br label %made
grown:
  %plain.p = fcmp oeq double %xp, 0.0
  %whole.e = fcmp olt double %xe, {KNOWN}
  %plain.e = and i1 %plain.p, %whole.e
  %x.known = xor i1 %x.unknown, true
  %is.known = and i1 %plain.e, %x.known
  %ranks = fdiv double %xe, 1000.0
  %full = call double @llvm.floor.f64(double %ranks)
  %up = fcmp ogt double %full, 0.0
  %ranked = and i1 %up, %is.known
  %grown.q = select i1 %ranked, double %full, double 0.0
  %less = fmul double %grown.q, 1000.0
  %rest.e = fsub double %xe, %less
  %x.double = {SIGNIFICAND}
  %known.p = call double @gradc.raised.{F}(double %x.double, double %rest.e)
  %is.tiny = fcmp olt double %x.size, 0.0
  %infinite = call double @llvm.copysign.f64(double {INFINITE}, double %x.double)
  %no.p = select i1 %is.tiny, double 0.0, double %infinite
  %any.p = select i1 %is.known, double %known.p, double %no.p
  %grown.size = call {T} @llvm.fabs.{F}({T} %xm)
  %is.number = fcmp one {T} %grown.size, {INFINITY}
  %is.below = fcmp olt {T} %xm, {ZERO}
  %grown.exact = select i1 %is.below, {T} {ZERO}, {T} %xm
  %grown.p = select i1 %is.number, double %any.p, double 0.0
  %grown.m = select i1 %is.number, {T} {ONE}, {T} %grown.exact
  br label %made
choice:
  %z.at = call ptr @gradc.place.{F}(ptr %cursor, ptr %values, i64 %s)
  %first.counts = fcmp one {T} %xm, {ZERO}
  %no.choice = fcmp uno {T} %xm, {ZERO}
  %either.at = select i1 %first.counts, ptr %y.at, ptr %z.at
  %chosen.at = select i1 %no.choice, ptr %x.at, ptr %either.at
  br label %copy
number:
  %number.at = load ptr, ptr %cursor
  %number.x = load {T}, ptr %number.at, align 1
  %number.end = getelementptr {T}, ptr %number.at, i64 1
  store ptr %number.end, ptr %cursor
  call void @gradc.enter.{F}(ptr %s.to, {T} %number.x)
  br label %done.step
call:
  %offset = call i64 @gradc.number.{F}(ptr %cursor)
  %back.at = load ptr, ptr %cursor
  store ptr %back.at, ptr %saved
  %function.at = getelementptr i8, ptr %programs, i64 %offset
  store ptr %function.at, ptr %cursor
  br label %copy
return:
  %caller.at = load ptr, ptr %saved
  store ptr %caller.at, ptr %cursor
  br label %copy
copy:
  %copied.at = phi ptr [ %x.at, %read ], [ %chosen.at, %choice ], [ %x.at, %call ],
    [ %x.at, %return ]
  %copied = load <4 x i64>, ptr %copied.at, align 8
  store <4 x i64> %copied, ptr %s.to, align 8
  br label %done.step
made:
  %m = phi {T} [ %sum.m, %sum ], [ %factor.v, %powers ], [ %minus.m, %minus ],
    [ %size.m, %size ], [ %root.m, %root ], [ %equal.m, %equal ], [ %floor.m, %floor ],
    [ %scale.m, %scale ], [ %exponent.m, %exponent ], [ %significand.m, %significand ],
    [ %grown.m, %grown ]
  %e = phi double [ %sum.n, %sum ], [ %factor.e, %powers ], [ %xe, %minus ],
    [ %xe, %size ], [ %root.e, %root ], [ 0.0, %equal ], [ %floor.e, %floor ],
    [ %scale.e, %scale ], [ %exponent.e, %exponent ], [ 0.0, %significand ],
    [ 0.0, %grown ]
  %p = phi double [ %sum.r, %sum ], [ %factor.p, %powers ], [ %xp, %minus ],
    [ %xp, %size ], [ %root.p, %root ], [ 0.0, %equal ], [ %floor.p, %floor ],
    [ %xp, %scale ], [ 0.0, %exponent ], [ 0.0, %significand ],
    [ %grown.p, %grown ]
  %q = phi double [ %sum.q, %sum ], [ %factor.q, %powers ], [ %xq, %minus ],
    [ %xq, %size ], [ %xq, %root ], [ 0.0, %equal ], [ %xq, %floor ],
    [ %xq, %scale ], [ 0.0, %exponent ], [ 0.0, %significand ],
    [ %grown.q, %grown ]
  %u = phi i1 [ %sum.u, %sum ], [ %factor.u, %powers ], [ %x.unknown, %minus ],
    [ %x.unknown, %size ], [ %x.unknown, %root ], [ false, %equal ], [ %x.unknown, %floor ],
    [ %x.unknown, %scale ], [ false, %exponent ], [ false, %significand ],
    [ false, %grown ]
  call void @gradc.put.{F}(ptr %s.to, {T} %m, double %e, double %p, double %q, i1 %u)
  br label %done.step
done.step:
  %s.next = add i64 %s, 1
  %s.more = icmp ult i64 %s.next, %count
  br i1 %s.more, label %step, label %result
result:
  %k = phi i64 [ 0, %done.step ], [ %k.next, %result ]
  %k.place = call i64 @gradc.number.{F}(ptr %cursor)
  %r.at = getelementptr inbounds [4 x i64], ptr %values, i64 %k.place
  %r.e.at = getelementptr inbounds i8, ptr %r.at, i64 8
  %r.p.at = getelementptr inbounds i8, ptr %r.at, i64 16
  %rm = load {T}, ptr %r.at
  %re = load double, ptr %r.e.at
  %rp = load double, ptr %r.p.at
  %r.q.at = getelementptr inbounds i8, ptr %r.at, i64 24
  %rq = load double, ptr %r.q.at
  %r = call {T} @gradc.leave.{F}({T} %rm, double %re, double %rp, double %rq)
  %r.row = mul i64 %k, %lanes
  %r.index = add i64 %r.row, %i
  %r.to = getelementptr inbounds {T}, ptr %results, i64 %r.index
  %r.plain = load {T}, ptr %r.to
  %r.size = call {T} @llvm.fabs.{F}({T} %r.plain)
  %r.finite = fcmp one {T} %r.size, {INFINITY}
  %r.nan = fcmp uno {T} %r, {ZERO}
  %r.known = or i1 %r.finite, %r.nan
  %rm.size = call {T} @llvm.fabs.{F}({T} %rm)
  %r.pole = fcmp oeq {T} %rm.size, {INFINITY}
  %r.plainly = or i1 %r.known, %r.pole
  %r.unasked = and i1 %lost, %r.plainly
  %r.stays = or i1 %r.unasked, %r.nan
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
