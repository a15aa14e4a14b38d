"""A layered layout of a graph without circles: layers, few crossings, and places.

The method is Sugiyama's: layers of bounded width, long edges cut by points in the layers between,
sweeps that sort each layer by where its neighbours are, and places as close to the neighbours as
the gaps allow. The same graph has the same layout on every run.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Sequence
from itertools import pairwise

from gradc_ir.classes.named import NamedTuple

Point = tuple[float, float]

# Beyond so many points edges go straight, and beyond so many of either the sweeps are few.
_MOST_POINTS = 20_000
_MANY = 1_500
_SWEEPS, _FEW_SWEEPS = 16, 3
_MOST_APART = 2.0


class Layout(NamedTuple):
    """Where the boxes of a graph lie, and its edges run.

    Parameters
    ----------
    places: the left upper corner of each box.
    layers: the layer of each box.
    routes: for each edge the points it goes through between its boxes.
    width, height: of all.
    """

    places: list[Point]
    layers: list[int]
    routes: list[list[Point]]
    width: float
    height: float


def layout(
    boxes: Sequence[Point],
    edges: Sequence[tuple[int, int]],
    *,
    light: Collection[int] = (),
    widest: int = 0,
    gap: float = 22.0,
    between: float = 40.0,
    height: float = 0.0,
) -> Layout:
    """Return the layout of boxes of some widths and heights, edges pointing down.

    Parameters
    ----------
    boxes: the width and the height of each.
    edges: from and to which box; there is no circle.
    light: the edges, by their numbers, that go straight and draw no box closer.
    widest: how many boxes a layer may have; 0 chooses by their number.
    gap: between boxes side by side.
    between: between layers.
    height: that is to be filled, as long as that takes layers not too far apart.
    """
    count = len(boxes)
    if not count:
        return Layout([], [], [[] for _ in edges], 0.0, 0.0)
    layer_of = _layers(count, edges, widest or max(3, round(count**0.5)))
    graph = _Points(boxes, edges, layer_of, light)
    graph.sort()
    xs = graph.spread(gap)
    rows = [0.0] * len(graph.layers)
    for box, layer in enumerate(layer_of):
        rows[layer] = max(rows[layer], boxes[box][1])
    steps = len(rows) - 1
    if steps:
        spare = (height - sum(rows)) / steps
        between = min(max(between, spare), _MOST_APART * between)
    tops, height = [], 0.0
    for row in rows:
        tops.append(height)
        height += row + between
    height -= between
    left = min(xs[i] - graph.widths[i] / 2 for i in range(len(xs)))
    places = [
        (xs[i] - boxes[i][0] / 2 - left, tops[layer_of[i]] + (rows[layer_of[i]] - boxes[i][1]) / 2)
        for i in range(count)
    ]
    routes = []
    for chain in graph.chains:
        middle = [(xs[i] - left, tops[graph.layer[i]] + rows[graph.layer[i]] / 2) for i in chain]
        routes.append(middle)
    width = max(place[0] + box[0] for place, box in zip(places, boxes))
    points = max((point[0] for route in routes for point in route), default=0.0)
    return Layout(places, layer_of, routes, max(width, points), height)


def _layers(count: int, edges: Sequence[tuple[int, int]], widest: int) -> list[int]:
    """Return a layer for each box below all that lead to it, no layer with too many."""
    before: list[list[int]] = [[] for _ in range(count)]
    after: list[list[int]] = [[] for _ in range(count)]
    for start, end in edges:
        before[end].append(start)
        after[start].append(end)
    # how far it is to the end: what is far from it comes first
    order = _sorted(before, after)
    distance = [0] * count
    for box in reversed(order):
        distance[box] = max((distance[end] + 1 for end in after[box]), default=0)
    waiting = [len(before[box]) for box in range(count)]
    ready = [box for box in range(count) if not waiting[box]]
    found = [0] * count
    filled: dict[int, int] = {}
    free: dict[int, int] = {}
    while ready:
        ready.sort(key=lambda box: (-distance[box], box))
        later: list[int] = []
        for box in ready:
            layer = max((found[start] + 1 for start in before[box]), default=0)
            # full layers are skipped, as those found full before
            path = []
            while filled.get(layer, 0) >= widest:
                path.append(layer)
                layer = free.get(layer, layer + 1)
            for full in path:
                free[full] = layer
            found[box] = layer
            filled[layer] = filled.get(layer, 0) + 1
            for end in after[box]:
                waiting[end] -= 1
                if not waiting[end]:
                    later.append(end)
        ready = later
    for box in reversed(order):  # what nothing leads to stands close to what it leads to
        if not before[box] and after[box]:
            target = min(found[end] for end in after[box]) - 1
            if target > found[box] and filled.get(target, 0) < widest:
                filled[found[box]] -= 1
                filled[target] = filled.get(target, 0) + 1
                found[box] = target
    used = sorted(set(found))
    return [bisect_right(used, layer) - 1 for layer in found]


def _sorted(before: list[list[int]], after: list[list[int]]) -> list[int]:
    waiting = [len(starts) for starts in before]
    order = [box for box, left in enumerate(waiting) if not left]
    for box in order:
        for end in after[box]:
            waiting[end] -= 1
            if not waiting[end]:
                order.append(end)
    if len(order) != len(before):
        raise ValueError("the graph has a circle")
    return order


class _Points:
    """Boxes and the points of long edges, in layers.

    Points come after the boxes in all lists; ``chains`` has the points of each edge.
    """

    def __init__(
        self,
        boxes: Sequence[Point],
        edges: Sequence[tuple[int, int]],
        layer_of: Sequence[int],
        light: Collection[int],
    ) -> None:
        self.boxes = len(boxes)
        self.layer = list(layer_of)
        self.widths = [box[0] for box in boxes]
        self.chains: list[list[int]] = []
        self.up: list[list[int]] = [[] for _ in boxes]
        self.down: list[list[int]] = [[] for _ in boxes]
        self.lightly: list[list[int]] = [[] for _ in boxes]
        spans = sum(max(layer_of[end] - layer_of[start] - 1, 0) for start, end in edges)
        is_straight = spans > _MOST_POINTS
        for number, (start, end) in enumerate(edges):
            chain: list[int] = []
            self.chains.append(chain)
            if number in light:
                self.lightly[start].append(end)
                self.lightly[end].append(start)
                continue
            last = start
            if not is_straight:
                for layer in range(layer_of[start] + 1, layer_of[end]):
                    point = len(self.layer)
                    self.layer.append(layer)
                    self.widths.append(0.0)
                    self.up.append([])
                    self.down.append([])
                    self._join(last, point)
                    chain.append(point)
                    last = point
            self._join(last, end)
        self.layers: list[list[int]] = [[] for _ in range(max(self.layer) + 1)]
        for item, layer in enumerate(self.layer):
            self.layers[layer].append(item)
        many = len(self.layer) > _MANY
        self.sweeps = _FEW_SWEEPS if many else _SWEEPS
        self.counts = not many

    def _join(self, start: int, end: int) -> None:
        self.down[start].append(end)
        self.up[end].append(start)

    def sort(self) -> None:
        """Put each layer in an order in which few edges cross."""
        place = [0.0] * len(self.layer)
        for layer in self.layers:
            for i, item in enumerate(layer):
                place[item] = float(i)
        best = [list(layer) for layer in self.layers]
        least = self._crossings() if self.counts else 0
        for sweep in range(self.sweeps):
            downwards = sweep % 2 == 0
            layers = self.layers[1:] if downwards else self.layers[-2::-1]
            near = self.up if downwards else self.down
            for layer in layers:
                keys = {}
                for item in layer:
                    around = near[item] or self._light(item)
                    middle = sum(place[x] for x in around) / len(around) if around else place[item]
                    keys[item] = (middle, place[item])
                layer.sort(key=keys.__getitem__)
                for i, item in enumerate(layer):
                    place[item] = float(i)
            if self.counts:
                now = self._crossings()
                if now < least:
                    least, best = now, [list(layer) for layer in self.layers]
        if self.counts:
            self.layers = best

    def _light(self, item: int) -> list[int]:
        """Return what a box is only lightly joined to, when nothing else says where it belongs."""
        alone = item < self.boxes and not self.up[item] and not self.down[item]
        return self.lightly[item] if alone else []

    def _crossings(self) -> int:
        total = 0
        for above, below in pairwise(self.layers):
            place = {item: i for i, item in enumerate(below)}
            seen: list[int] = []
            for item in above:
                ends = sorted(place[end] for end in self.down[item] if end in place)
                for end in ends:
                    total += len(seen) - bisect_right(seen, end)
                for end in ends:
                    seen.insert(bisect_right(seen, end), end)
        return total

    def spread(self, gap: float) -> list[float]:
        """Return the middle of each item along its layer, as close to its neighbours as it can."""
        xs = [0.0] * len(self.layer)
        for layer in self.layers:
            at = 0.0
            for item in layer:
                xs[item] = at + self.widths[item] / 2
                at += self.widths[item] + gap
            for item in layer:
                xs[item] -= at / 2
        for sweep in range(self.sweeps + 2):
            layers = self.layers if sweep % 2 == 0 else self.layers[::-1]
            for layer in layers:
                wanted = []
                for item in layer:
                    near = self.up[item] if sweep % 2 == 0 else self.down[item]
                    if not near or sweep >= self.sweeps:
                        near = self.up[item] + self.down[item]
                    wanted.append(self._wanted(item, near or self._light(item), xs))
                _place(layer, wanted, self._offsets(layer, gap), xs)
        return xs

    def _wanted(self, item: int, near: Sequence[int], xs: Sequence[float]) -> tuple[float, float]:
        """Return where an item wants to be among its neighbours, and how much it wants that.

        Points of a long edge hold together, so that it runs straight.
        """
        is_point = item >= self.boxes
        total = weight = 0.0
        for other in near:
            own = 1.0 if not is_point else 3.0 if other < self.boxes else 10.0
            total += own * xs[other]
            weight += own
        return (total / weight, weight) if weight else (xs[item], 0.1)

    def _offsets(self, layer: Sequence[int], gap: float) -> list[float]:
        """Return how far the items of a layer are from its first one at least."""
        found = [0.0]
        for left, right in pairwise(layer):
            apart = gap if max(left, right) < self.boxes else gap / 2
            if min(left, right) >= self.boxes:
                apart = gap / 3
            found.append(found[-1] + (self.widths[left] + self.widths[right]) / 2 + apart)
        return found


def _place(
    layer: Sequence[int],
    wanted: Sequence[tuple[float, float]],
    offsets: Sequence[float],
    xs: list[float],
) -> None:
    """Put a layer's items where they want to be, in their order and with gaps: least squares."""
    # items that push each other move as one block, to the mean of what they want
    blocks: list[tuple[float, float, int]] = []  # place, weight, number
    for (want, weight), at in zip(wanted, offsets):
        place, number = want - at, 1
        while blocks and blocks[-1][0] > place:
            before, heavy, count = blocks.pop()
            place = (before * heavy + place * weight) / (heavy + weight)
            weight, number = heavy + weight, number + count
        blocks.append((place, weight, number))
    i = 0
    for place, _, number in blocks:
        for _ in range(number):
            xs[layer[i]] = place + offsets[i]
            i += 1
