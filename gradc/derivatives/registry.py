"""The table of derivatives: each op's partials, transpose or pair of rules, or why it has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from gradc.autodiff import masks, zeros
from gradc.autodiff.masks import Cotangent, Partial
from gradc_ir import build
from gradc_ir.errors import NoGradientError
from gradc_ir.graph import Function, Node, Value
from gradc_ir.op import Op

Tangents: TypeAlias = Sequence[Value | None]
Cotangents: TypeAlias = Sequence[Cotangent | None]


class Site(NamedTuple):
    """One node being differentiated: what it is, with its values in the graph being built."""

    op: Op
    results: tuple[Value, ...]
    operands: tuple[Value, ...]
    attributes: Mapping[str, Any]
    wanted: tuple[bool, ...]  # which operands can carry a tangent


ForwardRule: TypeAlias = Callable[[Site, Tangents], Tangents]
ReverseRule: TypeAlias = Callable[[Site, Cotangents], Cotangents]
Rule = TypeVar("Rule", bound=Callable[..., Any])


class Derivative(NamedTuple):
    """How an op is differentiated; ``kind`` is partials, transpose, pair, zero or none."""

    kind: str
    forward: ForwardRule | None = None
    reverse: ReverseRule | None = None
    why: str = ""
    rule: Callable[..., Any] | None = None


TABLE: dict[str, Derivative] = {}


def _enter(op: Op, derivative: Derivative) -> None:
    if op.name in TABLE:
        raise ValueError(f"the derivative of {op.name} is declared twice")
    TABLE[op.name] = derivative


def partials(op: Op) -> Callable[[Rule], Rule]:
    """Declare the partial derivatives of an elementwise op or of a reduction, one per operand.

    The rule takes the result, the operands and the attributes by name. A partial is a value of the
    operand's shape, a number, None for zero, :class:`~gradc.autodiff.masks.Under` where it holds
    under a condition only, or a function without arguments that makes one of these when it is
    needed.
    """

    def declare(rule: Rule) -> Rule:
        def forward(site: Site, tangents: Tangents) -> Tangents:
            total: Cotangent | None = None
            found = rule(site.results[0], *site.operands, **site.attributes)
            for tangent, partial in zip(tangents, found, strict=True):
                if tangent is not None:
                    total = masks.add(total, _product(tangent, partial))
            if total is not None and not op.is_elementwise:
                total = total.summed(site.attributes["axes"])
            return [None if total is None else total.solid()]

        def reverse(site: Site, cotangents: Cotangents) -> Cotangents:
            (cotangent,) = cotangents
            assert cotangent is not None
            if not op.is_elementwise:
                cotangent = cotangent.moved(unreduced(site.operands[0], site.attributes["axes"]))
            found = rule(site.results[0], *site.operands, **site.attributes)
            return [
                cotangent.times(partial) if wanted else None
                for partial, wanted in zip(found, site.wanted, strict=True)
            ]

        _enter(op, Derivative("partials", forward, reverse, rule=rule))
        return rule

    return declare


def _product(tangent: Value, partial: Partial) -> Cotangent | None:
    return Cotangent(tangent).times(partial)


def unreduced(x: Value, axes: Sequence[int]) -> Callable[[Value], Value]:
    """Return the function that repeats a reduced value along the axes of x it was reduced over."""
    kept = tuple(axis for axis in range(x.type.rank) if axis not in axes)
    return lambda value: build.broadcast(value, x.type.shape, kept)


def transpose(op: Op, *, among_zeros: bool = False) -> Callable[[Rule], Rule]:
    """Declare the transpose of a linear op that only rearranges elements, of any dtype.

    The rule takes the cotangent, the operands and the attributes by name, to the operand's
    cotangent, or to a list with one per operand. It is applied to masks too. ``among_zeros``: the
    result has zeros that are no element of the cotangent.
    """

    def declare(rule: Rule) -> Rule:
        def reverse(site: Site, cotangents: Cotangents) -> Cotangents:
            (cotangent,) = cotangents
            assert cotangent is not None
            move = cotangent.spread if among_zeros else cotangent.moved
            if len(site.operands) == 1:
                return [move(lambda value: rule(value, *site.operands, **site.attributes))]
            return [
                move(lambda value, i=i: rule(value, *site.operands, **site.attributes)[i])  # type: ignore[misc]
                if wanted
                else None
                for i, wanted in enumerate(site.wanted)
            ]

        _enter(op, Derivative("transpose", _apply_to_tangents, reverse, rule=rule))
        return rule

    return declare


def masked_transpose(op: Op, *, multilinear: bool = False) -> Callable[[Rule], Rule]:
    """Declare the transpose of a linear op, as a rule on :class:`Cotangent` that knows about masks.

    ``multilinear``: linear in each operand while the others are fixed, not in all together.
    """

    def declare(rule: Rule) -> Rule:
        def reverse(site: Site, cotangents: Cotangents) -> Cotangents:
            (cotangent,) = cotangents
            return rule(cotangent, *site.operands, wanted=site.wanted, **site.attributes)  # type: ignore[no-any-return]

        forward = _apply_to_each_tangent if multilinear else _apply_to_tangents
        _enter(op, Derivative("transpose", forward, reverse, rule=rule))
        return rule

    return declare


def _apply_to_tangents(site: Site, tangents: Tangents) -> Tangents:
    """A linear op is its own forward mode; operands it is not linear in stay as they are."""
    linear = range(len(site.operands)) if site.op.name == "concatenate" else site.op.linear
    operands = list(site.operands)
    for i in linear or (0,):
        operands[i] = zeros.solid(tangents[i], operands[i].type)
    return [build.apply(site.op.name, *operands, **site.attributes)]


def _apply_to_each_tangent(site: Site, tangents: Tangents) -> Tangents:
    total: Value | None = None
    for i, tangent in enumerate(tangents):
        if tangent is not None:
            operands = [*site.operands[:i], tangent, *site.operands[i + 1 :]]
            term = build.apply(site.op.name, *operands, **site.attributes)
            total = term if total is None else build.add(total, term)
    return [total]


def forward_rule(op: Op) -> Callable[[ForwardRule], ForwardRule]:
    """Declare the forward half of a hand-written pair: operands' tangents to results'."""

    def declare(rule: ForwardRule) -> ForwardRule:
        known = TABLE.pop(op.name, Derivative("pair"))
        _enter(op, known._replace(forward=rule))
        return rule

    return declare


def reverse_rule(op: Op) -> Callable[[ReverseRule], ReverseRule]:
    """Declare the reverse half of a hand-written pair: results' cotangents to operands'."""

    def declare(rule: ReverseRule) -> ReverseRule:
        known = TABLE.pop(op.name, Derivative("pair"))
        _enter(op, known._replace(reverse=rule))
        return rule

    return declare


def zero_derivative(*ops: Op, why: str) -> None:
    """Declare that tangents end at these ops: their derivative is zero by meaning or convention."""
    for op in ops:
        _enter(op, Derivative("zero", why=why))


def nondifferentiable(*ops: Op, why: str) -> None:
    """Declare that differentiating through these ops is an error, and why."""
    for op in ops:
        _enter(op, Derivative("none", why=why))


def derivative_of(node: Node, function: Function) -> Derivative:
    """Return the derivative of a node that tangents pass through.

    Raises NoGradientError, with the user's line, when there is none.
    """
    derivative = TABLE[node.op.name]
    if derivative.kind != "none":
        return derivative
    lines = function.locations.get(node, ())
    name = node.op.name
    raise NoGradientError(
        f"{name} has no derivative rule",
        at=lines[0] if lines else None,
        found=f"{name} {derivative.why}",
        help="use gradc.stop_gradient on it for a zero gradient, or register one with "
        "gradc.register_gradient",
    )
