"""The exact rules: both sides have the same bits for every input; one nan is as good as another."""

from __future__ import annotations

import math

from gradc.rules.engine import exact, procedure, rule
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.op import TABLE
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import peel
from gradc_ir.matching.pattern import Match
from gradc_ir.ranges.knowledge import is_unsigned


def _in_place(m: Match) -> bool:
    """Whether no op of the match stands behind a broadcast: moving it out would repeat its work."""
    shape = m.value.type.shape
    return all(node.results[0].type.shape == shape for node in m.nodes)


def _is_of_itself(m: Match) -> bool:
    """Whether the other summand is of the negated array, too: else that would be there twice."""
    return peel(m["x"])[0].node is m.nodes[-1]


def _is_float(m: Match) -> bool:
    return m.value.type.dtype.is_float


def _is_exact_reciprocal(m: Match) -> bool:
    """Whether the constant divisor is a power of two whose reciprocal is a normal number."""
    number = m.number("c")
    if number is None or not math.isfinite(number) or number == 0:
        return False
    smallest = 2.0**-126 if m.value.type.dtype is DType.F32 else 2.0**-1022
    return (
        abs(math.frexp(number)[0]) == 0.5
        and smallest <= abs(number)
        and smallest <= abs(1 / number)
    )


# -- sums with plus zero, which has no meaning but the sign of a zero -----------------------------

# Functions that see no sign of a zero, nor do their derivatives.
_WITHOUT_SIGNS = (
    "abs", "sign", "exp", "exp2", "cos", "cosh", "arccos", "erfc", "erfcx", "ndtr", "log_ndtr",
    "softplus", "sigmoid", "sigmoid_derivative",
)  # fmt: skip


def _is_no_minus_zero(m: Match) -> bool:
    number = m.number("c")
    return number is not None and (number != 0 or math.copysign(1, number) > 0)


_OF_PLUS_ZERO = [
    *(rule(f"{name.replace('_', '-')}-plus-zero", f"{name}(add(?x:float, 0)) => {name}(?x)", exact,
           "it sees no sign of a zero") for name in _WITHOUT_SIGNS),
    rule("add-plus-zero", "add(add(?x:float, 0), ?c:const) => add(?x, ?c)", exact,
         "a sum with a number that is not -0 is never -0", when=_is_no_minus_zero,
         examples=["add(add(?x:float, 0), 3.5) => add(?x, 3.5)",
                   "add(add(?x:float, 0), 0) => add(?x, 0)"]),
    rule("unsigned-plus-zero", "add(?x:float, 0) => ?x", exact, "what is never -0 stays as it is",
         when=lambda m: is_unsigned(m["x"]),
         examples=["add(exp(?x:float), 0) => exp(?x)", "add(abs(?x:float), 0) => abs(?x)"]),
    rule("square-plus-zero", "mul(add(?x:float, 0), add(?x, 0)) => mul(?x, ?x)", exact,
         "a square has no sign"),
]  # fmt: skip

# -- units and signs -------------------------------------------------------------------------------

ARITHMETIC = [
    rule("mul-one", "mul(?x, 1) => ?x", exact,
         "one is the unit of multiplication, for nan and signed zeros too"),
    rule("div-one", "div(?x, 1) => ?x", exact, "dividing by one changes nothing"),
    rule("add-minus-zero", "add(?x:float, -0.0) => ?x", exact,
         "minus zero, not zero, is the unit of addition"),
    rule("sub-zero", "sub(?x:float, 0) => ?x", exact, "subtracting plus zero keeps -0.0"),
    rule("add-zero-integer", "add(?x:integer, 0) => ?x", exact, "integers have one zero"),
    rule("sub-zero-integer", "sub(?x:integer, 0) => ?x", exact, "integers have one zero"),
    rule("mul-zero-integer", "mul(?x:integer, 0) => 0", exact, "integers have no infinity"),
    rule("sub-self-integer", "sub(?x:integer, ?x) => 0", exact, "integers have no infinity"),
    rule("neg-neg", "neg(neg(?x)) => ?x", exact, "the sign is turned twice"),
    rule("mul-minus-one", "mul(?x, -1) => neg(?x)", exact, "only the sign changes"),
    rule("div-minus-one", "div(?x, -1) => neg(?x)", exact, "only the sign changes"),
    rule("add-neg", "add(?x, neg(?y)) => sub(?x, ?y)", exact,
         "subtraction is addition of the negated number",
         when=lambda m: not _is_of_itself(m)),
    rule("sub-neg", "sub(?x, neg(?y)) => add(?x, ?y)", exact,
         "subtraction is addition of the negated number"),
    rule("sub-constant", "sub(?x, ?c:const) => add(?x, -?c)", exact,
         "sums with constants have one spelling",
         when=lambda m: _is_float(m) and m.number("c") == m.number("c"),
         examples=["sub(?x, 3.5) => add(?x, -3.5)", "sub(?x, -3.5) => add(?x, 3.5)"]),
    rule("mul-neg-neg", "mul(neg(?x), neg(?y)) => mul(?x, ?y)", exact, "the signs cancel"),
    rule("div-neg-neg", "div(neg(?x), neg(?y)) => div(?x, ?y)", exact, "the signs cancel"),
    rule("neg-mul-constant", "neg(mul(?x, ?c:const)) => mul(?x, -?c)", exact,
         "the sign goes into the constant", when=_is_float,
         examples=["neg(mul(?x, 3.5)) => mul(?x, -3.5)"]),
    rule("mul-neg-constant", "mul(neg(?x), ?c:const) => mul(?x, -?c)", exact,
         "the sign goes into the constant", when=_is_float,
         examples=["mul(neg(?x), 3.5) => mul(?x, -3.5)"]),
    rule("neg-div-constant", "neg(div(?c:const, ?x)) => div(-?c, ?x)", exact,
         "the sign goes into the constant", when=_is_float,
         examples=["neg(div(3.5, ?x)) => div(-3.5, ?x)"]),
    rule("div-by-neg-constant", "div(neg(?x), ?c:const) => div(?x, -?c)", exact,
         "the sign goes into the constant",
         examples=["div(neg(?x), 3.5) => div(?x, -3.5)"]),
    rule("neg-div-by-constant", "neg(div(?x, ?c:const)) => div(?x, -?c)", exact,
         "the sign goes into the constant",
         examples=["neg(div(?x, 3.5)) => div(?x, -3.5)"]),
    rule("div-constant-by-neg", "div(?c:const, neg(?x)) => div(-?c, ?x)", exact,
         "the sign goes into the constant",
         examples=["div(3.5, neg(?x)) => div(-3.5, ?x)"]),
    rule("mul-neg", "mul(neg(?x), ?y) => neg(mul(?x, ?y))", exact,
         "signs come out of products, where they meet others",
         when=lambda m: _in_place(m) and not m.is_constant("y")),
    rule("div-neg-left", "div(neg(?x), ?y) => neg(div(?x, ?y))", exact,
         "signs come out of quotients, where they meet others",
         when=lambda m: _in_place(m) and not m.is_constant("y")),
    rule("div-neg-right", "div(?x, neg(?y)) => neg(div(?x, ?y))", exact,
         "signs come out of quotients, where they meet others",
         when=lambda m: _in_place(m) and not m.is_constant("x")),
    rule("add-self", "add(?x, ?x) => mul(?x, 2)", exact, "doubling is exact"),
    rule("div-power-of-two", "div(?x, ?c:const) => mul(?x, 1 / ?c)", exact,
         "a power of two has an exact reciprocal, and a product is cheaper than a quotient",
         when=_is_exact_reciprocal,
         examples=["div(?x, 4) => mul(?x, 0.25)", "div(?x, -0.5) => mul(?x, -2)"]),
    rule("abs-neg", "abs(neg(?x)) => abs(?x)", exact, "abs drops the sign"),
    rule("abs-abs", "abs(abs(?x)) => abs(?x)", exact, "abs has no sign left to drop"),
    rule("abs-square", "abs(mul(?x:float, ?x)) => mul(?x, ?x)", exact, "a square has no sign"),
    rule("floor-floor", "floor(floor(?x)) => floor(?x)", exact, "it is whole already"),
    rule("sign-sign", "sign(sign(?x)) => sign(?x)", exact, "it is a sign already"),
    *_OF_PLUS_ZERO,
]  # fmt: skip

# NumPy's operator ** computes these exponents as products and quotients too.
POWERS = [
    rule("power-zero", "power(?x, 0) => 1", exact, "even nan to the power zero is one"),
    rule("power-one", "power(?x, 1) => ?x", exact, "the first power changes nothing"),
    rule("power-two", "power(?x, 2) => mul(?x, ?x)", exact, "NumPy's x**2 is x*x"),
    rule("power-minus-one", "power(?x:float, -1) => div(1, ?x)", exact,
         "NumPy's x**-1 is the reciprocal"),
    rule("one-power", "power(1, ?x) => 1", exact, "one to any power is one, nan included"),
]  # fmt: skip

# -- choices and logic -----------------------------------------------------------------------------

CHOICES = [
    rule("maximum-self", "maximum(?x, ?x) => ?x", exact, "both are the larger one"),
    rule("minimum-self", "minimum(?x, ?x) => ?x", exact, "both are the smaller one"),
    rule("maximum-lowest", "maximum(?x:float, -inf) => ?x", exact, "nothing is below -inf"),
    rule("minimum-highest", "minimum(?x:float, inf) => ?x", exact, "nothing is above inf"),
    rule("select-same", "select(?p, ?x, ?x) => ?x", exact, "both sides are the same"),
    rule("select-true", "select(true, ?x, ?y) => ?x", exact, "the condition always holds"),
    rule("select-false", "select(false, ?x, ?y) => ?y", exact, "the condition never holds"),
    rule("select-not", "select(logical_not(?p), ?x, ?y) => select(?p, ?y, ?x)", exact,
         "the sides are exchanged instead"),
    rule("select-select-then", "select(?p, select(?p, ?x, ?y), ?z) => select(?p, ?x, ?z)", exact,
         "the condition is known inside"),
    rule("select-select-else", "select(?p, ?x, select(?p, ?y, ?z)) => select(?p, ?x, ?z)", exact,
         "the condition is known inside"),
    rule("select-condition", "select(?p, true, false) => ?p", exact, "it is the condition itself"),
    rule("not-not", "logical_not(logical_not(?p)) => ?p", exact, "negated twice"),
    rule("not-eq", "logical_not(eq(?x, ?y)) => ne(?x, ?y)", exact, "nan differs from all"),
    rule("not-ne", "logical_not(ne(?x, ?y)) => eq(?x, ?y)", exact, "nan equals nothing"),
    rule("and-self", "logical_and(?p, ?p) => ?p", exact, "said twice"),
    rule("or-self", "logical_or(?p, ?p) => ?p", exact, "said twice"),
    rule("and-and", "logical_and(?p, logical_and(?p, ?q)) => logical_and(?p, ?q)", exact,
         "said twice"),
    rule("or-or", "logical_or(?p, logical_or(?p, ?q)) => logical_or(?p, ?q)", exact, "said twice"),
    rule("and-or", "logical_and(?p, logical_or(?p, ?q)) => ?p", exact, "the first decides"),
    rule("or-and", "logical_or(?p, logical_and(?p, ?q)) => ?p", exact, "the first decides"),
    rule("and-not", "logical_and(?p, logical_not(?p)) => false", exact, "not both hold"),
    rule("or-not", "logical_or(?p, logical_not(?p)) => true", exact, "one of them holds"),
    rule("or-of-both", "logical_or(logical_and(?p, ?q), logical_and(logical_not(?p), ?q)) => ?q",
         exact, "the first holds or not"),
    rule("add-selects", "add(select(?p, ?x:float, 0), select(?p, ?y, 0))"
         " => select(?p, add(?x, ?y), 0)", exact, "two zeros sum to zero", when=_in_place),
    rule("select-and-select", "select(logical_and(?p, ?q), select(?p, ?x, ?y), ?z)"
         " => select(logical_and(?p, ?q), ?x, ?z)", exact, "the condition is known inside"),
    rule("xor-self", "logical_xor(?p, ?p) => false", exact, "nothing differs from itself"),
    rule("and-true", "logical_and(?p, true) => ?p", exact, "true is the unit of and"),
    rule("and-false", "logical_and(?p, false) => false", exact, "false decides and"),
    rule("or-false", "logical_or(?p, false) => ?p", exact, "false is the unit of or"),
    rule("or-true", "logical_or(?p, true) => true", exact, "true decides or"),
    rule("xor-false", "logical_xor(?p, false) => ?p", exact, "false is the unit of xor"),
    rule("xor-true", "logical_xor(?p, true) => logical_not(?p)", exact, "one of them is true"),
    rule("stop-stop", "stop_gradient(stop_gradient(?x)) => stop_gradient(?x)", exact,
         "it is a constant to differentiation already"),
]  # fmt: skip

# -- casts, rearrangements, reductions of nothing --------------------------------------------------

# Each dtype with those that hold every value of it exactly.
_WIDER = {
    DType.BOOL: frozenset(DType),
    DType.I32: frozenset((DType.I32, DType.I64, DType.F64)),
    DType.I64: frozenset((DType.I64,)),
    DType.F32: frozenset((DType.F32, DType.F64)),
    DType.F64: frozenset((DType.F64,)),
}

# Functions of one operand but the fences, which stay around what they were put around.
_FUNCTIONS = frozenset(
    name for name, op in TABLE.items() if op.is_elementwise and op.operands == 1 and not op.is_fence
)


@procedure(
    "cast-cast",
    "cast(cast(?x)) => cast(?x)",
    exact,
    "the dtype between holds every value of the first",
    on="cast",
)
def cast_cast(value: Value) -> Value | None:
    """Leave out the inner of two casts when it loses nothing."""
    inner = value.operands[0]
    if inner.op.name != "cast":
        return None
    source = inner.operands[0]
    if inner.type.dtype not in _WIDER[source.type.dtype]:
        return None
    return build.cast(source, value.type.dtype)


@procedure(
    "transpose-transpose",
    "transpose(transpose(?x)) => transpose(?x)",
    exact,
    "two permutations are one",
    on="transpose",
)
def transpose_transpose(value: Value) -> Value | None:
    """Join two transposes."""
    inner = value.operands[0]
    if inner.op.name != "transpose":
        return None
    first, second = inner.node.attributes["permutation"], value.node.attributes["permutation"]
    return build.transpose(inner.operands[0], tuple(first[axis] for axis in second))


@procedure(
    "reshape-reshape",
    "reshape(reshape(?x)) => reshape(?x)",
    exact,
    "the order of the elements is kept throughout",
    on="reshape",
)
def reshape_reshape(value: Value) -> Value | None:
    """Join two reshapes."""
    inner = value.operands[0]
    return build.reshape(inner, value.type.shape) if inner.op.name == "reshape" else None


@procedure(
    "broadcast-broadcast",
    "broadcast(broadcast(?x)) => broadcast(?x)",
    exact,
    "repeating twice is repeating once",
    on="broadcast",
)
def broadcast_broadcast(value: Value) -> Value | None:
    """Join two broadcasts."""
    inner = value.operands[0]
    if inner.op.name != "broadcast":
        return None
    return build.broadcast(inner, value.type.shape, value.node.attributes["axes"])


@procedure(
    "function-of-broadcast",
    "f(broadcast(?x)) => broadcast(f(?x))",
    exact,
    "the function is computed once for each element that is repeated",
    on=" ".join(_FUNCTIONS),
    direct=("broadcast",),
)
def function_of_broadcast(value: Value) -> Value | None:
    """Compute a function of one operand before it is spread."""
    inner = value.operands[0]
    if inner.op.name != "broadcast":
        return None
    made = build.apply(value.op.name, inner.operands[0], **value.node.attributes)
    return build.broadcast(made, value.type.shape, inner.node.attributes["axes"])


@procedure(
    "slice-slice",
    "slice(slice(?x)) => slice(?x)",
    exact,
    "a window of a window is a window",
    on="slice",
)
def slice_slice(value: Value) -> Value | None:
    """Join two slices: element i of the outer is element a + (b + i*t)*s of the whole."""
    inner = value.operands[0]
    if inner.op.name != "slice":
        return None
    first, second = inner.node.attributes, value.node.attributes
    starts = tuple(
        a + b * s for a, b, s in zip(first["starts"], second["starts"], first["steps"], strict=True)
    )
    steps = tuple(s * t for s, t in zip(first["steps"], second["steps"], strict=True))
    return build.slice(inner.operands[0], starts, value.type.shape, steps)


@procedure(
    "slice-pad",
    "slice(pad(?x)) => ?x",
    exact,
    "the window is the one that was filled",
    on="slice",
)
def slice_pad(value: Value) -> Value | None:
    """Drop a pad when exactly the padded window is cut out again."""
    inner = value.operands[0]
    if inner.op.name != "pad" or inner.operands[0].type != value.type:
        return None
    first, second = inner.node.attributes, value.node.attributes
    same = first["starts"] == second["starts"] and first["steps"] == second["steps"]
    return inner.operands[0] if same else None


@procedure(
    "reduce-one",
    "reduce(?x over axes of size 1) => reshape(?x)",
    exact,
    "one element is its own sum, product, maximum and minimum",
    on="reduce_sum reduce_prod reduce_max reduce_min",
)
def reduce_one(value: Value) -> Value | None:
    """Turn a reduction over axes of size 1 into a reshape."""
    source = value.operands[0]
    if any(source.type.shape[axis] != 1 for axis in value.node.attributes["axes"]):
        return None
    return build.reshape(source, value.type.shape)


STRUCTURE = [
    cast_cast,
    transpose_transpose,
    reshape_reshape,
    broadcast_broadcast,
    function_of_broadcast,
    slice_slice,
    slice_pad,
    reduce_one,
]

RULES = [*ARITHMETIC, *POWERS, *CHOICES, *STRUCTURE]
# Behind all other rules: a size that is known must not decide which of those fire, or a call would
# have other bits where its sizes are symbols.
OF_KNOWN_SIZES = [reduce_one]
OF_ANY_SIZES = [one for one in RULES if one not in OF_KNOWN_SIZES]
