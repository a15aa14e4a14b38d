"""The terms of each value of a tangent's graph, from the tangent to the result."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TypeAlias

from gradc.autodiff.terms.reads import Reading, read
from gradc.autodiff.terms.term import Placing, Term, Unsupported, joined
from gradc_ir import build
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.ops.linalg import condition_of, parse_spec

Terms: TypeAlias = Sequence[Term]
Rule: TypeAlias = Callable[["Flow", Node, Sequence[Terms]], Terms]

# So many terms of one value are followed; more are a sign that it is not sparse.
_MOST_TERMS = 1024


class Flow:
    """The values of a linear graph as sums of terms, built in the active builder.

    Parameters
    ----------
    function: linear in one parameter.
    tangent: that one.
    params: what the others are.

    Attributes
    ----------
    work: how many elements the coefficients took that were computed.
    elements: how many the tangent's graph has that depend on the tangent.
    scales: constants that coefficients were multiplied by: their zeros are in no pattern.
    """

    def __init__(self, function: Function, tangent: Value, params: Sequence[Value]) -> None:
        self._function = function
        self._tangent = tangent
        others = [param for param in function.params if param is not tangent]
        self._new = dict(zip(others, params, strict=True))
        self._known: set[Value] = set()
        self.work: Size = 0
        self.elements: Size = 0
        self.scales: list[Value] = []

    def run(self, result: Value) -> Terms:
        """Return the terms of a result.

        Raises Unsupported where there is an op on the way of which none are known.
        """
        function, tangent = self._function, self._tangent
        numbers = build.add(build.iota(DType.I64, tangent.type.count), 1)
        found: dict[Value, Terms] = {
            tangent: [Term(None, build.reshape(numbers, tangent.type.shape))]
        }
        builder = build.active()
        for node in function.body:
            lines = function.locations.get(node, ())
            if not any(operand in found for operand in node.operands):
                if all(operand in self._known for operand in node.operands):
                    self._known.update(node.results)
                builder.copy(node, self._new, lines)
                continue
            terms = [found.get(operand, ()) for operand in node.operands]
            if not any(terms):  # read where nothing was put
                found.update(dict.fromkeys(node.results, ()))
                continue
            rule = _RULES.get(node.op.name)
            if rule is None:
                raise Unsupported(node.op.name)
            with builder.at(lines):
                (value,) = node.results
                made = joined(rule(self, node, terms), value.type.dtype)
            if len(made) > _MOST_TERMS:
                raise Unsupported("many terms")
            self.elements = self.elements + value.type.count
            found[value] = made
        return found.get(result, ())

    def new(self, value: Value) -> Value:
        """Return what a value is in the new graph that does not depend on the tangent."""
        return self._new[value]

    def is_known(self, value: Value) -> bool:
        """Whether a value hangs on constants alone."""
        return value in self._known

    def worked(self, *terms: Term) -> list[Term]:
        """Return terms whose coefficients were just computed, element by element."""
        for term in terms:
            self.work = self.work + term.columns.type.count
        return list(terms)

    def factor(self, value: Value) -> Value:
        """Return in the new graph what is to be multiplied with coefficients."""
        made = self.new(value)
        if self.is_known(value) and scalar_constant(value) is None:
            self.scales.append(made)
        return made

    def scaled(self, terms: Terms, by: Value) -> Terms:
        """Return the terms of a product with an array of the value's shape."""
        number = scalar_constant(by)
        if by.op.name == "div" and len(terms) > 1:
            by = build.fence(by)  # rules would have each coefficient divide anew
        found = []
        for term in terms:
            if number is not None:
                factor = build.full(term.shape, number, by.type.dtype)
            else:
                factor = term.read(by)
            found.append(term.times(factor))
        return self.worked(*found)


def _add(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    return [*terms[0], *terms[1]]


def _sub(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    return [*terms[0], *_negative(node, terms[1])]


def _neg(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    return _negative(node, terms[0])


def _negative(node: Node, terms: Terms) -> Terms:
    dtype = node.results[0].type.dtype
    return [term._replace(factor=build.neg(term.filled(dtype))) for term in terms]


def _mul(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    which = 0 if terms[0] else 1
    if terms[1 - which]:
        raise Unsupported("a product of tangents")
    return flow.scaled(terms[which], flow.factor(node.operands[1 - which]))


def _div(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    if terms[1]:
        raise Unsupported("a quotient by a tangent")
    by = flow.new(node.operands[1])
    return flow.worked(
        *[term.scaled(build.div(term.filled(by.type.dtype), term.read(by))) for term in terms[0]]
    )


def _cast(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    dtype = node.results[0].type.dtype
    if not dtype.is_float:
        raise Unsupported("cast")
    return [
        term if term.factor is None else term._replace(factor=build.cast(term.factor, dtype))
        for term in terms[0]
    ]


def _select(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    condition, *sides = node.operands
    if terms[0]:
        raise Unsupported("select")
    chosen, dtype = flow.new(condition), node.results[0].type.dtype
    found: list[Term] = []
    for side, own in enumerate(terms[1:]):
        if not own and not _is_zero(sides[side]):
            raise Unsupported("select")
        holds = chosen if side == 0 else build.logical_not(chosen) if own else chosen
        for term in own:
            found += _where(flow, term, term.read(holds), flow.is_known(condition), dtype)
    return found


def _where(flow: Flow, term: Term, holds: Value, is_known: bool, dtype: DType) -> list[Term]:
    """Return a term where a condition holds: that tells columns, if it is known before any run."""
    if is_known and term.within is None:
        zero = build.zeros_like(term.columns)
        return [term._replace(columns=build.select(holds, term.columns, zero))]
    if is_known and holds is term.within:
        return [term]
    factor = term.filled(dtype)
    made = term._replace(factor=build.select(holds, factor, build.zeros_like(factor)))
    if is_known and term.within is not None:
        made = made._replace(within=build.logical_and(term.within, holds))
    return flow.worked(made)


def _is_zero(value: Value) -> bool:
    return scalar_constant(value) == 0


# -- what only puts elements somewhere, and what joins them ----------------------------------------


def _placed(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    return [
        term.placed(Placing(node, which, operand.type))
        for which, (operand, own) in enumerate(zip(node.operands, terms))
        for term in own
    ]


def _reduce_sum(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    (operand,) = node.operands
    shape = operand.type.shape
    if any(shape[axis] != 1 for axis in node.attributes["axes"]):
        return _placed(flow, node, terms)
    zeros = build.full(shape, 0, operand.type.dtype)
    gone = build.reshape(zeros, node.results[0].type.shape)
    return [term.placed(Placing(gone.node, 0, operand.type)) for term in terms[0]]


def _set_slice(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    found = []
    if terms[0]:
        base, part = (operand.type for operand in node.operands)
        attributes = node.attributes
        kept = build.set_slice(
            build.full(base.shape, True, DType.BOOL),
            build.full(part.shape, False, DType.BOOL),
            attributes["starts"],
            attributes["steps"],
        )
        for term in terms[0]:
            zero = build.zeros_like(term.columns)
            columns = build.select(term.read(kept), term.columns, zero)
            found.append(term._replace(columns=columns))
    part_type = node.operands[1].type
    return [*found, *(term.placed(Placing(node, 1, part_type)) for term in terms[1])]


def _scatter_add(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    base, part, *rest = terms
    if any(rest):
        raise Unsupported("scatter_add")
    indices = tuple(flow.new(index) for index in node.operands[2:])
    placing = Placing(node, 1, node.operands[1].type, indices)
    return [*base, *(term.placed(placing) for term in part)]


def _scatter_set(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    base, part, *rest = terms
    if any(rest):
        raise Unsupported("scatter_set")
    x, written = (operand.type for operand in node.operands[:2])
    axes = node.attributes["axes"]
    indices = tuple(flow.new(index) for index in node.operands[2:])
    found = []
    if base:
        gone = build.full(written.shape, False, DType.BOOL)
        kept = build.scatter_set(build.full(x.shape, True, DType.BOOL), gone, indices, axes)
        for term in base:
            zero = build.zeros_like(term.columns)
            columns = build.select(term.read(kept), term.columns, zero)
            found.append(term._replace(columns=columns))
    # what is written into one place several times is there as the last one alone
    numbers = build.reshape(build.iota(DType.I64, written.count), written.shape)
    last = build.scatter_set(build.full(x.shape, -1, DType.I64), numbers, indices, axes)
    stays = build.eq(build.gather(last, indices, axes), numbers)
    placing = Placing(node, 1, written, indices)
    for term in part:
        zero = build.zeros_like(term.columns)
        columns = build.select(term.read(stays), term.columns, zero)
        found.append(term._replace(columns=columns).placed(placing))
    return found


def _contract(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    spec = node.attributes["spec"]
    if all(terms) or condition_of(spec) is not None:
        raise Unsupported("contract")
    left, right, result = parse_spec(spec)
    which = 0 if terms[0] else 1
    one, other = node.operands[which], flow.factor(node.operands[1 - which])
    mine, others = (left, right) if which == 0 else (right, left)
    sizes = dict(zip(others, other.type.shape)) | dict(zip(mine, one.type.shape))
    summed = "".join(label for label in others if label not in mine and label not in result)
    if summed:
        kept = "".join(label for label in others if label not in summed)
        other = build.reduce_sum(other, [others.index(label) for label in summed])
        others = kept
    # the labels of the result, then those that are summed over
    every = [*result, *(label for label in mine if label not in result)]
    shape = tuple(sizes[label] for label in every)
    factor = _spread(other, others, every, shape)
    found = []
    for term in terms[which]:
        term = term if every == list(mine) else term.aligned()
        if term.placings:
            found.append(term.times(term.read(factor)))
            continue
        spread = term.moved(functools.partial(_spread, labels=mine, every=every, shape=shape))
        found.append(spread.times(factor))
    if len(every) > len(result):
        products = build.full(shape, 0, one.type.dtype)
        summed_up = build.reduce_sum(products, range(len(result), len(every))).node
        found = [term.placed(Placing(summed_up, 0, products.type)) for term in found]
    # the coefficients of what had none are those of the other operand, which are there
    flow.worked(*[made for made, term in zip(found, terms[which]) if term.factor is not None])
    return found


def _spread(x: Value, labels: Sequence[str], every: list[str], shape: tuple[Size, ...]) -> Value:
    """Return an array with axes of some labels as one with axes of all."""
    order = sorted(range(len(labels)), key=lambda i: every.index(labels[i]))
    axes = tuple(every.index(labels[i]) for i in order)
    return build.broadcast(build.transpose(x, tuple(order)), shape, axes)


# -- what reads elements, perhaps some of them several times ---------------------------------------


def _read(flow: Flow, node: Node, terms: Sequence[Terms]) -> Terms:
    if any(terms[1:]):
        raise Unsupported(node.op.name)
    indices = tuple(flow.new(index) for index in node.operands[1:])
    reading = Reading(node.op.name, node.attributes, indices)
    found = [read(term, reading) for term in terms[0]]
    return [term for term in found if term is not None]


_RULES: dict[str, Rule] = {
    "add": _add,
    "sub": _sub,
    "neg": _neg,
    "mul": _mul,
    "div": _div,
    "cast": _cast,
    "select": _select,
    "set_slice": _set_slice,
    "scatter_add": _scatter_add,
    "scatter_set": _scatter_set,
    "contract": _contract,
    "reduce_sum": _reduce_sum,
    **dict.fromkeys(("reshape", "transpose", "pad", "concatenate", "stack"), _placed),
    **dict.fromkeys(("slice", "broadcast", "element", "gather"), _read),
}
