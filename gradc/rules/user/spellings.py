"""The spellings of a user's left side: every form that code for the same thing is brought to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from gradc.rules.engine import Kind, apply_rules
from gradc.rules.in_force import entries
from gradc.rules.user.expression import text_of
from gradc.rules.verify.meaning import evaluate, graph_functions, sides, variables
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from gradc_ir.matching.choice import Entry
from gradc_ir.passes import Canonicalize


def spellings(equation: str) -> dict[str, bool]:
    """Return the patterns to look for, each with whether it is the negated left side.

    Code is brought to a canonical form before rules see it, and rules work from the inside out. So
    the left side goes through the same: through the canonical form, and through the rules in force,
    once in its operands only and once as a whole. Its numbers are rounded as code in single
    precision has them, too. A difference is also looked for turned around, since a minus in front
    of one becomes a part of it.
    """
    written = equation.partition("=>")[0].strip()
    found = {written: False}
    for dtype in (DType.F64, DType.F32):
        for text, negated in _spelled(equation, dtype):
            found.setdefault(text, negated)
    return found


def _spelled(equation: str, dtype: DType) -> Iterator[tuple[str, bool]]:
    names = list(variables(equation))
    exact, all_of_them = entries(Kind.EXACT), entries(Kind.STABLE, Kind.EXACT)
    with Builder() as builder:
        params = [builder.param(i, Type(dtype)) for i in range(len(names))]

        def normal(values: Sequence[Value], rules: Sequence[Entry]) -> list[Value]:
            function = Canonicalize()(Function("left", params, values))
            made = apply_rules("register", function, rules)
            return list(builder.inline(made, params))

        def text(value: Value) -> str:
            return text_of(Function("left", params, [value]), names)

        namespace = {**_scalar_functions(dtype), **dict(zip(names, params, strict=True))}
        left = evaluate(sides(equation)[0], namespace)
        if not isinstance(left, Value) or left in params:
            return  # refused where the pattern is made
        for rules in ([], exact, all_of_them):
            operands = tuple(normal(left.operands, rules))
            yield text(builder.apply(left.op, operands, left.node.attributes).results[0]), False
        (whole,) = normal([left], exact)
        if whole in params or not whole.op.operands:
            return
        forms = [(whole, False)]
        if whole.op.name in ("add", "sub"):
            left, right = whole.operands
            # numbers stand last in sums
            minus = right - left if whole.op.name == "sub" else -right - left
            forms.append((normal([minus], exact)[0], True))
        for form, negated in forms:
            yield text(form), negated
            if form.op.name == "sub":
                # the exact algebra makes it of this, unless another rule is quicker
                left, right = form.operands
                yield text(left + -right), negated


def _scalar_functions(dtype: DType) -> dict[str, Any]:
    def construct(name: str, *operands: Any) -> Value:
        if not any(isinstance(operand, Value) for operand in operands):
            operands = tuple(build.full((), operand, dtype) for operand in operands)
        return build.elementwise(name, *operands)

    table = graph_functions(dtype, 1)
    return {name: partial(construct, name) for name in table if callable(table[name])}
