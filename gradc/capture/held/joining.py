"""Two ways a branch may go, joined: what is the same stays, all else is chosen at run time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from gradc.capture.held.chosen import Copies
from gradc.capture.held.heap import is_absent
from gradc.capture.held.leaves import common_type, same_leaf, type_of
from gradc.capture.held.nests import LEAF, Nest, rebuilt, take_apart, told_apart
from gradc.capture.held.recording import Recording
from gradc.control.leaf_types import LeafType
from gradc.tracing import Tracer
from gradc.tracing.core.tracer import MAY_BE, make_view, root
from gradc.tracing.core.views import Returned
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.types import Type

Make = Callable[[Sequence[Tracer]], Any]

_ONE_KIND = (
    "only numbers and arrays are chosen while the function runs: let it be one, of one shape and "
    "dtype, in every case, or do in the branch what is done by it"
)


class Unlike(Exception):
    """Two values that no one value can stand for.

    Parameters
    ----------
    why: what they are.
    cure: what to do for a variable that would be one of them; None for what always helps.
    """

    def __init__(self, why: str, cure: str | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.cure = cure


@dataclass
class Joining:
    """The leaves in which two sides of a branch differ.

    Parameters
    ----------
    sides: the recordings of both; None for one in which nothing is recorded.
    pairs: the leaf of each side.
    leaf_types: what both are cast to.
    copies: what was made anew for what may have other names.
    """

    sides: tuple[Recording, Recording]
    pairs: list[tuple[Any, Any]] = field(default_factory=list)
    leaf_types: list[LeafType] = field(default_factory=list)
    copies: Copies = field(default_factory=Copies)

    def join(self, left: Any, right: Any, *, placeholder: bool = False) -> Make:
        """Return what makes the joined value of those of both sides.

        Parameters
        ----------
        placeholder: whether the value does not matter on a side that has none.

        Raises Unlike where there is none.
        """
        if left is right:
            return lambda results: left
        if placeholder and (is_absent(left) or is_absent(right)):
            return self._filled(left, right)
        nest, leaves = take_apart(left)
        other, others = take_apart(right)
        if nest != other:
            one, second = told_apart(nest, other)
            raise Unlike(f"it is {one} in one case and {second} in the other", _ONE_KIND)
        return self._nested(nest, list(zip(leaves, others)), (left, right))

    def pair(self, left: Any, right: Any, leaf_type: LeafType) -> int:
        """Return the position of the result for a leaf of each side."""
        self.pairs.append((left, right))
        self.leaf_types.append(leaf_type)
        return len(self.pairs) - 1

    def _nested(self, nest: Nest, pairs: Sequence[tuple[Any, Any]], sides: tuple[Any, Any]) -> Make:
        before = len(self.pairs)
        try:
            leaves = [self._leaf(left, right) for left, right in pairs]
        except Unlike:
            del self.pairs[before:], self.leaf_types[before:]
            raise
        return leaves[0] if nest == LEAF else self._rebuilt(nest, leaves, sides)

    def _rebuilt(self, nest: Nest, leaves: Sequence[Make], sides: Sequence[Any]) -> Make:
        """Return what makes a value of a nest that stands for one of each side."""

        def make(results: Sequence[Tracer]) -> Any:
            made = rebuilt(nest, [leaf(results) for leaf in leaves])
            self.copies.note(sides, made)
            return made

        return make

    def _leaf(self, left: Any, right: Any) -> Make:
        if same_leaf(left, right):
            return lambda results: left
        kinds = type_of(left), type_of(right)
        leaf_type = common_type(*kinds)
        if leaf_type is None:
            one, other = map(str, kinds)
            if one == other:
                one, other = repr(left), repr(right)
            raise Unlike(f"it is {one} in one case and {other} in the other", _ONE_KIND)
        position = self.pair(left, right, leaf_type)
        return lambda results: self._aliased(position, results)

    def _filled(self, left: Any, right: Any) -> Make:
        """Return the value of the side that has one, with anything in place of it on the other."""
        value = right if is_absent(left) else left
        if is_absent(value):
            return lambda results: value
        nest, leaves = take_apart(value)
        makes: list[Make] = []
        for leaf in leaves:
            if not isinstance(leaf, Tracer):
                makes.append(_always(leaf))
                continue
            blank = Blank(type_of(leaf))
            first, second = (blank, leaf) if is_absent(left) else (leaf, blank)
            makes.append(_at(self.pair(first, second, blank.leaf_type)))
        return self._rebuilt(nest, makes, (left, right))

    def _aliased(self, position: int, results: Sequence[Tracer]) -> Tracer:
        """Return a result that keeps the memory it may share with another array out of reach."""
        columns = [list(column)[: position + 1] for column in zip(*self.pairs)]
        shared = [
            one
            for side, column in zip(self.sides, columns)
            for one in _sharing(side, column, results)
        ]
        return _apart(results[position], shared)


def own_memory(side: Recording, leaves: Sequence[Any], results: Sequence[Tracer]) -> list[Tracer]:
    """Return results of a recording's leaves that keep the memory they may share out of reach."""
    found: list[Tracer] = []
    for position, result in enumerate(results):
        found.append(_apart(result, _sharing(side, leaves[: position + 1], [*found, result])))
    return found


def _sharing(side: Recording, leaves: Sequence[Any], results: Sequence[Tracer]) -> list[Tracer]:
    """Return the arrays around, or results, that the last of a recording's leaves is a part of."""
    leaf = leaves[-1]
    if not isinstance(leaf, Tracer) or results[len(leaves) - 1].scalar:
        return []
    base = root(leaf)
    if not side.is_own(base):
        return [base]
    return [
        results[position]
        for position, other in enumerate(leaves[:-1])
        if isinstance(other, Tracer) and root(other) is base
    ]


def _apart(found: Tracer, shared: Sequence[Tracer]) -> Tracer:
    distinct = list({id(one): one for one in shared}.values())
    if not distinct:
        return found
    value = found._value
    assert value is not None
    if len(distinct) > 1:
        for one in (*distinct, found):
            one._why_fixed = MAY_BE
        return found
    return make_view(distinct[0], Returned(value), value.type.shape)


@dataclass(frozen=True)
class Blank:
    """A leaf that does not matter."""

    leaf_type: LeafType

    @property
    def type(self) -> Type:
        """Its type."""
        return self.leaf_type.type


def _always(value: Any) -> Make:
    return lambda results: value


def _at(position: int) -> Make:
    return lambda results: results[position]
