"""Runs loops over the part of an axis that is read of their results, and what it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gradc_ir import build
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size, maximum, minimum
from gradc_ir.passes.reach import LARGE, AxisOfBody, Some, Unfit, place_of_one
from gradc_ir.passes.trips import Scan
from gradc_ir.pipeline import PlainPass

# Axes of a loop that are made shorter, one after another.
_ROUNDS = 3


class NarrowLoops(PlainPass):
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
        if not any(node.op.family == "control" for node in function.nodes):
            return function
        function = self._inside(function)
        for _ in range(_ROUNDS):
            windows = _windows(function)
            if not windows:
                break
            function = _narrowed(function, windows)
        return function

    def _inside(self, function: Function) -> Function:
        """Return the function with its bodies' loops made shorter."""
        bodies = {
            body: self(body)
            for node in function.nodes
            if node.op.family == "control"
            for body in node.attributes.values()
            if isinstance(body, Function)
        }
        if all(after is before for before, after in bodies.items()):
            return function

        def with_bodies(node: Node, operands: Sequence[Value]) -> Sequence[Value]:
            attributes = {
                name: bodies[item] if isinstance(item, Function) else item
                for name, item in node.attributes.items()
            }
            return build.active().apply(node.op, tuple(operands), attributes).results

        return rebuilt(function, lambda node: node.op.family == "control", with_bodies)


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
        if isinstance(self.axis.whole, int):
            place %= self.axis.whole
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
    takers: dict[Value, list[Node]] = {}
    whole = set(function.results)
    for node in function.nodes:
        if node.op.name == "slice" or (node.op.name == "gather" and place_of_one(node) is not None):
            takers.setdefault(node.operands[0], []).append(node)
            whole.update(node.operands[1:])
        else:
            whole.update(node.operands)
    found = ((node, _window_of(node, takers, whole)) for node in loops)
    return {node: window for node, window in found if window is not None}


def _window_of(node: Node, takers: Mapping[Value, list[Node]], whole: set[Value]) -> _Window | None:
    loop = Scan.of(node, node.operands)
    followed: set[tuple[Value, int]] = set()
    for carry, value in enumerate(loop.init):
        for place in range(value.type.rank):
            param = loop.body.params[len(loop.consts) + carry]
            if node.results[carry] in whole or (param, place) in followed:
                continue
            try:
                axis = AxisOfBody(loop.body, len(loop.consts), len(loop.init), carry, place)
            except Unfit:
                continue
            followed.update(axis.axes.items())
            window = _window_along(node, loop, axis, takers, whole)
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
    for some in (*axis.taken, *_taken(node, loop, axis, takers, of_carries=False)):
        ends = axis.ends[some.value]
        needs.append((some, ends.low.within(before), ends.high.within(behind)))
    needs += [(some, 0, 0) for some in axis.put]
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
                yield axis.some(taker, place)._replace(value=loop.body.results[k])


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
    axes, params = window.axis.axes, window.axis.body.params

    def parts(values: Sequence[Value], first: int, further: int = 0) -> list[Value]:
        own = params[first : first + len(values)]
        return [
            window.part(value, axes[param] + further) if param in axes else value
            for value, param in zip(values, own)
        ]

    split = len(loop.consts)
    end = split + len(loop.init)
    return loop.on(
        _body_over(window),
        parts(loop.consts, 0),
        parts(loop.init, split),
        parts(loop.rows, end, further=1),
    )


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
