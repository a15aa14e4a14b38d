"""Lays out matrices that are the same in each step of a loop as the steps' products read them.

``W @ h`` is a sum along each row of ``W``. Lanes that run over rows gather what they multiply, and
those along a row end in a sum of themselves; with rows and columns exchanged, neighbours belong to
neighbours of the result. Exchanging them takes as long as a product or two, so a loop gains.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size, symbols
from gradc_ir.core.types import Type
from gradc_ir.ops.linalg import condition_of, contracted, parse_spec, print_spec
from gradc_ir.passes.hoist import HoistInvariants

# Shorter axes fill no vector, and larger matrices are as quickly read from memory as they lie.
_SHORTEST = 4
_MOST_ELEMENTS = 1 << 16
_LOOPS = frozenset({"scan", "while"})


class RelayoutInvariants(HoistInvariants):
    """Changes no bit of any result: each sum has the same terms in the same order.

    Products with several summed axes, or with a condition, stay as they are.
    """

    name = "relayout"
    summary = "lay out matrices that are the same in every step of a loop as products read them"

    def _without_invariants(
        self, body: Function, consts: Sequence[Value], runs: bool
    ) -> tuple[Function, list[Value]]:
        return super()._without_invariants(_relaid(body, len(consts)), consts, runs)

    def _worth_a_const(self, body: Function, count: int, runs: bool) -> list[Value]:
        """Return the matrices to lay out anew for products, and those loops inside read so."""
        consts = set(body.params[:count])
        found = {node.operands[matrix.place] for node, matrix in _matrices(body, count).items()}
        found |= {
            operand
            for node in body.body
            if node.op.name in _LOOPS
            for operand in node.operands
            if operand.op.name == "transpose" and operand.node.operands[0] in consts
        }
        return sorted(found, key=lambda value: value.node.serial)


class _Matrix(NamedTuple):
    """An operand of a product that is the same in every step: where, its labels, those wanted."""

    place: int
    const: Value
    labels: str
    wanted: str


def _relaid(body: Function, count: int) -> Function:
    """Return a body whose products read its consts, the first params, in lanes' order."""
    found = _matrices(body, count)
    if not found:
        return body

    def make(node: Node, operands: Sequence[Value]) -> Sequence[Value]:
        place, const, labels, wanted = found[node]
        *sides, result = parse_spec(node.attributes["spec"])
        sides[place] = wanted
        given = list(operands)
        given[place] = build.transpose(const, tuple(map(labels.index, wanted)))
        return [build.contract(given[0], given[1], print_spec(sides[0], sides[1], result))]

    return rebuilt(body, lambda node: node in found, make)


def _matrices(body: Function, count: int) -> dict[Node, _Matrix]:
    """Return what products had better read laid out anew, or read so already."""
    consts, carried = set(body.params[:count]), _carried(body, count)
    found = ((node, _matrix(node, consts, carried)) for node in body.body)
    return {node: matrix for node, matrix in found if matrix is not None}


def _carried(body: Function, count: int) -> set[str]:
    """Return the symbols in the sizes of what goes from step to step."""
    pairs = zip(body.params[count:], body.results)
    types = [param.type for param, after in pairs if param.type == after.type]
    return {name for type_ in types for name in type_.symbols}


def _matrix(node: Node, consts: set[Value], carried: set[str]) -> _Matrix | None:
    """Return the operand of a product that had better be laid out anew, if there is one.

    Of a size that only the running program knows it is one if its rows belong to what the loop
    carries, as those of a network's weights do: these are small. Those of data belong to samples.
    """
    if node.op.name != "contract" or condition_of(node.attributes["spec"]) is not None:
        return None
    summed = contracted(node.attributes["spec"])
    *sides, result = parse_spec(node.attributes["spec"])
    if len(summed) != 1 or not result:
        return None
    for place, (operand, side) in enumerate(zip(node.operands, sides)):
        const, labels = operand, side
        if operand.op.name == "transpose":
            const = operand.node.operands[0]
            permutation = operand.node.attributes["permutation"]
            labels = "".join(side[permutation.index(axis)] for axis in range(len(side)))
        if const not in consts or labels[-1:] != summed or result[-1] not in labels:
            continue
        wanted = labels.replace(result[-1], "") + result[-1]
        sizes = dict(zip(labels, const.type.shape))
        lengths = [sizes[summed], sizes[result[-1]]]
        if all(map(_is_long, lengths)) and _is_near(const.type, lengths[1], carried):
            return _Matrix(place, const, labels, wanted)
    return None


def _is_long(size: Size) -> bool:
    return not isinstance(size, int) or size >= _SHORTEST


def _is_near(type_: Type, rows: Size, carried: set[str]) -> bool:
    count = type_.count
    if isinstance(count, int):
        return count <= _MOST_ELEMENTS
    return isinstance(rows, int) or carried.issuperset(symbols(rows))
