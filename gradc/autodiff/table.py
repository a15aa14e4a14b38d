"""The table of derivatives: each op's partials, transpose or pair of rules, or why it has none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

from gradc.autodiff import zeros
from gradc.autodiff.cotangents import masks
from gradc.autodiff.cotangents.mask import Mask
from gradc.autodiff.cotangents.masks import Cotangent
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.facts import Facts
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.op import Attributes, Op
from gradc_ir.core.types import DType
from gradc_ir.errors import NoGradientError

Tangents: TypeAlias = Sequence[Value | None]
Cotangents: TypeAlias = Sequence[Cotangent | None]


class Site(NamedTuple):
    """One node being differentiated: what it is, with its values in the graph being built."""

    op: Op
    results: tuple[Value, ...]
    operands: tuple[Value, ...]
    attributes: Attributes
    wanted: tuple[bool, ...]  # which operands can carry a tangent
    asked: tuple[bool, ...] = ()  # of which results a derivative can be wanted
    kept: Any = None  # what the augmented rule kept for the reverse rule
    in_place: bool = False  # in the body of a loop: to make a new array is dear
    totals: Cotangents = ()  # for an accumulating rule: the operands' cotangents so far


ForwardRule: TypeAlias = Callable[[Site, Tangents], Tangents]  # of plain values
MaskedRule: TypeAlias = Callable[[Site, Cotangents], Cotangents]
ReverseRule: TypeAlias = Callable[[Site, Cotangents], Cotangents]
JointRule: TypeAlias = Callable[[Site, Tangents], tuple[Sequence[Value], Tangents]]
AugmentedRule: TypeAlias = Callable[[Site], tuple[Sequence[Value], Any]]
Rule = TypeVar("Rule", bound=Callable[..., Any])


class Derivative(NamedTuple):
    """How an op is differentiated; ``kind`` is partials, transpose, pair, zero or none."""

    kind: str
    forward: MaskedRule | None = None  # tangents have masks as cotangents do
    reverse: ReverseRule | None = None
    why: str = ""
    rule: Callable[..., Any] | None = None
    refused: Mapping[int, str] = MappingProxyType({})  # operands without a derivative, and why
    joint: JointRule | None = None  # makes the node's results along with their tangents
    augmented: AugmentedRule | None = None  # makes the node's results and keeps what reverse needs
    accumulates: bool = False  # reverse adds to ``site.totals`` itself where there is one


TABLE: Facts[Derivative] = Facts("derivative")


def _enter(op: Op, kind: str, **given: Any) -> None:
    """Enter a derivative, or another part of a pair."""
    known = TABLE.declared(op)
    if known is not None and (
        not known.kind == kind == "pair" or any(getattr(known, part) for part in given)
    ):
        raise ValueError(f"the derivative of {op.name} is declared twice")
    TABLE.declare(op, (known or Derivative(kind))._replace(**given))


def _part_of_pair(op: Op, part: str, **given: Any) -> Callable[[Rule], Rule]:
    def declare(rule: Rule) -> Rule:
        _enter(op, "pair", **{part: rule}, **given)
        return rule

    return declare


def partials(op: Op, refused: Mapping[int, str] = MappingProxyType({})) -> Callable[[Rule], Rule]:
    """Declare the partial derivatives of an elementwise op or of a reduction, one per operand.

    The rule takes the result, the operands and the attributes by name. A partial is a value of the
    operand's shape, a number, None for zero, :class:`~gradc.autodiff.cotangents.masks.Under` where
    it holds under a condition only, or a function without arguments that makes one of these when
    it is needed. ``refused``: operands by which differentiating is an error, and why.
    """

    def declare(rule: Rule) -> Rule:
        def forward(site: Site, tangents: Cotangents) -> Cotangents:
            total: Cotangent | None = None
            _refuse(op, refused, site.wanted)
            found = rule(site.results[0], *site.operands, **site.attributes)
            for tangent, each in zip(tangents, found, strict=True):
                if tangent is not None:
                    total = masks.add(total, tangent.times(each))
            if total is not None and not op.is_elementwise:
                total = total.summed(site.attributes["axes"])
            return [total]

        def reverse(site: Site, cotangents: Cotangents) -> Cotangents:
            (cotangent,) = cotangents
            assert cotangent is not None
            _refuse(op, refused, site.wanted)
            if not op.is_elementwise:
                cotangent = cotangent.moved(unreduced(site.operands[0], site.attributes["axes"]))
            found = rule(site.results[0], *site.operands, **site.attributes)
            return [
                cotangent.times(each) if wanted else None
                for each, wanted in zip(found, site.wanted, strict=True)
            ]

        _enter(op, "partials", forward=forward, reverse=reverse, rule=rule, refused=refused)
        return rule

    return declare


def _refuse(op: Op, refused: Mapping[int, str], wanted: Sequence[bool]) -> None:
    """Raise NoGradientError, with the user's line, for an operand that has no derivative."""
    for position, why in refused.items():
        if wanted[position]:
            here = build.active().here
            raise NoGradientError(
                f"{op.name} has no derivative with respect to its operand {position + 1}",
                at=here[0] if here else None,
                found=f"{op.name} {why}",
                help="use gradc.stop_gradient on it for a zero gradient, or register one with "
                "gradc.register_gradient",
            )


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
            found: dict[Value, list[Value]] = {}

            def part(value: Value, position: int) -> Value:
                # of many operands each takes its own from what is made for all once
                if value not in found:
                    found[value] = rule(value, *site.operands, **site.attributes)
                return found[value][position]

            return [
                move(partial(part, position=position)) if wanted else None
                for position, wanted in enumerate(site.wanted)
            ]

        _enter(op, "transpose", forward=_apply_to_tangents, reverse=reverse, rule=rule)
        return rule

    return declare


def masked_transpose(op: Op, *, sums: bool = False) -> Callable[[Rule], Rule]:
    """Declare the transpose of a linear op, as a rule on :class:`Cotangent` that knows about masks.

    ``sums``: elements of the result are sums of elements, of which no mask is left.

    Of a multilinear op it is that in each operand while the others are fixed.
    """

    def declare(rule: Rule) -> Rule:
        def reverse(site: Site, cotangents: Cotangents) -> Cotangents:
            (cotangent,) = cotangents
            return rule(cotangent, *site.operands, wanted=site.wanted, **site.attributes)  # type: ignore[no-any-return]

        forward = _apply_to_all_but_masks if sums else _apply_to_tangents
        if op.multilinear:
            forward = _apply_to_each_tangent
        _enter(op, "transpose", forward=forward, reverse=reverse, rule=rule)
        return rule

    return declare


def _apply_to_tangents(site: Site, tangents: Cotangents) -> Cotangents:
    """A linear op is its own forward mode; operands it is not linear in stay as they are.

    What moves elements about moves their masks along, and excludes the zeros it puts among them.
    """
    if site.op.family == "reduce":
        return [tangent.summed(site.attributes["axes"]) for tangent in tangents if tangent]
    given = {i: tangents[i] for i in _linear_operands(site)}
    (first, *others) = given.values()
    if first is not None and first.source is not None and not others:
        return [_moved_apart(site, first)]
    values = {
        i: zeros.solid(tangent.value if tangent else None, site.operands[i].type)
        for i, tangent in given.items()
    }
    value = _with_operands(site, values)
    among_zeros = site.op.name == "pad" or None in given.values()
    sources = {i: t.mask for i, t in given.items() if t is not None and t.mask is not None}
    if not sources and not among_zeros:
        return [Cotangent(value)]

    def build_mask(*bits: Value) -> Value:
        if site.op.name == "cast":
            return bits[0]  # a mask is of no dtype but its own
        found = dict(zip(sources, bits))
        for i, tangent in given.items():
            if i not in found:
                shape = site.operands[i].type.shape
                found[i] = build.full(shape, tangent is not None, DType.BOOL)
        return _with_operands(site, found)

    mask = Mask(sources=tuple(sources.values()), build=build_mask)
    clean = all(tangent is None or tangent.clean for tangent in given.values())
    return [Cotangent(value, mask, clean)]


def _moved_apart(site: Site, tangent: Cotangent) -> Cotangent:
    """Return the tangent of what rearranges one operand, its factor still beside its source."""
    (place,) = _linear_operands(site)

    def rearrange(value: Value) -> Value:
        if site.op.name == "cast" and value.type.dtype is DType.BOOL:
            return value  # a mask is of no dtype but its own
        return _with_operands(site, {place: value})

    return tangent.spread(rearrange) if site.op.name == "pad" else tangent.moved(rearrange)


def _apply_to_all_but_masks(site: Site, tangents: Cotangents) -> Cotangents:
    linear = _linear_operands(site)
    solid = masks.filled([tangents[i] for i in linear], [site.operands[i].type for i in linear])
    return [Cotangent(_with_operands(site, dict(zip(linear, solid))))]


def _linear_operands(site: Site) -> Sequence[int]:
    return range(len(site.operands)) if site.op.joins else site.op.linear or (0,)


def _with_operands(site: Site, new: Mapping[int, Value]) -> Value:
    operands = [new.get(i, operand) for i, operand in enumerate(site.operands)]
    return build.apply(site.op.name, *operands, **site.attributes)


def _apply_to_each_tangent(site: Site, tangents: Cotangents) -> Cotangents:
    total: Value | None = None
    for i, tangent in enumerate(tangents):
        if tangent is not None:
            operands = [*site.operands[:i], tangent.solid(), *site.operands[i + 1 :]]
            term = build.apply(site.op.name, *operands, **site.attributes)
            total = term if total is None else build.add(total, term)
    return [None if total is None else Cotangent(total)]


def forward_rule(op: Op) -> Callable[[ForwardRule], ForwardRule]:
    """Declare the forward half of a hand-written pair: operands' tangents to results'."""

    def declare(rule: ForwardRule) -> ForwardRule:
        @masked_forward_rule(op)
        def forward(site: Site, tangents: Cotangents) -> Cotangents:
            return masks.unmasked(rule(site, masks.plain(tangents)))

        return rule

    return declare


def masked_forward_rule(op: Op) -> Callable[[MaskedRule], MaskedRule]:
    """Declare :func:`forward_rule` of tangents that may have masks."""
    return _part_of_pair(op, "forward")


def joint_rule(op: Op) -> Callable[[JointRule], JointRule]:
    """Declare the forward half of a pair that makes the results and their tangents together.

    It takes the place of the node: its site has no results, but says which tangents are asked for.
    """
    return _part_of_pair(op, "joint")


def reverse_rule(op: Op, *, accumulates: bool = False) -> Callable[[ReverseRule], ReverseRule]:
    """Declare the reverse half of a hand-written pair: results' cotangents to operands'.

    ``accumulates``: for operands that have a cotangent in ``site.totals`` the rule returns the sum
    of that and its own, or None to leave it as it is.
    """
    return _part_of_pair(op, "reverse", accumulates=accumulates)


def augmented_rule(op: Op) -> Callable[[AugmentedRule], AugmentedRule]:
    """Declare what takes a node's place when reverse mode will come by.

    The rule returns the node's results and anything that its reverse rule wants to find in
    ``site.kept``. Its site has no results.
    """
    return _part_of_pair(op, "augmented")


def zero_derivative(*ops: Op, why: str) -> None:
    """Declare that tangents end at these ops: their derivative is zero by meaning or convention."""
    for op in ops:
        _enter(op, "zero", why=why)


def nondifferentiable(*ops: Op, why: str) -> None:
    """Declare that differentiating through these ops is an error, and why."""
    for op in ops:
        _enter(op, "none", why=why)


def derivative_of(node: Node, function: Function) -> Derivative:
    """Return the derivative of a node that tangents pass through.

    Raises NoGradientError, with the user's line, when there is none.
    """
    derivative = TABLE[node.op.name]
    if derivative.kind != "none":
        return derivative
    lines = function.locations.get(node, ())
    name = node.attributes.get("symbol", node.op.name)
    raise NoGradientError(
        f"{name} has no derivative rule",
        at=lines[0] if lines else None,
        found=f"{name} {derivative.why}",
        help="use gradc.stop_gradient on it for a zero gradient, or register one with "
        "gradc.register_gradient",
    )
