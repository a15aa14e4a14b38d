"""Hurwitz's zeta function as LLVM text, in the order of operations of Cephes, which SciPy uses.

The Euler-Maclaurin formula: ten terms or more of the sum, the integral of the rest, and twelve
corrections by Bernoulli numbers (S. L. Moshier, *Cephes Mathematical Library*, ``zeta.c``).
"""

from __future__ import annotations

import struct

# (2 k)! / B(2 k)
_DENOMINATORS = (
    12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1.8924375803183791606e9, 7.47242496e10,
    -2.950130727918164224e12, 1.1646782814350067249e14, -4.5979787224074726105e15,
    1.8152105401943546773e17, -7.1661652561756670113e18,
)  # fmt: skip

_POWER = "@gradc.pow.f64"  # the caller sees to it that there is one
_FLOOR, _SIZE = "@llvm.floor.f64", "@llvm.fabs.f64"

DECLARATIONS = (
    f"declare double {_FLOOR}(double)",
    f"declare double {_SIZE}(double)",
)


def _number(value: float) -> str:
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


_INFINITY, _NAN, _HALF_ULP = _number(float("inf")), _number(float("nan")), _number(2.0**-53)

_SUM = f"""
  %diverges = fcmp oeq double %s, 1.0
  br i1 %diverges, label %infinite, label %converges
converges:
  %below = fcmp olt double %s, 1.0
  br i1 %below, label %undefined, label %defined
defined:
  %nonpositive = fcmp ole double %q, 0.0
  br i1 %nonpositive, label %left, label %right
left:
  %q.floor = call double {_FLOOR}(double %q)
  %pole = fcmp oeq double %q, %q.floor
  br i1 %pole, label %infinite, label %between
between:
  %s.floor = call double {_FLOOR}(double %s)
  %whole = fcmp oeq double %s, %s.floor
  br i1 %whole, label %right, label %undefined
infinite:
  br label %done
undefined:
  br label %done
right:
  %less = fsub double %s, 1.0
  %large = fcmp ogt double %q, 1.0e8
  br i1 %large, label %asymptotic, label %start
asymptotic:
  %main = fdiv double 1.0, %less
  %double = fmul double 2.0, %q
  %half = fdiv double 1.0, %double
  %both = fadd double %main, %half
  %exponent = fsub double 1.0, %s
  %scale = call double {_POWER}(double %q, double %exponent)
  %far = fmul double %both, %scale
  br label %done
start:
  %minus = fneg double %s
  %first = call double {_POWER}(double %q, double %minus)
  br label %head
head:
  %sum = phi double [ %first, %start ], [ %sum.next, %more ]
  %place = phi double [ %q, %start ], [ %place.next, %more ]
  %term = phi double [ 0.0, %start ], [ %term.next, %more ]
  %count = phi i64 [ 0, %start ], [ %count.next, %more ]
  %few = icmp slt i64 %count, 9
  %near = fcmp ole double %place, 9.0
  %again = or i1 %few, %near
  br i1 %again, label %loop, label %rest
loop:
  %count.next = add i64 %count, 1
  %place.next = fadd double %place, 1.0
  %term.next = call double {_POWER}(double %place.next, double %minus)
  %sum.next = fadd double %sum, %term.next
  %share = fdiv double %term.next, %sum.next
  %share.size = call double {_SIZE}(double %share)
  %enough = fcmp olt double %share.size, {_HALF_ULP}
  br i1 %enough, label %done, label %more
more:
  br label %head
rest:
  %mass = fmul double %term, %place
  %integral = fdiv double %mass, %less
  %with.integral = fadd double %sum, %integral
  %half.term = fmul double 0.5, %term
  %sum.0 = fsub double %with.integral, %half.term
  br label %correction.0
"""


def _corrections() -> tuple[str, list[str]]:
    """Return the corrections, unrolled, and what each of them gives to the end."""
    lines, ends = [], []
    rising, falling = "1.0", "%term"
    last = len(_DENOMINATORS) - 1
    for i, denominator in enumerate(_DENOMINATORS):
        lines += [
            f"correction.{i}:",
            f"  %factor.{i} = fadd double %s, {2.0 * i}",
            f"  %odd.{i} = fmul double {rising}, %factor.{i}",
            f"  %scaled.{i} = fdiv double {falling}, %place",
            f"  %product.{i} = fmul double %odd.{i}, %scaled.{i}",
            f"  %part.{i} = fdiv double %product.{i}, {_number(denominator)}",
            f"  %sum.{i + 1} = fadd double %sum.{i}, %part.{i}",
            f"  %ratio.{i} = fdiv double %part.{i}, %sum.{i + 1}",
            f"  %size.{i} = call double {_SIZE}(double %ratio.{i})",
            f"  %fine.{i} = fcmp olt double %size.{i}, {_HALF_ULP}",
            f"  %further.{i} = fadd double %s, {2.0 * i + 1.0}",
            f"  %even.{i} = fmul double %odd.{i}, %further.{i}",
            f"  %lower.{i} = fdiv double %scaled.{i}, %place",
            f"  br i1 %fine.{i}, label %done, label %correction.{i + 1}"
            if i < last
            else "  br label %done",
        ]
        ends.append(f"[ %sum.{i + 1}, %correction.{i} ]")
        rising, falling = f"%even.{i}", f"%lower.{i}"
    return "\n".join(lines), ends


def body() -> str:
    """Return the blocks that compute ``%result`` of doubles ``%s`` and ``%q``, without a return."""
    corrections, ends = _corrections()
    ends = [
        f"[ {_INFINITY}, %infinite ]", f"[ {_NAN}, %undefined ]", "[ %far, %asymptotic ]",
        "[ %sum.next, %loop ]", *ends,
    ]  # fmt: skip
    return f"{_SUM.strip(chr(10))}\n{corrections}\ndone:\n  %result = phi double {', '.join(ends)}"
