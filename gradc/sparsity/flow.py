"""How a relation to the inputs flows through a graph, from the parameters to the results."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias

from gradc.sparsity.known import Known
from gradc.sparsity.relation import Relation, everywhere, identity, stacked, union
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Array
from gradc_ir.errors import GradcError
from gradc_ir.interpreter import tape
from gradc_ir.interpreter.interpret import numbers

Relations: TypeAlias = Sequence[Relation | None]
Given: TypeAlias = Mapping[int, Callable[[], Array]]
# Takes the relations of a node's operands, None where nothing depends on an input, to its results'.
Rule: TypeAlias = Callable[["Flow", Node, Relations], Relations]

# What is known of ops by name; an op that is not in here is known by its family, or is dense.
RULES: dict[str, Rule] = {}


class Flow:
    """Relations of the values of one function.

    Parameters
    ----------
    function: its sizes are numbers but for those in ``symbols``.
    given: what reads parameters that are known, by their places.
    symbols: the numbers of symbolic sizes.
    constants: the places of parameters that are known and hang on nothing that is given to a call.

    Attributes
    ----------
    known: the values that are known before the function is run.
    missed: whether an index was met that is not known.
    """

    def __init__(
        self,
        function: Function,
        given: Given,
        symbols: Mapping[str, int],
        constants: Collection[int] = (),
    ) -> None:
        self.function = function
        self.symbols = symbols
        self.known = Known(function, given, symbols, constants)
        self.missed = False

    def run(self, operands: Relations) -> Relations:
        """Return the relations of the results, None where there is none."""
        params = zip(self.function.params, operands)
        found = {param: relation for param, relation in params if relation is not None}
        for node in self.function.body:
            relations = [found.get(operand) for operand in node.operands]
            if all(relation is None for relation in relations):
                continue
            try:
                made = self._rule(node)(self, node, relations)
            except GradcError as error:
                where = self.function.locations.get(node)
                raise error.located(where[0] if where else None) from None
            for value, relation in zip(node.results, made, strict=True):
                if relation is not None and relation.nnz and value.type.dtype.is_float:
                    found[value] = relation
        return [found.get(result) for result in self.function.results]

    def _rule(self, node: Node) -> Rule:
        has_tape = any(tape.NAME in v.type.symbols for v in (*node.operands, *node.results))
        if has_tape and node.op.family != "control":
            return dense  # a tape is one row here, whatever its length will be
        if node.op.is_elementwise:
            return RULES.get(node.op.name, elementwise)
        return RULES.get(node.op.name, dense)

    def inner(self, body: Function, given: Given, constants: Collection[int] = ()) -> Flow:
        """Return the flow through a body."""
        return Flow(body, given, self.symbols, constants)

    def readers(self, values: Sequence[Value]) -> Given:
        """Return what reads those of some values that are known, by their places."""
        return {i: self._reader(value) for i, value in enumerate(values) if self.known.has(value)}

    def constants(self, values: Sequence[Value]) -> set[int]:
        """Return which of some values are constants, by their places."""
        return {i for i, value in enumerate(values) if self.known.is_constant(value)}

    def _reader(self, value: Value) -> Callable[[], Array]:
        def read() -> Array:
            array = self.known.array(value)
            assert array is not None  # only of what is known there is a reader
            return array

        return read

    def local(self, body: Function, active: Sequence[bool], given: Given) -> tuple[Relations, bool]:
        """Return the relations of a body's results to the elements of its active parameters.

        These stand one after another as the columns. Also whether an index was not known.
        """
        counts = [self.count(param) if is_ else 0 for param, is_ in zip(body.params, active)]
        whole = identity(sum(counts))
        start, operands = 0, []
        for count, is_active in zip(counts, active):
            operands.append(whole[start : start + count] if is_active else None)
            start += count
        flow = self.inner(body, given)
        return flow.run(operands), flow.missed

    def shape(self, value: Value) -> tuple[int, ...]:
        """Return the shape of a value in numbers."""
        found: tuple[int, ...] = numbers(value.type.shape, self.symbols)
        return found

    def count(self, value: Value) -> int:
        """Return the number of elements of a value."""
        return math.prod(self.shape(value))

    def number(self, size: Size) -> int:
        """Return a size as a number."""
        found: int = numbers(size, self.symbols)
        return found


def elementwise(flow: Flow, node: Node, relations: Relations) -> Relations:
    """Return the rule of ops whose results depend on the operands' elements at their own index."""
    found = union([relation for relation in relations if relation is not None])
    return [found] * len(node.results)


def dense(flow: Flow, node: Node, relations: Relations) -> Relations:
    """Return the rule of ops of which nothing is known: all depends on all."""
    whole = stacked([relation for relation in relations if relation is not None])
    return [everywhere(whole, flow.count(result)) for result in node.results]
