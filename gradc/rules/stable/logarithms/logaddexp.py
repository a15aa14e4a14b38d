"""Stable rules that end in logaddexp: the logarithm of a sum of a few exponentials."""

from __future__ import annotations

from itertools import permutations

from gradc.rules.algebra.forms import is_exponential, sum_of_exponentials
from gradc.rules.algebra.parts import operand_of, parts
from gradc.rules.engine import rule, stable
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.graphs.rearrange import rearrange, scalar_constant
from gradc_ir.matching.pattern import Match


def _is_positive_constant(m: Match) -> bool:
    number = m.number("c")
    return number is not None and 0 < number < float("inf")


def _is_sum(m: Match) -> bool:
    return is_exponential(m["s"])


def _is_sum_without_a_number(m: Match) -> bool:
    # a number and an exponential have a rule of their own
    return _is_sum(m) and scalar_constant(m["s"]) is None


def _is_long_sum(m: Match) -> bool:
    return _is_sum(m) and operand_of(m["s"], "exp") is None


def _logarithm(value: Value) -> Value:
    """Return the logarithm of an exponential, or of a sum of such, in which nothing overflows."""
    name, operands = parts(value)
    if name == "exp":
        return operands[0]
    if name == "add":
        for one, other in permutations(operands):
            if scalar_constant(one) == 1:
                return build.softplus(_logarithm(other))
        return build.logaddexp(*map(_logarithm, operands))
    found = sum_of_exponentials(value)
    if found is None or found.is_shifted:
        return build.log(value)
    return rearrange(build.logsumexp(found.exponent, found.axes), found.moves)


def _log_sum(m: Match) -> Value:
    return build.logaddexp(_logarithm(m["s"]), m["y"])


def _softplus_of_sum(m: Match) -> Value:
    return build.softplus(_logarithm(m["s"]))


RULES = [
    rule("log-constant-plus-exp", "log(add(?c:const, exp(?x))) => logaddexp(log(?c), ?x)", stable,
         "exp overflows although the result is about x", when=_is_positive_constant,
         examples=["log(add(2.5, exp(?x))) => logaddexp(log(2.5), ?x)",
                   "log(add(1e-10, exp(?x))) => logaddexp(log(1e-10), ?x)"], loss=10.0),
    rule("log-sum-plus-exp", "log(add(?s, exp(?y))) => logaddexp(log(?s), ?y)", stable,
         "each exponential overflows although the result is about the largest exponent; in the "
         "derivative the exponents are subtracted, which far from the largest one rounds",
         when=_is_sum_without_a_number, build=_log_sum,
         examples=["log(add(exp(?x), exp(?y))) => logaddexp(?x, ?y)",
                   "log(add(add(1, exp(?x)), exp(?y))) => logaddexp(softplus(?x), ?y)",
                   "log(add(add(exp(?z), exp(?x)), exp(?y))) => logaddexp(logaddexp(?x, ?z), ?y)"],
         loss=10.0),
    rule("log1p-sum", "log1p(?s) => softplus(log(?s))", stable,
         "each exponential of a sum may overflow", when=_is_long_sum, build=_softplus_of_sum,
         examples=["log1p(add(exp(?x), exp(?y))) => softplus(logaddexp(?x, ?y))"], loss=10.0),
    rule("x-minus-logaddexp", "sub(?x, logaddexp(?x, ?y)) => neg(softplus(sub(?y, ?x)))", stable,
         "the difference cancels", loss=10.0),
    rule("logaddexp-minus-x", "sub(logaddexp(?x, ?y), ?x) => softplus(sub(?y, ?x))", stable,
         "the difference cancels", loss=10.0),
]  # fmt: skip
