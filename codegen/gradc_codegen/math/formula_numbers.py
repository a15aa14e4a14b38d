"""The text of functions that take numbers of formulas in and out: significands and exponents.

The blanks are those of the function that calls them.
"""

NUMBERS = """
define internal i1 @gradc.unknown.{F}({T} %m) {
  %size = call {T} @llvm.fabs.{F}({T} %m)
  %r = fcmp oeq {T} %size, {ONE}
  ret i1 %r
}

define internal double @gradc.level.{F}(double %e, double %p) {
  %of.p = fmul double %p, {PER_POWER}
  %r = fadd double %e, %of.p
  ret double %r
}

define internal double @gradc.size.{F}(double %e, double %p, double %q) {
  %level = call double @gradc.level.{F}(double %e, double %p)
  %many = fcmp ogt double %q, 65536.0
  %rank = select i1 %many, double 65536.0, double %q
  %beyond = fmul double %rank, {PER_RANK}
  %signed = call double @llvm.copysign.f64(double %beyond, double %p)
  %is.within = fcmp oeq double %q, 0.0
  %r = select i1 %is.within, double %level, double %signed
  ret double %r
}

define internal i1 @gradc.infinite.{F}({T} %m) {
  %size = call {T} @llvm.fabs.{F}({T} %m)
  %r = fcmp oeq {T} %size, {INFINITY}
  ret i1 %r
}

define internal i1 @gradc.most.{F}(double %p) {
  %size = call double @llvm.fabs.f64(double %p)
  %r = fcmp oeq double %size, {POWERS}
  ret i1 %r
}

define internal {T} @gradc.beside.{F}({T} %m, double %p, double %q) {
  %both.top = fcmp oeq double %q, {TOP}
  %no.power = fcmp oeq double %p, 0.0
  %none = and i1 %both.top, %no.power
  %r = select i1 %none, {T} {NAN}, {T} %m
  ret {T} %r
}

define internal double @gradc.limited.{F}(double %x, double %most) {
  %least = fneg double %most
  %low = fcmp olt double %x, %least
  %high = fcmp ogt double %x, %most
  %raised = select i1 %low, double %least, double %x
  %r = select i1 %high, double %most, double %raised
  ret double %r
}

define internal void @gradc.put.{F}(ptr %to, {T} %x, double %e, double %p, double %q, i1 %unknown) {
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
  %limited = call double @gradc.limited.{F}(double %sum, double {LARGEST})
  %size = call double @llvm.fabs.f64(double %limited)
  %far = fcmp ogt double %size, {KNOWN}
  %p.size = call double @llvm.fabs.f64(double %p)
  %p.infinite = fcmp oeq double %p.size, {INFINITE}
  %rank = select i1 %p.infinite, double {TOP}, double %q
  %is.top = fcmp oeq double %rank, {TOP}
  %is.power = fcmp une double %p, 0.0
  %is.most = and i1 %is.top, %is.power
  %most = call double @llvm.copysign.f64(double {POWERS}, double %p)
  %any.power = select i1 %is.most, double %most, double %p
  %power = call double @gradc.limited.{F}(double %any.power, double {POWERS})
  %beyond = call i1 @gradc.most.{F}(double %power)
  %rounded = or i1 %far, %beyond
  %lost = or i1 %rounded, %unknown
  %one = call {T} @llvm.copysign.{F}({T} {ONE}, {T} %x)
  %inside = select i1 %lost, {T} %one, {T} %significand
  %m = select i1 %kept, {T} %x, {T} %inside
  %n = select i1 %kept, double 0.0, double %limited
  store {T} %m, ptr %to
  %new.p = select i1 %kept, double 0.0, double %power
  %no.power = fcmp oeq double %new.p, 0.0
  %new.q = select i1 %no.power, double 0.0, double %rank
  %behind = getelementptr inbounds i8, ptr %to, i64 8
  store double %n, ptr %behind
  %last = getelementptr inbounds i8, ptr %to, i64 16
  store double %new.p, ptr %last
  %ranked = getelementptr inbounds i8, ptr %to, i64 24
  store double %new.q, ptr %ranked
  ret void
}

define internal void @gradc.enter.{F}(ptr %to, {T} %x) {
  %size = call {T} @llvm.fabs.{F}({T} %x)
  %small = fcmp olt {T} %size, {TINY}
  %lifted = fmul {T} %x, {LIFT}
  %y = select i1 %small, {T} %lifted, {T} %x
  %e = select i1 %small, double -{lift}.0, double 0.0
  call void @gradc.put.{F}(ptr %to, {T} %y, double %e, double 0.0, double 0.0, i1 false)
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

define internal double @gradc.raised.{F}(double %x, double %e) {
  %whole = call i64 @gradc.within.{F}(double %e, double -1000.0, double 1000.0)
  %biased = add i64 %whole, 1023
  %bits = shl i64 %biased, 52
  %scale = bitcast i64 %bits to double
  %r = fmul double %x, %scale
  ret double %r
}

define internal {T} @gradc.leave.{F}({T} %m, double %e.2, double %p, double %q) {
  %e = call double @gradc.size.{F}(double %e.2, double %p, double %q)
  %once = call {T} @gradc.scaled.{F}({T} %m, double %e, double -{far}.0, double {far}.0)
  %first = call i64 @gradc.within.{F}(double %e, double -{far}.0, double {far}.0)
  %done = sitofp i64 %first to double
  %left = fsub double %e, %done
  %twice = call {T} @gradc.scaled.{F}({T} %once, double %left, double -{far}.0, double {far}.0)
  %unknown = call i1 @gradc.unknown.{F}({T} %m)
  %size = call double @llvm.fabs.f64(double %e)
  %near = fcmp olt double %size, 2000.0
  %powered = fcmp une double %p, 0.0
  %no.digit = or i1 %unknown, %powered
  %hidden = and i1 %no.digit, %near
  %r = select i1 %hidden, {T} {NAN}, {T} %twice
  ret {T} %r
}
"""
