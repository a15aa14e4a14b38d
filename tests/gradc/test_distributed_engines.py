"""Sums over rows on real engines: Dask's workers, one of them killed, and processes of MPI.

``make test-parallel`` has what they need; without it they are skipped.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from gradc import distributed
from tests.comparing import assert_same_bits

ROOT = Path(__file__).resolve().parents[2]
N = 200_003
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 3))
Y = np.sign(X @ [1.0, -2.0, 0.5] + RANDOM.normal(size=N))
W = RANDOM.normal(size=4)
ROWS = ("x", "y")


def logistic(w, x, y):
    margin = y * (w[0] + x @ w[1:])
    return np.mean(np.log(1 + np.exp(-margin))) + 0.05 * np.sum(w[1:] ** 2)


def of_standardised(w, x, y):
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    return np.mean(np.tanh(z @ w[1:]) * y)


def assert_same(found: Any, expected: Any) -> None:
    for one, other in zip(found, expected, strict=True):
        assert_same_bits(one, other)


@pytest.fixture(scope="module", params=[1, 2, 4])
def client(request: Any) -> Iterator[Any]:
    dask = pytest.importorskip("distributed")
    with (
        dask.LocalCluster(
            n_workers=request.param, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        dask.Client(cluster) as client,
    ):
        yield client


def arrays_of_dask() -> tuple[Any, Any]:
    array = pytest.importorskip("dask.array")
    return array.from_array(X, chunks=(30_000, 2)), array.from_array(Y, chunks=12_345)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("function", [logistic, of_standardised])
def test_workers_of_dask(client: Any, function: Any) -> None:
    told: list[tuple[int, ...]] = []
    on_all = distributed.value_and_grad(
        function, ROWS, progress=lambda *numbers: told.append(numbers)
    )
    assert_same(on_all(W, *arrays_of_dask()), gradc.value_and_grad(function)(W, X, Y))
    number, passes, done, rows = told[-1]
    assert (number, done, rows) == (passes - 1, N, N)


@pytest.mark.filterwarnings("ignore")
def test_blocks_that_a_worker_holds_go_together(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gradc.distributed import on_dask

    def squares(w, x):
        return np.sum((x @ w[1:]) ** 2)

    array, dask = pytest.importorskip("dask.array"), pytest.importorskip("distributed")
    held = client.persist(array.from_array(X, chunks=(12_345, 3)))
    dask.wait(held)
    workers, blocks = len(client.scheduler_info(n_workers=-1)["workers"]), len(held.chunks[0])
    expected = gradc.value_and_grad(squares)(W, X)
    for most, least in ((on_dask._AT_ONCE, 1), (0, blocks)):
        monkeypatch.setattr(on_dask, "_AT_ONCE", most)
        done: list[int] = []
        on_all = distributed.value_and_grad(
            squares, "x", progress=lambda *numbers, done=done: done.append(numbers[2])
        )
        assert_same(on_all(W, held), expected)
        assert least <= len({*done} - {0}) <= max(least, workers)


@pytest.mark.filterwarnings("ignore")
def test_blocks_that_need_nothing_of_each_other_are_made_where_they_are_added_up(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gradc.distributed import on_dask

    array, dask = pytest.importorskip("dask.array"), pytest.importorskip("dask")
    found: list[Any] = []
    kept = on_dask._makings
    monkeypatch.setattr(on_dask, "_makings", lambda blocks: found.append(kept(blocks)) or found[-1])

    def rows_of(start: int, stop: int) -> Any:
        return X[start:stop], Y[start:stop]

    cuts = distributed.cuts(N, 5)
    read = [dask.delayed(rows_of, nout=2)(*each) for each in itertools.pairwise(cuts)]
    rows = [
        array.concatenate(
            [
                array.from_delayed(both[i], (stop - start, *more), dtype=float)
                for both, start, stop in zip(read, cuts, cuts[1:])
            ]
        )
        for i, more in ((0, (3,)), (1, ()))
    ]
    expected = gradc.value_and_grad(logistic)(W, X, Y)
    on_all = distributed.value_and_grad(logistic, ROWS)
    assert_same(on_all(W, *rows), expected)
    assert [len(making.keys) for making in found[0]] == [2] * 5
    # neighbours go together, as long as all workers have some
    monkeypatch.setattr(on_dask, "_TASKS_A_WORKER", 1)
    done: list[int] = []
    on_all = distributed.value_and_grad(
        logistic, ROWS, progress=lambda *numbers: done.append(numbers[2])
    )
    assert_same(on_all(W, *rows), expected)
    workers = len(client.nthreads())
    assert workers <= len({*done} - {0}) <= min(5, 2 * workers)
    # blocks that are cut out of others, which several need
    assert_same(on_all(W, rows[0].rechunk((30_000, 3)), rows[1]), expected)
    assert found[-1] is None


@pytest.mark.filterwarnings("ignore")
def test_threads_of_dask() -> None:
    on_all = distributed.value_and_grad(logistic, ROWS)
    assert_same(on_all(W, *arrays_of_dask()), gradc.value_and_grad(logistic)(W, X, Y))


@pytest.mark.filterwarnings("ignore")
def test_errors_of_workers_name_the_rows(client: Any) -> None:
    def picked(w, k):
        return np.sum(w[k])

    k = np.zeros(N, int)
    k[150_000] = 9
    rows = pytest.importorskip("dask.array").from_array(k, chunks=40_960)
    with pytest.raises(gradc.IndexError) as caught:
        distributed.value(picked, "k")(W, rows)
    assert "index 9 is out of bounds" in str(caught.value)
    assert caught.value.__notes__ == ["in rows 131072 to 163840 of picked"]


@pytest.mark.filterwarnings("ignore")
def test_a_worker_that_is_killed_changes_nothing(client: Any) -> None:
    pids = list(client.run(os.getpid).values())
    if len(pids) < 2:
        pytest.skip("there is no worker to take over")
    array = pytest.importorskip("dask.array")

    def slow(block: Any) -> Any:
        time.sleep(0.3)
        return block

    x = array.from_array(X, chunks=(20_480, 3)).map_blocks(slow, dtype=X.dtype)
    y = array.from_array(Y, chunks=20_480)
    killer = threading.Timer(0.5, os.kill, (pids[0], signal.SIGKILL))
    killer.start()
    found = distributed.value_and_grad(logistic, ROWS)(W, x, y)
    killer.join()
    assert_same(found, gradc.value_and_grad(logistic)(W, X, Y))


PROCESS = """
import numpy as np
import gradc
from gradc import distributed
from mpi4py import MPI
from tests.gradc.test_distributed_engines import N, ROWS, W, X, Y, logistic, of_standardised

comm = MPI.COMM_WORLD
rank, count = comm.Get_rank(), comm.Get_size()
cuts = [0, 0, *(N * i // (count - 1) for i in range(1, count))]  # the first one has no row
mine = slice(cuts[rank], cuts[rank + 1])
for function in (logistic, of_standardised):
    on_all = distributed.value_and_grad(function, ROWS, engine=distributed.mpi())
    found = on_all(W, X[mine], Y[mine])
    expected = gradc.value_and_grad(function)(W, X, Y)
    assert found[0] == expected[0] and found[1].tobytes() == expected[1].tobytes()

def picked(w, k):
    return np.sum(w[k])

k = np.full(9000, 9 if rank == 1 else 0)
try:
    distributed.value(picked, "k", engine=distributed.mpi())(W, k)
except gradc.IndexError as error:
    assert error.__notes__[-1] == "in process 1", error.__notes__
    print("same", rank, flush=True)
"""


def test_processes_of_mpi(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    launcher = Path(sys.executable).with_name("mpiexec")
    if not launcher.exists() and shutil.which("mpiexec") is None:
        pytest.skip("no mpiexec")
    program = tmp_path / "process.py"
    program.write_text(textwrap.dedent(PROCESS), encoding="utf-8")
    made = subprocess.run(
        [
            str(launcher) if launcher.exists() else "mpiexec",
            "-n",
            "3",
            sys.executable,
            str(program),
        ],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert sorted(made.stdout.split("\n")) == ["", "same 0", "same 1", "same 2"], made.stderr
