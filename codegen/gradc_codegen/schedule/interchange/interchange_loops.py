"""Loop interchange: a long axis that loops keep apart goes through all of them strip by strip.

A loop over time whose steps do the same for each of ten thousand paths hands arrays of all paths
from step to step, and to the loop that goes back an array of all steps. Here the loop over strips
of paths is the outer one: what a strip's loops hand to each other stays near.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.nest.strips import JOIN_CHUNKS, STRIPS
from gradc_codegen.schedule.estimates import UNKNOWN, Estimates
from gradc_codegen.schedule.interchange.apart import JOINS, Apart
from gradc_codegen.schedule.interchange.regions import Region, Regions, regions_along, sizes_carried
from gradc_codegen.schedule.interchange.rows_shared import with_rows_shared
from gradc_codegen.schedule.interchange.strip_graph import Going, Strip, StripGraph, is_in_order
from gradc_codegen.schedule.interchange.sums_apart import with_sums_apart
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.builder import Builder, active
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size, floor_quotient, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.core.walk import users
from gradc_ir.meaning import reduction
from gradc_ir.ops.reduce import highest, lowest

FIRST, COUNT = "_first", "_count"


@dataclass(frozen=True)
class InterchangeLoops:
    """The function is equal to the bit.

    Parameters
    ----------
    blas: whether large products are left to that.
    rows: as how many the rows of an unknown number count.
    """

    blas: bool = False
    rows: int = UNKNOWN
    name = "interchange"
    summary = "take a long axis that loops keep apart through all of them strip by strip"

    def __call__(self, function: Function) -> Function:
        """Return the function with its loops inside of one over strips, where that is better."""
        if not any(node.op.name == "scan" for node in function.nodes):
            return function
        # an axis that loops keep apart is that of samples, wherever in parameters it stands
        for size in sizes_carried(function, Estimates()):
            apart = Apart(size, self.blas)
            estimate = Estimates(numbers=dict.fromkeys(apart.names, self.rows))
            ready = with_sums_apart(function, apart)
            found = regions_along(ready, apart, estimate)
            if found.regions:
                loops = (region.loops for region in found.regions)
                shared = with_rows_shared(ready, apart, loops)
                if shared is not ready:
                    found = regions_along(shared, apart, estimate)
                return _interchanged(shared, found)
        return function


def _interchanged(function: Function, found: Regions) -> Function:
    region_of = {node: region for region in found.regions for node in region.nodes}
    order: list[tuple[int, bool, int, Node | Region]] = [
        (found.levels[node], False, i, node)
        for i, node in enumerate(function.nodes)
        if node not in region_of
    ]
    order += [(region.level, True, i, region) for i, region in enumerate(found.regions)]
    mapping: dict[Value, Value] = {}
    readers = users(function)
    done: set[Node] = set()
    with Builder.beyond(function.nodes) as builder:
        for *_, item in sorted(order, key=lambda entry: entry[:3]):
            if isinstance(item, Region):
                done |= _Interchange(function, item, readers).make(mapping)
            elif item not in done:
                builder.copy(item, mapping, function.locations.get(item, ()))
        return builder.function(
            function.name,
            [mapping[param] for param in function.params],
            [mapping[result] for result in function.results],
            function.names,
            function.location,
        )


class _Output(NamedTuple):
    """What leaves a region: a value, or by ``node`` its reduction over the axis."""

    value: Value
    node: Node | None = None


class _Interchange:
    """One region in the making."""

    def __init__(
        self, function: Function, region: Region, readers: dict[Value, list[Node]]
    ) -> None:
        self.function = function
        self.region = region
        self.size = region.apart.size
        self._readers = readers
        self._inside = set(region.nodes)
        self.outputs = list(self._found_outputs())
        chunks: Size = (self.size + reduction.CHUNK - 1) // reduction.CHUNK
        self._chunks = chunks

    def _found_outputs(self) -> Sequence[_Output]:
        found: dict[_Output, None] = {}
        for node in self.region.nodes:
            for value in node.results:
                for reader in self._readers.get(value, ()):
                    if reader not in self._inside:
                        sums_up = self.region.apart.sums_up(reader)
                        found[_Output(value, reader if sums_up else None)] = None
                if value in self.function.results:
                    found[_Output(value)] = None
        return list(found)

    def make(self, mapping: dict[Value, Value]) -> set[Node]:
        """Make the region in the active builder; returns the nodes behind it that it makes."""
        outside = self._outside()
        starts = [self._start(output) for output in self.outputs]
        operands = [*(mapping[value] for value in outside), *starts]
        body = self._body(outside, [start.type for start in starts])
        given = {
            "body": body,
            "consts": len(outside),
            "size": self.size,
            "strip": self.region.strip,
            "binds": (FIRST, COUNT),
        }
        lines = self.function.locations.get(self.region.loops[0], ())
        with active().at(lines):
            made = active().apply(STRIPS, tuple(operands), given).results
        done = set()
        for output, value in zip(self.outputs, made):
            if output.node is None:
                mapping[output.value] = value
            else:
                with active().at(self.function.locations.get(output.node, ())):
                    mapping[output.node.results[0]] = self._finished(output, value)
                done.add(output.node)
        return done

    def _outside(self) -> list[Value]:
        """Return what the region reads; constant numbers, and those of steps, are its own."""
        read = dict.fromkeys(value for node in self.region.nodes for value in node.operands)
        outside = (value for value in read if value.node not in self._inside)
        return [value for value in outside if not self._is_own(value)]

    def _is_own(self, value: Value) -> bool:
        is_number = value.op.name == "constant" and not value.type.shape
        return is_number or (value.op.name == "iota" and not self.region.apart.has(value))

    # -- what goes from strip to strip -------------------------------------------------------------

    def _state_type(self, output: _Output) -> Type:
        """Return the type of what a region hands from strip to strip for an output."""
        type_ = output.value.type
        if output.node is None:
            return type_
        rest = (size for size in type_.shape if size != self.size)
        return type_.with_shape((self._chunks, *rest))

    def _start(self, output: _Output) -> Value:
        type_ = self._state_type(output)
        number = 0 if output.node is None else _identity(output.node.op.name, type_.dtype)
        return build.full(type_.shape, number, type_.dtype)

    def _body(self, outside: Sequence[Value], states: Sequence[Type]) -> Function:
        strip = Strip(self.region.apart, symbol(FIRST), symbol(COUNT))
        chunk = floor_quotient(symbol(FIRST), reduction.CHUNK)
        with Builder() as builder:
            graph = StripGraph(strip)
            params: list[Value] = []
            for type_ in (*(value.type for value in outside), *states):
                params.append(builder.param(len(params), type_))
            for value, param in zip(outside, params):
                graph.enter(value, param)
            carried = params[len(outside) :]
            going = {
                output.value: Going(output.node.op.name, _before(state, chunk))
                for output, state in zip(self.outputs, carried)
                if output.node is not None and self._is_made_in_loop(output)
            }
            for value in dict.fromkeys(v for node in self.region.nodes for v in node.operands):
                if value.node not in self._inside and self._is_own(value):
                    graph.enter(
                        value, builder.apply(value.op, (), value.node.attributes).results[0]
                    )
            for node in self.region.nodes:
                with builder.at(self.function.locations.get(node, ())):
                    graph.copy(node, going)
            results = [
                self._result(strip, graph, output, state, chunk)
                for output, state in zip(self.outputs, carried)
            ]
            names = [f"p{i}" for i in range(len(params))]
            return builder.function(self.function.name, params, results, names)

    def _is_made_in_loop(self, output: _Output) -> bool:
        """Whether a sum over stacked rows is better made where these are, row by row."""
        node = output.value.node
        if node.op.name != "scan" or node.attributes["counted"]:
            return False
        is_stacked = output.value.index >= node.attributes["carries"]
        is_read_once = len(self._readers[output.value]) == 1
        axis = self.region.apart.axis(output.value.type)
        return is_stacked and is_read_once and axis != 0 and not self._is_result(output.value)

    def _is_result(self, value: Value) -> bool:
        return value in self.function.results

    def _result(
        self, strip: Strip, graph: StripGraph, output: _Output, state: Value, chunk: Size
    ) -> Value:
        value, node = graph.part(output.value), output.node
        if node is None:
            if not self.region.apart.has(output.value):
                return value
            type_ = output.value.type
            return build.set_slice(state, value, strip.starts(type_), (1,) * type_.rank)
        if not self._is_made_in_loop(output):
            value = strip.reduced(node.op.name, value, _before(state, chunk))
        row = build.reshape(value, (1, *value.type.shape))
        return build.set_slice(
            state, row, (chunk, *(0 for _ in value.type.shape)), (1,) * row.type.rank
        )

    # -- behind the region -------------------------------------------------------------------------

    def _finished(self, output: _Output, state: Value) -> Value:
        """Return a reduction from what it was after the last strip."""
        node = output.node
        assert node is not None
        name, axes = node.op.name, node.attributes["axes"]
        state = self._joined(name, state)
        axis = self.region.apart.axis(output.value.type)
        rest = tuple(other for other in axes if other != axis)
        return build.apply(name, state, axes=rest) if rest else state

    def _joined(self, name: str, state: Value) -> Value:
        """Return the chunks of a reduction, joined; those of a sum by the tree."""
        if not is_in_order(name, state.type):
            return build.apply(name, state, axes=(0,))
        rest = state.type.shape[1:]
        if isinstance(self._chunks, int) and self._chunks <= 3:
            first, *others = [
                build.element(state, (i, *(None for _ in rest))) for i in range(self._chunks)
            ]
            for row in others:
                first = build.elementwise(JOINS[name], first, row)
            return first
        empty = 0.0 if name == "reduce_sum" else 1.0
        rows = build.reshape(state, (self._chunks, *(rest or (1,))))
        joined = active().apply(JOIN_CHUNKS[name], (rows,), {"empty": empty}).results[0]
        return build.reshape(joined, rest)


def _before(state: Value, chunk: Size) -> Value:
    """Return what a reduction is of the chunk at hand before a strip."""
    rest = state.type.shape[1:]
    row = build.slice(state, (chunk, *(0 for _ in rest)), (1, *rest), (1,) * state.type.rank)
    return build.reshape(row, rest)


def _identity(name: str, dtype: DType) -> float:
    """Return the number that changes nothing when a reduction joins it."""
    word = JOINS[name]
    if word == "add":
        return -0.0 if dtype.is_float else 0
    if word == "mul":
        return 1
    limit = lowest if word == "maximum" else highest
    found: float = limit(dtype.numpy)
    return found
