"""Statements: what computes the values that are kept, and who reads what."""

from __future__ import annotations

from collections.abc import Iterator

from gradc_codegen.arrays.whole_array_ops import arrays_of, is_whole, read_whole
from gradc_codegen.nest.index_maps import identity, own_dims, piece_dims, scatter_dims
from gradc_codegen.nest.loop_nest import Input, Statement, StatementKind
from gradc_codegen.nest.routes import Route, dims_along, routes_of
from gradc_codegen.schedule.choices import Choices
from gradc_codegen.schedule.formulas import formulas_together
from gradc_codegen.schedule.in_place import Overwriting
from gradc_codegen.schedule.labels import Labels
from gradc_codegen.schedule.recompute import SOURCES, Readings, Recomputed, looks_into
from gradc_codegen.schedule.updates import find_runs, target_dims
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size

MOST_PIECES_RECOMPUTED = 4


class StatementBuilder:
    """Makes the statements of a prepared function, in program order.

    Parameters
    ----------
    overwriting: the nodes in that order, and which of them overwrite what they update.
    choices: what decides whether a value is recomputed.
    """

    def __init__(self, function: Function, overwriting: Overwriting, choices: Choices) -> None:
        self.function = function
        self._recomputed = Recomputed(choices, function.nodes)
        self._overwriting = overwriting
        self.statements: list[Statement] = []
        self._writers: dict[Value, tuple[Statement, ...]] = {}
        self._scalar_edges: dict[Value, Input] = {}
        self._estimate = choices.estimate
        nodes = formulas_together(overwriting.order)
        has_arrays = any(value.type.shape for node in nodes for value in node.results)
        self._labels = Labels(nodes if has_arrays else ())
        self._runs = find_runs(function, overwriting.overwrites)
        self._in_runs = {node for run in self._runs.values() for node in run}
        self._looked_into = {
            node.operands[0] for node in nodes if looks_into(node, choices.estimate)
        }
        self._read = {operand for node in nodes for operand in node.operands}
        # what is read whole must be in memory whole
        self._read_whole = {array for node in nodes if is_whole(node) for array in read_whole(node)}
        self._routes = routes_of(nodes, function.results, self._is_in_pieces, self._is_kept_whole)
        for node in nodes:
            self._add(node)
        self._add_outputs()

    def _add(self, node: Node) -> None:
        value = node.results[0]
        op = node.op
        name = op.name
        if not value.type.shape and op.is_elementwise:
            # the common case of long scalar programs, kept short
            made = Statement(len(self.statements), node, value)
            edges = self._scalar_edges
            made.inputs = tuple([edges[operand] for operand in node.operands if operand in edges])
            edges[value] = Input(made, (), value)
            self.statements.append(made)
            self._writers[value] = (made,)
        elif name in SOURCES:
            self._recomputed.add_source(value)
        elif name in ("scatter_set", "scatter_add"):
            self._add_scatter(node)
        elif name == "set_slice" and self._overwriting.is_in_place(node):
            self._add_update(node)
        elif node in self._in_runs:
            if node in self._runs:
                self._add_run(self._runs[node])
        elif value in self._routes:
            pass  # its pieces are those of what it is moved into
        elif (op.joins and self._is_in_pieces(node)) or self._joins_within(node):
            self._add_pieces(node)
        elif is_whole(node):
            self._add_whole(node)
        elif not self._is_recomputed(node):
            self._add_statement(node)

    def _is_in_pieces(self, node: Node) -> bool:
        """Whether each piece of what is joined is written by itself: of many, and of a result.

        Of a stack no reader knows which operand it wants, nor where an index is looked up.
        """
        return (
            node.op.name == "stack"
            or node.results[0] in self._looked_into
            or len(node.operands) > MOST_PIECES_RECOMPUTED
            or node.results[0] not in self._read
        )

    def _joins_within(self, node: Node) -> bool:
        """Whether a reshape is where the pieces of its operand are written."""
        return node.op.name == "reshape" and node.operands[0] in self._routes

    def _is_kept_whole(self, value: Value) -> bool:
        """Whether a value must have an array of its own: what is read whole, or overwritten."""
        return (
            value in self._read_whole
            or value in self._overwriting.shares
            or value.node in self._in_runs
        )

    def _is_recomputed(self, node: Node) -> bool:
        """Whether readers recompute a node; what is overwritten is read while it is there."""
        value = node.results[0]
        if value in self._read_whole or value in self._overwriting.shares:
            return False
        if any(map(self._overwriting.overwrites, node.operands)):
            return False
        return self._recomputed.add(node)

    # -- statements --------------------------------------------------------------------------------

    def _connect(self, statement: Statement, readings: Readings) -> None:
        for value, reading in readings:
            writers = self._writers.get(value)
            if writers is None:
                statement.sources += ((value, reading),)
            else:
                statement.inputs += tuple(Input(writer, reading, value) for writer in writers)

    def _new(
        self,
        node: Node,
        kind: StatementKind,
        dims: tuple[Size, ...],
        labels: tuple[int, ...],
        axis_dims: tuple[int, ...],
        sequential: int = -1,
        operand: int = -1,
        value: Value | None = None,
    ) -> Statement:
        made = Statement(
            len(self.statements),
            node,
            node.results[0] if value is None else value,
            kind,
            dims,
            labels,
            axis_dims,
            sequential,
            operand,
        )
        made.dim_axis = tuple(
            axis_dims.index(dim) if dim in axis_dims else -1 for dim in range(len(dims))
        )
        made.volumes = tuple(self._estimate(size) for size in dims)
        # an axis of size 1 needs no loop
        made.remaining = tuple(dim for dim, size in enumerate(dims) if size != 1)
        self.statements.append(made)
        return made

    def _add_statement(self, node: Node) -> None:
        dims = own_dims(node)
        value = node.results[0]
        rank = value.type.rank
        reduces = len(dims) > rank
        made = self._new(
            node,
            StatementKind.REDUCE if reduces else StatementKind.MAP,
            dims,
            self._labels.of_dims(node) if dims else (),
            identity(rank),
            rank if reduces else -1,
        )
        self._connect(made, self._recomputed.through(node))
        self._writers[value] = (made,)
        if not rank:
            self._scalar_edges[value] = Input(made, (), value)

    def _add_whole(self, node: Node) -> None:
        """Add the one statement of an op on whole arrays."""
        made = self._new(node, StatementKind.WHOLE, (), (), ())
        made.others = node.results[1:]
        whole = read_whole(node)
        for array in arrays_of(node):
            every = ((array, (-1,) * array.type.rank),)
            self._connect(made, every if array in whole else self._recomputed.of(array))
        for value in node.results:
            self._writers[value] = (made,)
            if not value.type.shape:
                self._scalar_edges[value] = Input(made, (), value)
        made.after = self._before(node)

    def _before(self, node: Node) -> tuple[Statement, ...]:
        """Return what comes before a node that overwrites: what reads and writes older versions."""
        readers = self._overwriting.after.get(node, ())
        values = [value for reader in readers for value in reader.results]
        values += filter(self._overwriting.overwrites, node.operands)
        return tuple(
            dict.fromkeys(made for value in values for made in self._writers.get(value, ()))
        )

    def _add_scatter(self, node: Node) -> None:
        """Add a copy of the base and the writes into it."""
        x, part, *indices = node.operands
        value = node.results[0]
        overwrites = self._overwriting.is_in_place(node)
        if not overwrites:
            copy = self._over_axes(node, StatementKind.BASE, value, x)
        part_labels = self._labels.of_axes(part)
        axis_dims = scatter_dims(node)
        # where an axis counts no element is written twice
        sequential = 0 if indices[0].type.rank and 0 not in axis_dims else -1
        writes = self._new(
            node, StatementKind.SCATTER, part.type.shape, part_labels, axis_dims, sequential
        )
        self._connect(writes, self._recomputed.of(part))
        for index in indices:
            self._connect(writes, self._recomputed.of(index))
        if overwrites:
            writes.after = self._before(node)
            self._writers[value] = (writes,)
        else:
            writes.inputs += (Input(copy, axis_dims, value),)
            self._writers[value] = (copy, writes)

    def _over_axes(self, node: Node, kind: StatementKind, value: Value, read: Value) -> Statement:
        """Return a new statement that writes a value, each element from the same of another."""
        labels = self._labels.of_axes(value)
        own = identity(value.type.rank)
        made = self._new(node, kind, value.type.shape, labels, own, value=value)
        self._connect(made, self._recomputed.of(read))
        return made

    def _piece(
        self,
        node: Node,
        value: Value,
        position: int,
        axis_dims: tuple[int, ...],
        route: Route = (),
    ) -> Statement:
        """Return a new statement that writes an operand into its window of a value."""
        part = node.operands[position]
        is_flat = node.op.name == "concatenate" and part.type.rank == 1
        if is_flat and part.op.name == "reshape" and part not in self._writers:
            part = part.operands[0]  # so that no index along it has to be divided
        labels = self._labels.of_axes(part)
        piece = self._new(
            node,
            StatementKind.PIECE,
            part.type.shape,
            labels,
            axis_dims,
            operand=position,
            value=value,
        )
        piece.piece, piece.route = part, route
        self._connect(piece, self._recomputed.of(part))
        return piece

    def _add_update(self, node: Node) -> None:
        """Add the writes of a window into an array that is overwritten."""
        piece = self._piece(node, node.results[0], 1, target_dims(node))
        piece.after = self._before(node)
        self._writers[node.results[0]] = (piece,)

    def _add_pieces(self, node: Node) -> None:
        """Add a statement for each operand of a long concatenation, of a stack, or of what is
        joined into these.
        """
        value = node.results[0]
        self._writers[value] = tuple(self._pieces(node, value, ()))

    def _pieces(self, node: Node, value: Value, route: Route) -> Iterator[Statement]:
        """Yield new statements that write the operands of a node, on a route into a value."""
        if not node.op.joins:  # a reshape on the way
            yield from self._pieces(node.operands[0].node, value, (node, *route))
            return
        axis_dims = dims_along(node.results[0], piece_dims(node), route)
        for i, operand in enumerate(node.operands):
            if operand in self._routes:
                yield from self._pieces(operand.node, value, (node, *route))
            else:
                yield self._piece(node, value, i, axis_dims, route)

    def _add_run(self, run: list[Node]) -> None:
        """Add the start of an array and the updates that are written into it, in order."""
        value = run[-1].results[0]
        writer = self._over_axes(run[0], StatementKind.BASE, value, run[0].operands[0])
        for node in run:
            piece = self._piece(node, value, 1, target_dims(node))
            piece.inputs += (Input(writer, piece.axis_dims, value),)
            writer = piece
        # what reads the last update comes after all of them
        self._writers[value] = (writer,)

    def _add_outputs(self) -> None:
        """Attach each result to the statement of its value, or add a statement that copies it."""
        placed: set[Value] = set()
        overwrites = self._overwriting.params
        results = list(enumerate(self.function.results))
        # a value returned twice lives where it overwrites a parameter, and is copied elsewhere
        for position, value in sorted(results, key=lambda pair: pair[0] not in overwrites):
            param = overwrites.get(position)
            if param is not None and value is self.function.params[param]:
                continue  # it is in its place as it is
            writers = self._writers.get(value)
            if writers is not None and value not in placed:
                placed.add(value)
                writers[-1].outputs += (position,)
                continue
            made = self._over_axes(value.node, StatementKind.COPY, value, value)
            made.outputs = (position,)
