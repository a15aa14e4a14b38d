"""Contractions of which only some products count: those where one index is below another one.

Where the other index is that of a loop outside, the loop runs over the indices that count. Anywhere
else a product that does not count is that of -0.0 and 1, which changes no bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.nest.loop_nest import Loop, Statement
from gradc_codegen.scalar.lower_scalar import lower_word, select
from gradc_codegen.text.indices import is_number, varies
from gradc_codegen.text.module import literal
from gradc_codegen.text.writer import Writer
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node
from gradc_ir.core.types import DType
from gradc_ir.ops.linalg import condition_of, contracted, parse_spec


class Range(NamedTuple):
    """The iterations of a loop that count: from the first to the last, exclusive."""

    start: str
    end: str


class _Dims(NamedTuple):
    """A condition: the index of one dim is below that of another one, or equal."""

    small: int
    large: int
    may_be_equal: bool


def has_condition(node: Node) -> bool:
    """Whether only some products of a contraction count."""
    return node.op.name == "contract" and "|" in node.attributes["spec"]


def depends_on(node: Node, dim: int) -> bool:
    """Whether which products of a contraction count depends on the index of a dim."""
    return has_condition(node) and dim in _dims(node)[:2]


def counts(writer: Writer, node: Node, own: Sequence[str]) -> str:
    """Return whether the product at the indices of a contraction's own dims counts, or ``true``."""
    if not has_condition(node):
        return "true"
    condition = _dims(node)
    small, large = own[condition.small], own[condition.large]
    if is_number(small) and is_number(large):
        holds = int(small) < int(large) + condition.may_be_equal
        return "true" if holds else "false"
    small, large = (writer.index_vector(at) if varies(at) else at for at in (small, large))
    return lower_word(writer, "le" if condition.may_be_equal else "lt", DType.I64, [small, large])


def product_of(writer: Writer, node: Node, own: Sequence[str], operands: list[str]) -> str:
    """Return the product at the indices of a contraction's own dims, 0 where it does not count."""
    dtype = node.results[0].type.dtype
    product = lower_word(writer, "mul", dtype, operands)
    holds = counts(writer, node, own)
    return product if holds == "true" else select(writer, dtype, holds, product, literal(0, dtype))


def range_of(writer: Writer, loop: Loop, own: Sequence[str]) -> Range | None:
    """Return the iterations of a loop that count, where that is all there is to its condition.

    Parameters
    ----------
    own: the index of each dim of the loop's only statement; that of the loop is not used.
    """
    found = _alone(loop)
    if found is None:
        return None
    statement, dim = found
    condition = _dims(statement.node)
    other = condition.large if dim == condition.small else condition.small
    if dim not in condition[:2] or varies(own[other]):
        return None
    if statement.dims[dim] != statement.dims[other] or not _is_outside(statement, other, loop):
        return None
    end = writer.size(loop.size)
    # an index is below the loop's size, so nothing has to be cut off
    if dim == condition.small:
        return Range("0", writer.add(own[other], str(int(condition.may_be_equal))))
    return Range(writer.add(own[other], str(int(not condition.may_be_equal))), end)


def _alone(loop: Loop) -> tuple[Statement, int] | None:
    """Return the statement that is all of a loop's body, and has a condition, and its dim."""
    (item, *others) = loop.body
    if others or not isinstance(item, Statement) or not has_condition(item.node):
        return None
    return next((item, dim) for around, dim in item.loops if around is loop)


def _is_outside(statement: Statement, dim: int, loop: Loop) -> bool:
    """Whether a dim of a statement is that of a loop around another loop."""
    loops = [around for around, _ in statement.loops]
    place = next((i for i, (_, own) in enumerate(statement.loops) if own == dim), None)
    return place is not None and place < loops.index(loop)


def _dims(node: Node) -> _Dims:
    spec = node.attributes["spec"]
    condition = condition_of(spec)
    assert condition is not None
    _, _, result = parse_spec(spec)
    labels = result + contracted(spec)
    small, large = labels.index(condition.small), labels.index(condition.large)
    return _Dims(small, large, condition.may_be_equal)
