"""Runs loops over the part of an axis that is read of their results, and what it is made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import Builder, rebuilt
from gradc_ir.core.graph import Function, Node, Value, topological
from gradc_ir.core.sizes import Size, maximum, minimum
from gradc_ir.graphs.subgraph import closed
from gradc_ir.passes.reach import LARGE, AxisOfBody, Some, Unfit, place_of_one, some_of
from gradc_ir.passes.trips import Scan
from gradc_ir.pipeline import PlainPass

# Axes of a loop that are made shorter, one after another.
_ROUNDS = 3


class NarrowAxes(PlainPass):
    """Changes no bit of any result.

    Of a loop whose steps read neighbours along an axis, and of which some elements are read at
    last, say one or what is seen at few places, each step needs some more elements to either side
    than the next one. The loop is run over all that any step needs. At the borders of that part a
    step makes something else than it made of the whole axis; it gets no farther than to what is
    read. An axis along which anything is joined, here or in a derivative, stays as it is.
    """

    name = "narrow"
    summary = "run loops over what is read of their results, and the neighbours that it is made of"

    def __call__(self, function: Function) -> Function:
        """Return the function with shorter axes in its loops."""
        if any(node.op.family == "control" for node in function.nodes):
            function = self._inside(function)
        for _ in range(_ROUNDS):
            windows = _windows(function)
            if not windows:
                break
            function = _narrowed(function, windows)
        for _ in range(_ROUNDS):
            part = _part(function)
            if part is None:
                break
            function = part
        return function

    def _inside(self, function: Function) -> Function:
        """Return the function with its bodies' loops made shorter."""
        # by what they are: equal bodies stand at lines of their own
        bodies = {
            id(body): (body, self(body))
            for node in function.nodes
            if node.op.family == "control"
            for body in node.attributes.values()
            if isinstance(body, Function)
        }
        if all(after is before for before, after in bodies.values()):
            return function

        def with_bodies(node: Node, operands: Sequence[Value]) -> Sequence[Value]:
            attributes = {
                name: bodies[id(item)][1] if isinstance(item, Function) else item
                for name, item in node.attributes.items()
            }
            return build.active().apply(node.op, tuple(operands), attributes).results

        return rebuilt(function, lambda node: node.op.family == "control", with_bodies)


# Elements, and how many before and behind them are spoilt.
_Need: TypeAlias = tuple[Some, Size, Size]


class _Window(NamedTuple):
    """The part of an axis that a loop is run over: elements from ``start`` to before ``stop``."""

    axis: AxisOfBody
    start: Size
    stop: Size

    @property
    def lost(self) -> Size:
        """How many elements are not in it."""
        return self.axis.whole - (self.stop - self.start)

    def size(self, whole: Size) -> Size:
        """Return a size that is made of that of the axis, in the window."""
        return self.axis.of(whole, self.stop - self.start)

    def shape(self, value: Value) -> tuple[Size, ...]:
        """Return the shape of a value of the body with the shorter axis."""
        shape, axis = list(value.type.shape), self.axis.axes[value]
        shape[axis] = self.size(shape[axis])
        return tuple(shape)

    def part(self, value: Value, axis: int) -> Value:
        """Return the part in the window of a value that is whole, along its axis."""
        shape, starts = list(value.type.shape), [0] * value.type.rank
        shape[axis] = self.size(shape[axis])
        begin = (*starts[:axis], self.start, *starts[axis + 1 :])
        return build.slice(value, begin, tuple(shape), (1,) * len(shape))

    def moved(self, node: Node, operands: Sequence[Value], axis: int, by: Size) -> Sequence[Value]:
        """Return the results of a node in the window; what it takes or puts begins earlier."""
        attributes: dict[str, Any] = dict(node.attributes)
        if node.results[0] in self.axis.axes and "shape" in attributes:
            attributes["shape"] = self.shape(node.results[0])
        if by != 0 and "starts" in attributes:
            starts = list(attributes["starts"])
            starts[axis] = starts[axis] - by
            attributes["starts"] = tuple(starts)
        elif by != 0:
            operands = [*operands[:-1], self._index(node, by)]
        return build.active().apply(node.op, tuple(operands), attributes).results

    def _index(self, node: Node, by: Size) -> Value:
        place, dtype = place_of_one(node), node.operands[-1].type.dtype
        assert place is not None
        if isinstance(self.axis.whole, int) and -self.axis.whole <= place < 0:
            place += self.axis.whole
        if place >= 0:
            assert isinstance(by, int)
            place -= by
        # one that counts from the end does so in the window, which goes up to there
        return build.constant(place, dtype)


def _windows(function: Function) -> dict[Node, _Window]:
    """Return the windows of the loops of which a part is enough."""
    loops = [node for node in function.nodes if node.op.name == "scan"]
    if not loops:
        return {}
    takers, whole = _takers(function)
    found = ((node, _window_of(node, takers, whole)) for node in loops)
    return {node: window for node, window in found if window is not None}


def _takers(function: Function) -> tuple[dict[Value, list[Node]], set[Value]]:
    """Return what takes some elements of values, and the values that something else reads."""
    takers: dict[Value, list[Node]] = {}
    whole = set(function.results)
    for node in function.nodes:
        if node.op.name == "slice" or (node.op.name == "gather" and place_of_one(node) is not None):
            takers.setdefault(node.operands[0], []).append(node)
            whole.update(node.operands[1:])
        else:
            whole.update(node.operands)
    return takers, whole


def _window_of(node: Node, takers: Mapping[Value, list[Node]], whole: set[Value]) -> _Window | None:
    loop = Scan.of(node, node.operands)
    followed: set[tuple[Value, int]] = set()
    for carry, value in enumerate(loop.init):
        for place in range(value.type.rank):
            param = loop.body.params[len(loop.consts) + carry]
            if node.results[carry] in whole or (param, place) in followed:
                continue
            try:
                axis = AxisOfBody(loop.body, (param, place), len(loop.consts), len(loop.init))
                followed.update(axis.axes.items())
                window = _window_along(node, loop, axis, takers, whole)
            except Unfit:
                continue
            if window is not None:
                return window
    return None


def _window_along(
    node: Node,
    loop: Scan,
    axis: AxisOfBody,
    takers: Mapping[Value, list[Node]],
    whole: set[Value],
) -> _Window | None:
    """Return what has to be there of an axis, None where that is all of it."""
    if loop.length is None or any(node.results[k] in whole for k, _ in _results(loop, axis)):
        return None
    step, last = axis.step, loop.length
    low, high = step.low.after(last), step.high.after(last)
    before, behind = low - max(step.low.more, 0), high - max(step.high.more, 0)
    needs = [(some, low, high) for some in _taken(node, loop, axis, takers, of_carries=True)]
    rows = _taken(node, loop, axis, takers, of_carries=False)
    return _window_for(axis, [*needs, *_needs(axis, rows, before, behind)])


def _needs(
    axis: AxisOfBody, taken: Iterable[Some], low: Size = 0, high: Size = 0
) -> Iterator[_Need]:
    """Yield what has to be there for what a body takes and puts, and for what else is taken.

    So many elements of carries are spoilt when the body begins.
    """
    for some in (*axis.taken, *taken):
        ends = axis.ends[some.value]
        yield some, ends.low.within(low), ends.high.within(high)
    yield from ((some, 0, 0) for some in axis.put)


def _window_for(axis: AxisOfBody, needs: Sequence[_Need]) -> _Window | None:
    """Return the window that has what is needed, None where that is most of the axis."""
    if not needs:
        return None
    stop: Size = LARGE
    for some, _, high in needs:
        stop = maximum(stop, some.stop - axis.longer(some.value) + high)
    # an index that lies outside is shown with the size, which then has to be that of all
    indices = [] if isinstance(axis.whole, int) else [place_of_one(some.node) for some, *_ in needs]
    if any(index is not None and index < 0 for index in indices):
        stop = axis.whole
    stop = minimum(axis.whole, stop)
    start = stop - LARGE
    for some, low, _ in needs:
        start = minimum(start, some.start - low)
    start = maximum(0, start)
    if any(index is not None and index >= 0 for index in indices):
        start = 0
    return _Window(axis, start, stop) if _is_shorter(stop - start, axis.whole) else None


def _is_shorter(part: Size, whole: Size) -> bool:
    """Whether a part is enough shorter than a whole to be worth a copy of what it is made of."""
    if isinstance(part, int) and isinstance(whole, int):
        return part <= whole // 4 * 3
    return part != whole


def _results(loop: Scan, axis: AxisOfBody) -> Iterator[tuple[int, int]]:
    """Yield which of a loop's results have the axis, and where."""
    for k, result in enumerate(loop.body.results):
        if result in axis.axes:
            yield k, axis.axes[result] + (k >= len(loop.init))


def _taken(
    node: Node,
    loop: Scan,
    axis: AxisOfBody,
    takers: Mapping[Value, list[Node]],
    of_carries: bool,
) -> Iterator[Some]:
    """Yield what is taken of a loop's results, as of what the body makes of them in a step."""
    for k, place in _results(loop, axis):
        if (k < len(loop.init)) == of_carries:
            for taker in takers.get(node.results[k], ()):
                yield some_of(taker, place)._replace(value=loop.body.results[k])


def _narrowed(function: Function, windows: Mapping[Node, _Window]) -> Function:
    """Return the function with its loops over windows."""
    places: dict[Value, tuple[_Window, int]] = {}
    for node, window in windows.items():
        loop = Scan.of(node, node.operands)
        found = _results(loop, window.axis)
        places.update((node.results[k], (window, axis)) for k, axis in found)

    def make(node: Node, operands: Sequence[Value]) -> Sequence[Value]:
        if node in windows:
            return _loop_over(windows[node], Scan.of(node, operands))
        window, axis = places[node.operands[0]]
        return window.moved(node, operands, axis, window.start)

    return rebuilt(
        function,
        lambda node: node in windows or (bool(node.operands) and node.operands[0] in places),
        make,
    )


def _loop_over(window: _Window, loop: Scan) -> Sequence[Value]:
    """Return the results of a loop over a window."""
    params = window.axis.body.params
    split = len(loop.consts)
    end = split + len(loop.init)
    return loop.on(
        _body_over(window),
        _parts(window, loop.consts, params),
        _parts(window, loop.init, params[split:]),
        _parts(window, loop.rows, params[end:], further=1),
    )


def _parts(
    window: _Window, values: Sequence[Value], params: Sequence[Value], further: int = 0
) -> list[Value]:
    """Return what there is in a window of values, as the parameters have its axis."""
    axes = window.axis.axes
    return [
        window.part(value, axes[param] + further) if param in axes else value
        for value, param in zip(values, params)
    ]


def _body_over(window: _Window) -> Function:
    """Return the body of a loop for a window."""
    axes = window.axis.axes
    return rebuilt(
        window.axis.body,
        lambda node: any(value in axes for value in (*node.operands, *node.results)),
        lambda node, operands: _node_over(window, node, operands),
    )


def _node_over(window: _Window, node: Node, operands: Sequence[Value]) -> Sequence[Value]:
    """Return the results of a node of a body, for a window."""
    axis, builder, result = window.axis, build.active(), node.results[0]
    if node.op.name == "param":
        return [
            builder.param(node.attributes["index"], result.type.with_shape(window.shape(result)))
        ]
    if node.op.is_leaf:
        whole = builder.apply(node.op, (), node.attributes).results[0]
        return [window.part(whole, axis.axes[result])]
    by: Size = 0
    if any(some.node is node for some in (*axis.taken, *axis.put)):
        by = window.start
    elif axis.sides.get(node) == "high":
        by = window.lost
    return window.moved(node, operands, axis.axes[_with_axis(axis, node)], by)


def _with_axis(axis: AxisOfBody, node: Node) -> Value:
    """Return a value of a node that has an axis, the result where it has it."""
    return next(value for value in (*node.results, *node.operands) if value in axis.axes)


def _part(function: Function) -> Function | None:
    """Return the function with what makes one value made for a part of an axis, None for none.

    Of the value, and of what it alone is made of, few elements are read.
    """
    takers, whole = _takers(function)
    for value in reversed(takers):
        is_made = not value.op.is_leaf and value.op.family != "control"
        if value in whole or not is_made or len(value.node.results) > 1:
            continue
        for axis, size in enumerate(value.type.shape):
            if not _is_worth_a_look(takers[value], axis, size):
                continue
            made = _with_part(function, value, axis, takers[value], whole)
            if made is not None:
                return made
    return None


def _is_worth_a_look(takers: Sequence[Node], axis: int, size: Size) -> bool:
    """Whether a part of an axis may be all that is read."""
    if isinstance(size, int) and not _is_shorter(LARGE, size):
        return False
    start = size
    stop: Size = 0
    for taker in takers:
        some = some_of(taker, axis)
        start, stop = minimum(start, some.start), maximum(stop, some.stop)
    return _is_shorter(minimum(stop, size) - maximum(start, 0), size)


def _with_part(
    function: Function, value: Value, place: int, takers: Sequence[Node], whole: set[Value]
) -> Function | None:
    body, inputs = _made_of(function, value)
    try:
        axis = AxisOfBody(body, (body.results[0], place))
        taken = [some_of(taker, place)._replace(value=body.results[0]) for taker in takers]
        window = _window_for(axis, list(_needs(axis, taken)))
    except Unfit:
        return None
    if window is None:
        return None
    shorter = _body_over(window)
    mapping: dict[Value, Value] = {}
    with Builder.beyond(function.nodes) as builder:
        for node in function.nodes:
            lines = function.locations.get(node, ())
            if node is value.node:
                parts = _parts(window, [mapping[x] for x in inputs], body.params)
                (mapping[value],) = builder.inline(shorter, parts)
            elif node.operands and node.operands[0] is value:
                with builder.at(lines):
                    operands = [mapping[operand] for operand in node.operands]
                    made = window.moved(node, operands, place, window.start)
                for new in made:
                    builder.replace(new, lines)
                mapping.update(zip(node.results, made, strict=True))
            else:
                builder.copy(node, mapping, lines)
        params = [mapping[param] for param in function.params]
        results = [mapping[result] for result in function.results]
        return builder.function(function.name, params, results, function.names, function.location)


def _made_of(function: Function, value: Value) -> tuple[Function, list[Value]]:
    """Return a function of what else is read, too, to a value; and what that is."""
    users: dict[Value, list[Node]] = {}
    for node in function.nodes:
        for operand in node.operands:
            users.setdefault(operand, []).append(node)
    inner, results = {value.node}, set(function.results)
    order = topological((), [value])
    for node in reversed(order):
        if node.op.name == "param" or node.op.family == "control" or node is value.node:
            continue
        read_by = [user for result in node.results for user in users.get(result, ())]
        if inner.issuperset(read_by) and results.isdisjoint(node.results):
            inner.add(node)
    inputs = {
        operand: None
        for node in order
        if node in inner
        for operand in node.operands
        if operand.node not in inner
    }
    return closed(function, "part", list(inputs), [value]), list(inputs)
