"""MPI: every process has some of the rows and makes the same calls, and all have the result."""

from __future__ import annotations

from typing import Any

from gradc.distributed.blocks import Rows, pieces
from gradc.distributed.engine import Told
from gradc.row_sums.partials import Partials, join
from gradc.row_sums.task import Task
from gradc_ir.errors import MissingLibraryError


class Mpi:
    """The processes of a communicator, by mpi4py; the rows follow each other in their order."""

    def __init__(self, comm: Any) -> None:
        self._comm = comm
        self._start = 0

    def like(self, leaves: list[Any]) -> list[Rows]:
        """Return what is like the rows of all processes."""
        count = leaves[0].shape[0]
        counts = self._comm.allgather(count)
        self._start = sum(counts[: self._comm.Get_rank()])
        return [Rows((sum(counts), *leaf.shape[1:]), leaf.dtype) for leaf in leaves]

    def total(self, task: Task, leaves: list[Any], told: Told) -> Partials:
        """Return what the rows of all processes add to the sums.

        What one of them raises, all of them raise: else the others would wait for it.
        """
        found: Any = Partials()
        try:
            start = self._start
            for block in pieces(leaves, leaves[0].shape[0]):
                found = join(found, task(block, start))
                start += len(block[0])
                told(len(block[0]))
        except Exception as error:
            error.add_note(f"in process {self._comm.Get_rank()}")
            found = error
        found = self._comm.bcast(self._comm.reduce(found, op=_join, root=0), root=0)
        if isinstance(found, Exception):
            raise found
        result: Partials = found
        return result


def _join(first: Any, second: Any) -> Any:
    for each in (first, second):
        if isinstance(each, Exception):
            return each
    try:
        return join(first, second)
    except Exception as error:
        return error


def mpi(comm: Any = None) -> Mpi:
    """Return the processes of an MPI communicator as an engine, of all processes by default.

    Each calls the same functions with rows of its own. Raises MissingLibraryError without mpi4py.
    """
    if comm is None:
        try:
            from mpi4py import MPI
        except ImportError as error:
            raise MissingLibraryError(
                "gradc.distributed.mpi needs mpi4py", help="pip install mpi4py"
            ) from error
        comm = MPI.COMM_WORLD
    return Mpi(comm)
