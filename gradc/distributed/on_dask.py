"""Dask's arrays as rows: each block is added up where it is, and the parts join in a tree."""

from __future__ import annotations

import itertools
import sys
from typing import Any

from gradc.distributed.blocks import Rows
from gradc.distributed.engine import Told
from gradc.row_sums.partials import Partials, join
from gradc.row_sums.task import Task
from gradc_ir.errors import ShapeError

_MOST_JOINED = 8


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
        made = [delayed(_add)(sent, start, *block) for start, block in zip(starts, blocks)]
        futures = client.compute(made)
        from distributed import as_completed

        left = {future.key: size for future, size in zip(futures, sizes)}
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


def _add(task: Task, start: int, *block: Any) -> Partials:
    return task(block, start)


def _batches(parts: list[Any], count: int) -> list[list[Any]]:
    return [parts[i : i + count] for i in range(0, len(parts), count)]


def _computed(task: Task, blocks: list[list[Any]], starts: list[int], told: Told) -> Partials:
    """Return the sums by the scheduler of Dask's that is chosen."""
    import dask
    from dask import delayed

    parts = [delayed(_add)(task, start, *block) for start, block in zip(starts, blocks)]
    while len(parts) > 1:
        parts = [delayed(join)(*some) for some in _batches(parts, _MOST_JOINED)]
    (found,) = dask.compute(parts[0])
    told(starts[-1])
    result: Partials = found
    return result
