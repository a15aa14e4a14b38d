"""Terms: what a value that is linear in a tangent is a sum of."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Node, Value
from gradc_ir.core.sizes import Shape, Size
from gradc_ir.core.types import DType, Type


class Unsupported(Exception):
    """Of an op, or of such operands of it, no terms are known."""


class Placing(NamedTuple):
    """One step from the elements of a term to the value's: what puts each somewhere, once.

    Parameters
    ----------
    node: ``reshape``, ``transpose``, ``pad``, ``concatenate``, ``stack``, ``scatter_add``,
        ``scatter_set`` or ``reduce_sum`` of the tangent's graph; its integers are values of the
        graph that is built.
    which: the operand that the term is of.
    type: of that operand.
    indices: of ``scatter_add`` and ``scatter_set``.
    """

    node: Node
    which: int
    type: Type
    indices: tuple[Value, ...] = ()

    @property
    def shape(self) -> Shape:
        """The shape that is placed into."""
        return self.node.results[0].type.shape

    def read(self, x: Value) -> Value:
        """Return of an array of the new shape what stands where the elements come."""
        attributes, shape = self.node.attributes, self.type.shape
        rank = len(shape)
        match self.node.op.name:
            case "reshape":
                return build.reshape(x, shape)
            case "transpose":
                permutation = attributes["permutation"]
                return build.transpose(x, tuple(permutation.index(i) for i in range(rank)))
            case "pad" | "set_slice":
                return build.slice(x, attributes["starts"], shape, attributes["steps"])
            case "concatenate":
                return build.slice(x, self.starts, shape, (1,) * rank)
            case "stack":
                return build.element(x, self._stacked_at())
            case "scatter_add" | "scatter_set":
                return build.gather(x, self.indices, attributes["axes"])
        axes = attributes["axes"]
        kept = tuple(axis for axis in range(rank) if axis not in axes)
        return build.broadcast(x, shape, kept)

    def place(self, x: Value) -> Value:
        """Return an array of the new shape with elements in their places, and zeros elsewhere."""
        attributes, shape = self.node.attributes, self.shape
        match self.node.op.name:
            case "reshape":
                return build.reshape(x, shape)
            case "transpose":
                return build.transpose(x, attributes["permutation"])
            case "pad" | "set_slice":
                return build.pad(x, attributes["starts"], shape, attributes["steps"])
            case "concatenate":
                return build.pad(x, self.starts, shape, (1,) * len(shape))
            case "stack":
                zero = build.zeros_like(x)
                parts = [zero] * len(self.node.operands)
                parts[self.which] = x
                return build.stack(parts, shape, attributes["axes"])
        raise Unsupported(self.node.op.name)  # several elements may come to one place

    @property
    def starts(self) -> Shape:
        """Where the window begins that is placed into."""
        if self.node.op.name != "concatenate":
            found: Shape = self.node.attributes["starts"]
            return found
        axis = self.node.attributes["axis"]
        before = [part.type.shape[axis] for part in self.node.operands[: self.which]]
        start: Size = sum(before, start=0)
        return tuple(start if i == axis else 0 for i in range(self.type.rank))

    @property
    def steps(self) -> tuple[int, ...]:
        """The steps of that window."""
        found: tuple[int, ...] = self.node.attributes.get("steps", (1,) * self.type.rank)
        return found

    def _stacked_at(self) -> tuple[int | None, ...]:
        axes = self.node.attributes["axes"]
        found: list[int | None] = [None] * len(self.shape)
        rest = self.which
        for axis in reversed(axes):
            size = self.shape[axis]
            assert isinstance(size, int)  # so many operands there are
            rest, found[axis] = divmod(rest, size)
        return tuple(found)


class Term(NamedTuple):
    """Products of coefficients and elements of the tangent, each at a place of a value.

    Parameters
    ----------
    factor: the coefficients, None where all are 1.
    columns: of each the element of the tangent, counted from 1; 0 where there is none. i64.
    placings: how its elements come into the value; none where it has one for each of the value's.
    within: which of them count; None for all.
    is_clean: whether the coefficients are zero where they do not count.
    """

    factor: Value | None
    columns: Value
    placings: tuple[Placing, ...] = ()
    within: Value | None = None
    is_clean: bool = True

    @property
    def shape(self) -> Shape:
        """The shape of its elements."""
        return self.columns.type.shape

    def read(self, x: Value) -> Value:
        """Return of an array of the value's shape what stands at each of the term's elements."""
        return functools.reduce(lambda found, placing: placing.read(found), self.placings[::-1], x)

    def placed(self, placing: Placing) -> Term:
        """Return the term of what an op makes that only puts elements somewhere.

        Rearrangements are done at once where nothing was placed before: so terms that came by
        different ways meet.
        """
        if not self.placings and placing.node.op.name in ("reshape", "transpose"):
            return self._moved(placing.place)
        if not self.placings and self._undoes(placing):
            # elements of a window come back to where they are in the whole
            kept = build.full(self.shape, True, DType.BOOL) if self.within is None else self.within
            factor = placing.place(self.filled(placing.type.dtype))
            return Term(factor, self.columns.operands[0], (), placing.place(kept), self.is_clean)
        return self._replace(placings=(*self.placings, placing))

    def aligned(self) -> Term:
        """Return the same with an element for each one of the value.

        Raises Unsupported where several elements of the term are of one of the value.
        """
        found = self._replace(placings=())
        for placing in self.placings:
            found = found._moved(placing.place)
        return found

    def moved(self, move: Callable[[Value], Value]) -> Term:
        """Return the term of what reads a value that this one is aligned with."""
        return self.aligned()._moved(move)

    def _moved(self, move: Callable[[Value], Value]) -> Term:
        factor = None if self.factor is None else move(self.factor)
        within = None if self.within is None else move(self.within)
        return Term(factor, move(self.columns), (), within, self.is_clean)

    def times(self, factor: Value) -> Term:
        """Return the term with its coefficients multiplied by an array of its own shape."""
        whole = factor if self.factor is None else build.mul(self.factor, factor)
        return self.scaled(whole)

    def scaled(self, factor: Value) -> Term:
        """Return the term with other coefficients, which were made of its own."""
        return self._replace(factor=factor, is_clean=self.within is None)

    def _undoes(self, placing: Placing) -> bool:
        """Whether elements are put where they were read: into a window of what it is one of."""
        slice_, pad = self.columns.node, placing.node
        if slice_.op.name != "slice" or pad.op.name != "pad":
            return False
        if slice_.operands[0].type.shape != placing.shape:
            return False
        return all(slice_.attributes[name] == pad.attributes[name] for name in ("starts", "steps"))

    def counted(self) -> Value:
        """Return the columns, 0 where elements do not count."""
        if self.within is None:
            return self.columns
        return build.select(self.within, self.columns, build.zeros_like(self.columns))

    def filled(self, dtype: DType) -> Value:
        """Return its coefficients as an array."""
        return build.full(self.shape, 1, dtype) if self.factor is None else self.factor


def joined(terms: Sequence[Term], dtype: DType) -> list[Term]:
    """Return terms of one value, those of the same elements and places added up.

    Where some of their elements do not count, coefficients must be zero there.
    """
    found: dict[tuple[Value, tuple[Placing, ...]], list[Term]] = {}
    for term in terms:
        alike = found.setdefault((term.columns, term.placings), [])
        for i, have in enumerate(alike):
            if have.is_clean and term.is_clean:
                alike[i] = _sum(have, term, dtype)
                break
        else:
            alike.append(term)
    return [term for alike in found.values() for term in alike]


def _sum(one: Term, other: Term, dtype: DType) -> Term:
    within = None
    if one.within is not None and other.within is not None:
        within = build.logical_or(one.within, other.within)
    return one._replace(factor=build.add(one.filled(dtype), other.filled(dtype)), within=within)
