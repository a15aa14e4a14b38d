"""From where to where in a nest memory is needed, as numbers that grow in the order of the code.

What is made and read in one iteration of a loop is needed for as long only, and another value may
have its place in the rest of the body. What is made in another loop than it is read in is there
from where that loop begins to where the reader's ends. The strips of a part run one after another,
so all of a part is at one time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradc_codegen.nest.loop_nest import Item, Loop, LoopNest, Statement, StatementKind
from gradc_codegen.storage.storage import Span, Storage
from gradc_ir.core.graph import Value


class Lifetimes:
    """When the statements and loops of a nest run."""

    def __init__(self, nest: LoopNest) -> None:
        self._nest = nest
        self._count = 0
        self._numbers: dict[Statement, int] = {}
        self._loops: dict[Loop, Span] = {}
        self._number(nest.body, False)

    def _number(self, body: Sequence[Item], at_once: bool) -> None:
        """Number the items of a body; those of a part that runs in strips get one number."""
        for item in body:
            if isinstance(item, Statement):
                self._count += not at_once
                self._numbers[item] = self._count
            elif isinstance(item, Loop):
                first = self._count + (not at_once)
                self._number(item.body, at_once)
                self._loops[item] = Span(first, self._count)
            else:
                in_strips = item.strip > 0
                self._count += in_strips and not at_once
                self._number(item.body, at_once or in_strips)

    def of_loop(self, loop: Loop) -> Span:
        """Return when a loop runs."""
        return self._loops[loop]

    def of(self, statement: Statement, path: Sequence[Loop] = ()) -> Span:
        """Return when a statement runs, in one iteration of the loops of a path."""
        if len(statement.loops) > len(path):
            return self._loops[statement.loops[len(path)][0]]
        number = self._numbers[statement]
        return Span(number, number)

    def of_values(self, storage: Mapping[Value, Storage]) -> dict[Value, Span]:
        """Return for each value in memory from where it is written to where it is read last.

        What keeps all its axes is needed from one iteration to the next of any loop.
        """
        # Values that a statement makes and that are kept along the same loops are needed together:
        # a loop makes many, and so do formulas, which hundreds of statements read.
        kept: dict[Statement, dict[tuple[Loop, ...], list[Value]]] = {}
        needed: dict[Statement, dict[tuple[Loop, ...], Span]] = {}

        def paths_of(maker: Statement) -> dict[tuple[Loop, ...], list[Value]]:
            found: dict[tuple[Loop, ...], list[Value]] = {}
            for value in maker.values:
                here = storage[value]
                if here.memory:
                    wide = [axis for axis, size in enumerate(value.type.shape) if size != 1]
                    path = () if wide and list(here.kept) == wide else here.path
                    found.setdefault(path, []).append(value)
            return found

        def add(maker: Statement, statement: Statement) -> None:
            if maker not in kept:
                kept[maker], needed[maker] = paths_of(maker), {}
            spans = needed[maker]
            for path in kept[maker]:
                span = self.of(statement, path)
                spans[path] = spans[path].joined(span) if path in spans else span

        for statement in self._nest.statements:
            if statement.kind is not StatementKind.COPY:
                add(statement, statement)
            for producer, _, _ in statement.inputs:
                add(producer, statement)
        found: dict[Value, Span] = {}
        for maker, spans in needed.items():
            for path, span in spans.items():
                for value in kept[maker][path]:
                    found[value] = found[value].joined(span) if value in found else span
        return found
