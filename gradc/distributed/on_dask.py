"""Dask's arrays as rows: each block is added up where it is, and the parts join in a tree."""

from __future__ import annotations

import itertools
import math
import sys
from typing import Any

from gradc.distributed.blocks import Rows
from gradc.distributed.engine import Told
from gradc.row_sums.partials import Partials, join
from gradc.row_sums.task import Task
from gradc_ir.classes.named import NamedTuple
from gradc_ir.errors import ShapeError

_MOST_JOINED = 8
# A task costs its worker some milliseconds before any row counts. Blocks that a worker holds, or
# makes, go together up to so many bytes, which take ten times as long ...
_AT_ONCE = 2**30
# ... as long as there are so many tasks for each worker: who is held up leaves some to others.
_TASKS_A_WORKER = 8
# So many bytes go through the scheduler, or to the driver, sooner than it takes to spare them that.
_LITTLE = 2**20


def is_of_dask(leaf: Any) -> bool:
    """Whether something is an array of Dask's."""
    module = sys.modules.get("dask.array")
    return module is not None and isinstance(leaf, module.Array)


class Dask:
    """The workers of the client that is in force, or Dask's own scheduler where there is none."""

    def like(self, leaves: list[Any]) -> list[Any]:
        """Return what is like the rows; raises ShapeError where their number is not known."""
        for leaf in leaves:
            if is_of_dask(leaf) and leaf.shape[0] != leaf.shape[0]:  # nan
                raise ShapeError(
                    "the blocks of a dask.array have unknown sizes",
                    help="call x.compute_chunk_sizes() first",
                )
        return [Rows(tuple(leaf.shape), leaf.dtype) for leaf in leaves]

    def total(self, task: Task, leaves: list[Any], told: Told) -> Partials:
        """Return what all blocks add to the sums."""
        client = _client()
        blocks, sizes = _blocks(leaves)
        starts = [0, *itertools.accumulate(sizes)]
        if client is None:
            return _computed(task, blocks, starts, told)
        held = _held(leaves)
        makings = None if held else _makings(blocks)
        if makings is None:
            together = _by_holder(client, held, leaves, blocks, sizes)
        else:
            together = _in_a_row(client, leaves, sizes)
        groups = [
            _Group([starts[i] for i in group], group, sum(sizes[i] for i in group))
            for group in together
        ]
        # what is much goes to each worker once; a round trip to all of them for what is little
        # takes longer than to send it with every group
        sent = task
        if len(groups) * task.nbytes > _LITTLE:
            sent = client.scatter(task, broadcast=True, hash=False)
        if makings is None:
            futures = _added(client, sent, groups, blocks, held)
        else:
            futures = [
                client.submit(_make_and_add, sent, starts, [makings[i] for i in each], pure=False)
                for starts, each, _ in groups
            ]
        from distributed import as_completed

        left = {future.key: group.size for future, group in zip(futures, groups)}
        for future in as_completed(futures):
            told(left[future.key])
        while len(futures) > _MOST_JOINED:
            futures = _joined(client, futures)
        first: Partials = futures[0].result()
        if len(futures) * first.nbytes <= _LITTLE:
            return join(first, *client.gather(futures[1:]))
        found: Partials = _joined(client, futures)[0].result()
        return found


class _Group(NamedTuple):
    """Blocks that one task adds up: how many rows come before each, which, and how many rows."""

    starts: list[int]
    blocks: list[int]
    size: int


def _added(
    client: Any, task: Any, groups: list[_Group], blocks: list[list[Any]], held: dict[Any, Any]
) -> list[Any]:
    """Return futures of what groups of blocks add, in order."""
    given = [[x for i in group.blocks for x in blocks[i]] for group in groups]
    found = [[held.get(x.key) for x in each] for each in given]
    if all(None not in parts for parts in found):  # no graph is to be made, and none to be sent
        return [
            client.submit(_add, task, group.starts, *parts, pure=False)
            for group, parts in zip(groups, found)
        ]
    from dask import delayed

    made = [delayed(_add)(task, group.starts, *each) for group, each in zip(groups, given)]
    futures: list[Any] = client.compute(made)
    return futures


class _Making:
    """How the arrays of a block are made: a graph of Dask's, and their keys in it.

    It is no tuple, which Dask would look through for what is on workers.
    """

    def __init__(self, graph: dict[Any, Any], keys: list[Any]) -> None:
        self.graph = graph
        self.keys = keys


def _makings(blocks: list[list[Any]]) -> list[_Making] | None:
    """Return how each block is made; None where blocks have anything in common.

    What only one block needs, as when each is read from a file, is made in the task that adds it
    up: the scheduler has one task in the place of some, and no block is sent or kept.
    """
    from dask.optimization import cull

    # the blocks of an array share one
    graphs = {id(x.__dask_graph__()): x.__dask_graph__() for each in blocks for x in each}
    every = {key: made for graph in graphs.values() for key, made in dict(graph).items()}
    found: list[_Making] = []
    keys: set[Any] = set()
    for each in blocks:
        graph, _ = cull(every, [x.key for x in each])
        if not keys.isdisjoint(graph):
            return None
        keys.update(graph)
        found.append(_Making(dict(graph), [x.key for x in each]))
    return found


def _make_and_add(task: Task, starts: list[int], makings: list[_Making]) -> Partials:
    """Return what some blocks add, each of which is made first, and dropped before the next."""
    from dask.local import get_sync

    found = Partials()
    for making, start in zip(makings, starts):
        found = join(found, task(get_sync(making.graph, making.keys), start))
    return found


def _held(leaves: list[Any]) -> dict[Any, Any]:
    """Return futures of blocks that are on workers or will be, as of persisted arrays, by keys."""
    from distributed import futures_of

    return {x.key: x for leaf in leaves if is_of_dask(leaf) for x in futures_of(leaf)}


def _joined(client: Any, futures: list[Any]) -> list[Any]:
    """Return futures of several parts each put together, on workers."""
    return [client.submit(join, *some, pure=False) for some in _batches(futures, _MOST_JOINED)]


def _client() -> Any:
    """Return the client of dask.distributed that is in force, None for none."""
    module = sys.modules.get("distributed")
    if module is None:
        return None
    try:
        return module.get_client()
    except ValueError:
        return None


def _blocks(leaves: list[Any]) -> tuple[list[list[Any]], list[int]]:
    """Return the blocks of all arrays, cut where the first one of Dask's is, and their sizes."""
    import dask.array

    like = next(leaf for leaf in leaves if is_of_dask(leaf))
    sizes = like.chunks[0]
    columns = []
    for leaf in leaves:
        chunks = (sizes, *((size,) for size in leaf.shape[1:]))
        cut = leaf if is_of_dask(leaf) else dask.array.from_array(leaf, chunks=chunks)
        columns.append(cut.rechunk(chunks).to_delayed().ravel().tolist())
    return [list(block) for block in zip(*columns)], list(sizes)


def _by_holder(
    client: Any,
    held: dict[Any, Any],
    leaves: list[Any],
    blocks: list[list[Any]],
    sizes: list[int],
) -> list[list[int]]:
    """Return which blocks a task adds up: several if one worker has them, else one."""
    places = client.who_has(list(held.values())) if held else {}
    of_one = _bytes_of_row(leaves)
    open_: dict[tuple[str, ...], tuple[list[int], int]] = {}
    groups: list[list[int]] = []
    for i, block in enumerate(blocks):
        parts = [part.key for part, leaf in zip(block, leaves) if is_of_dask(leaf)]
        where = {tuple(sorted(places.get(key, ()))) for key in parts}
        bytes_ = of_one * sizes[i]
        worker = where.pop() if len(where) == 1 else ()
        group, before = open_.get(worker, ([], _AT_ONCE))
        if not worker or before + bytes_ > _AT_ONCE:
            group, before = [], 0
            groups.append(group)
        group.append(i)
        open_[worker] = group, before + bytes_
    return groups


def _in_a_row(client: Any, leaves: list[Any], sizes: list[int]) -> list[list[int]]:
    """Return which blocks a task makes and adds up: neighbours, in groups for all workers."""
    if len(sizes) <= _TASKS_A_WORKER:
        return [[i] for i in range(len(sizes))]
    workers = max(1, len(client.nthreads()))
    of_one = _bytes_of_row(leaves)
    most = min(_AT_ONCE, of_one * sum(sizes) // (_TASKS_A_WORKER * workers))
    groups: list[list[int]] = []
    left = 0
    for i, size in enumerate(sizes):
        if not groups or of_one * size > left:
            groups.append([])
            left = most
        groups[-1].append(i)
        left -= of_one * size
    return groups


def _bytes_of_row(leaves: list[Any]) -> int:
    return sum(leaf.dtype.itemsize * math.prod(leaf.shape[1:]) for leaf in leaves)


def _add(task: Task, starts: list[int], *arrays: Any) -> Partials:
    """Return what some blocks add, whose arrays follow one another."""
    width = len(arrays) // len(starts)
    parts = [task(arrays[i * width : (i + 1) * width], start) for i, start in enumerate(starts)]
    return join(*parts)


def _batches(parts: list[Any], count: int) -> list[list[Any]]:
    return [parts[i : i + count] for i in range(0, len(parts), count)]


def _computed(task: Task, blocks: list[list[Any]], starts: list[int], told: Told) -> Partials:
    """Return the sums by the scheduler of Dask's that is chosen."""
    import dask
    from dask import delayed

    parts = [delayed(_add)(task, [start], *block) for start, block in zip(starts, blocks)]
    while len(parts) > 1:
        parts = [delayed(join)(*some) for some in _batches(parts, _MOST_JOINED)]
    (found,) = dask.compute(parts[0])
    told(starts[-1])
    result: Partials = found
    return result
