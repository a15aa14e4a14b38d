"""How fast rows go by: one process, blocks of a file, workers of Dask's, and loops of NumPy there.

``make bench-scale`` runs this. Value and gradient of a logistic regression; each contestant has the
same generated rows. The figures are gigabytes of them a second, by the clock, and a second of a
processor's time, workers' included: the best of some turns.

``--file 2 --gigabytes 20`` goes through a file of 2 GB ten times in each pass, as if it were 20 GB
that memory does not hold, in this process and on workers that map the file; and says how much
memory they took.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import gradc
from gradc import distributed

FEATURES = 30
CHUNK = 4096


@gradc.compile(blas=False)
def logistic(w, x, y):
    """Return the mean negative log likelihood of labels y, -1 or 1."""
    return np.mean(np.log(1 + np.exp(-y * (x @ w))))


def by_numpy(w, x, y):
    """Return the sums of the value and of the gradient of some rows, as one would write it."""
    margin = y * (x @ w)
    return np.logaddexp(0, -margin).sum(), -((y / (1 + np.exp(margin))) @ x)


def generated(start, stop):
    """Return rows, which their numbers decide."""
    numbers = np.arange(start * FEATURES, stop * FEATURES, dtype=np.float64)
    x = np.sin(numbers).reshape(-1, FEATURES)
    return x, np.sign(np.sin(np.arange(start, stop) * 0.7) + 0.1)


def rows_on_workers(rows, pieces):
    """Return arrays of Dask's whose blocks the workers make."""
    import dask
    import dask.array

    borders = list(itertools.pairwise(distributed.cuts(rows, pieces)))
    blocks = [dask.delayed(generated, nout=2)(*each) for each in borders]
    return [
        dask.array.concatenate(
            [
                dask.array.from_delayed(block[i], (stop - start, *shape), dtype=float)
                for block, (start, stop) in zip(blocks, borders)
            ]
        )
        for i, shape in ((0, (FEATURES,)), (1, ()))
    ]


def of_file(folder, held, start, stop):
    """Return rows of a file that is gone through over and over."""
    first = start % held
    names = (("x", (held, FEATURES)), ("y", (held,)))
    arrays = (np.memmap(Path(folder) / name, np.float64, "r", shape=each) for name, each in names)
    return tuple(array[first : first + stop - start] for array in arrays)


def most_memory():
    """Return the gigabytes that a process has had at once, mapped files among them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e6


def beyond_memory(options):
    """Go through a file several times in each pass, here and on workers."""
    import dask
    import dask.array
    from distributed import Client, LocalCluster

    piece = int(0.1e9 / 8 / (FEATURES + 1)) // CHUNK * CHUNK
    held = int(options.file * 1e9 / 8 / (FEATURES + 1)) // piece * piece
    rows = int(options.gigabytes * 1e9 / 8 / (FEATURES + 1)) // piece * piece
    size, w = rows * 8 * (FEATURES + 1), np.linspace(-1, 1, FEATURES)
    places = [(start, start + piece) for start in range(0, rows, piece)]
    value_and_grad = distributed.value_and_grad(logistic, ("x", "y"))
    warnings.simplefilter("ignore")

    def show(name, seconds):
        print(f"{name:40} {size / seconds / 1e9:8.2f} gigabytes a second of a processor's time")

    with tempfile.TemporaryDirectory() as folder:
        with open(Path(folder) / "x", "wb") as x, open(Path(folder) / "y", "wb") as y:
            for start, stop in itertools.pairwise(range(0, held + 1, piece)):
                for file, array in zip((x, y), generated(start, stop)):
                    array.tofile(file)
        blocks = distributed.Blocks(
            lambda: (of_file(folder, held, *each) for each in places), count=rows
        )
        expected = value_and_grad(w, blocks=blocks)
        _, used = best(lambda: value_and_grad(w, blocks=blocks), options.turns, time.process_time)
        print(f"{size / 1e9:.1f} GB in all; this process has had {most_memory():.2f} GB")
        show("gradc, in blocks", used)
        cluster = LocalCluster(
            n_workers=options.workers, threads_per_worker=1, dashboard_address=None
        )
        with cluster, Client(cluster) as client:
            made = [dask.delayed(of_file, nout=2)(folder, held, *each) for each in places]
            arrays = [
                dask.array.concatenate(
                    [dask.array.from_delayed(x[i], (piece, *more), dtype=float) for x in made]
                )
                for i, more in ((0, (FEATURES,)), (1, ()))
            ]
            found = value_and_grad(w, *arrays)
            assert found[0] == expected[0]
            assert (found[1] == expected[1]).all()
            calls = {
                "gradc, on workers of Dask's": lambda: value_and_grad(w, *arrays),
                "a loop of NumPy, on workers of Dask's": lambda: dask.compute(
                    *[dask.delayed(by_numpy)(w, x[0], x[1]) for x in made]
                ),
            }
            for name, call in calls.items():
                clock = lambda: sum(client.run(time.process_time).values())  # noqa: E731
                show(name, best(call, options.turns, clock)[1])
                memory = client.run(most_memory).values()
                print("workers have had", ", ".join(f"{each:.2f} GB" for each in memory))


def best(call, turns, clock=time.perf_counter):
    """Return the least seconds of some turns after one to warm up, and of processors' time."""
    call()
    found = []
    for _ in range(turns):
        start, used = time.perf_counter(), clock()
        call()
        found.append((time.perf_counter() - start, clock() - used))
    return tuple(map(min, zip(*found)))


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--file", type=float, help="gigabytes that are there, of those in all")
    options = parser.parse_args()
    if options.file:
        beyond_memory(options)
        return
    rows = int(options.gigabytes * 1e9 / 8 / (FEATURES + 1)) // CHUNK * CHUNK
    x, y = generated(0, rows)
    w = np.linspace(-1, 1, FEATURES)
    size = x.nbytes + y.nbytes
    value_and_grad = distributed.value_and_grad(logistic, ("x", "y"))
    expected = logistic.value_and_grad(w, x, y)

    def show(name, call, clock=time.process_time):
        seconds, used = best(call, options.turns, clock)
        rates = (f"{size / each / 1e9:8.2f}" for each in (seconds, used))
        print(f"{name:40}", *rates, flush=True)

    print(f"{rows} rows of {FEATURES + 1} numbers, {size / 1e9:.1f} GB")
    print(f"{'gigabytes a second':40}   clock  a processor's")
    show("gradc, all rows at once", lambda: logistic.value_and_grad(w, x, y))
    show("gradc, in blocks", lambda: value_and_grad(w, x, y))
    with tempfile.TemporaryDirectory() as folder:
        held = np.memmap(Path(folder) / "x", np.float64, "w+", shape=x.shape)
        held[:] = x
        show("gradc, blocks of a file", lambda: value_and_grad(w, held, y))
    block = 16 * CHUNK

    def numpy_loop():
        for i in range(0, rows, block):
            by_numpy(w, x[i : i + block], y[i : i + block])

    show("NumPy, in blocks", numpy_loop)

    import dask
    from distributed import Client, LocalCluster

    warnings.simplefilter("ignore")
    cluster = LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        on_workers = client.persist(rows_on_workers(rows, 8 * options.workers))
        client.compute([array.sum() for array in on_workers], sync=True)
        a, b = (array.to_delayed().ravel().tolist() for array in on_workers)
        add = dask.delayed(by_numpy)
        found = value_and_grad(w, *on_workers)
        assert found[0] == expected[0]
        assert (found[1] == expected[1]).all()
        times = {
            "gradc, on workers of Dask's": lambda: value_and_grad(w, *on_workers),
            "a loop of NumPy, on workers of Dask's": lambda: dask.compute(
                *[add(w, *each) for each in zip(a, b)]
            ),
        }
        for name, call in times.items():
            show(name, call, lambda: sum(client.run(time.process_time).values()))


if __name__ == "__main__":
    main()
