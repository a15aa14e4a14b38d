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
from gradc_ir.errors import ShapeError

_MOST_JOINED = 8
# A task costs its worker some milliseconds before any row counts. Blocks that a worker holds go
# together up to so many bytes, which take ten times as long.
_AT_ONCE = 2**30


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
        from dask import delayed

        # once a pass and worker
        sent = client.scatter(task, broadcast=True, hash=False)
        groups = _together(client, leaves, blocks, sizes)
        made = [
            delayed(_add)(sent, [starts[i] for i in group], *(x for i in group for x in blocks[i]))
            for group in groups
        ]
        futures = client.compute(made)
        from distributed import as_completed

        left = {future.key: sum(sizes[i] for i in group) for future, group in zip(futures, groups)}
        for future in as_completed(futures):
            told(left[future.key])
        while len(futures) > 1:
            futures = [
                client.submit(join, *some, pure=False) for some in _batches(futures, _MOST_JOINED)
            ]
        found: Partials = futures[0].result()
        return found


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


def _together(
    client: Any, leaves: list[Any], blocks: list[list[Any]], sizes: list[int]
) -> list[list[int]]:
    """Return which blocks a task adds up: several if one worker has them, else one."""
    from distributed import futures_of

    held = [future for leaf in leaves if is_of_dask(leaf) for future in futures_of(leaf)]
    if not held:
        return [[i] for i in range(len(blocks))]
    places = client.who_has(held)
    of_one = sum(leaf.dtype.itemsize * math.prod(leaf.shape[1:]) for leaf in leaves)
    open_: dict[tuple[str, ...], tuple[list[int], int]] = {}
    groups = []
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
