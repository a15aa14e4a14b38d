"""The cheapest edges whose removal parts a source from a sink, by maximum flow."""

from __future__ import annotations


class Network:
    """A directed graph with capacities, to be cut between vertex 0 and vertex 1."""

    SOURCE, SINK = 0, 1

    def __init__(self) -> None:
        self._out: list[list[int]] = [[], []]  # edges by number; edge e ^ 1 is edge e backwards
        self._head: list[int] = []
        self._rest: list[int] = []  # what an edge can still carry

    def vertex(self) -> int:
        """Return a new vertex."""
        self._out.append([])
        return len(self._out) - 1

    def edge(self, tail: int, head: int, capacity: int) -> None:
        """Add an edge; one without capacity is none."""
        if not capacity:
            return
        self._out[tail].append(len(self._head))
        self._out[head].append(len(self._head) + 1)
        self._head += (head, tail)
        self._rest += (capacity, 0)

    def source_side(self) -> list[bool]:
        """Return for each vertex whether it stays with the source under a minimum cut.

        Of all minimum cuts this is the one nearest to the source. The algorithm is Dinic's (1970):
        flow is added along shortest ways only, all those of one length in one phase.
        """
        while True:
            level = self._levels()
            if level[self.SOURCE] < 0:
                return self._reached()
            self._saturate(level)

    def _levels(self) -> list[int]:
        """Return each vertex's distance to the sink; -1 where no way leads there."""
        level = [-1] * len(self._out)
        level[self.SINK] = 0
        front = [self.SINK]
        while front and level[self.SOURCE] < 0:
            further = []
            for vertex in front:
                for edge in self._out[vertex]:
                    tail = self._head[edge]
                    if level[tail] < 0 and self._rest[edge ^ 1]:
                        level[tail] = level[vertex] + 1
                        further.append(tail)
            front = further
        return level

    def _saturate(self, level: list[int]) -> None:
        """Add flow until no way to the sink goes down the levels step by step."""
        head, rest = self._head, self._rest
        position = [0] * len(self._out)  # the edges before it lead nowhere any more
        way: list[int] = []
        vertex = self.SOURCE
        while True:
            if vertex == self.SINK:
                flow = min([rest[edge] for edge in way])
                for edge in way:
                    rest[edge] -= flow
                    rest[edge ^ 1] += flow
                first_full = next(i for i, edge in enumerate(way) if not rest[edge])
                vertex = head[way[first_full] ^ 1]
                del way[first_full:]
            below = level[vertex] - 1
            edges = self._out[vertex]
            for i in range(position[vertex], len(edges)):
                edge = edges[i]
                if rest[edge] and level[head[edge]] == below:
                    position[vertex] = i
                    way.append(edge)
                    vertex = head[edge]
                    break
            else:
                if not way:
                    return
                position[vertex] = len(edges)
                vertex = head[way.pop() ^ 1]
                position[vertex] += 1

    def _reached(self) -> list[bool]:
        reached = [False] * len(self._out)
        reached[self.SOURCE] = True
        front = [self.SOURCE]
        while front:
            vertex = front.pop()
            for edge in self._out[vertex]:
                if self._rest[edge] and not reached[self._head[edge]]:
                    reached[self._head[edge]] = True
                    front.append(self._head[edge])
        return reached
