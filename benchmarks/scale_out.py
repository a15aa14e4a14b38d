"""How fast rows go by: one process, blocks of a file, workers of Dask's, and loops of NumPy there.

``make bench-scale`` runs this. Value and gradient of a logistic regression; each contestant has the
same generated rows. The figures are gigabytes of them a second, by the clock, and a second of a
processor's time, workers' included: the best of some turns.
"""

from __future__ import annotations

import argparse
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
    options = parser.parse_args()
    rows = int(options.gigabytes * 1e9 / 8 / (FEATURES + 1)) // CHUNK * CHUNK
    random = np.random.default_rng(0)
    x, y = random.normal(size=(rows, FEATURES)), np.sign(random.normal(size=rows))
    w = random.normal(size=FEATURES) / 10
    size = x.nbytes + y.nbytes
    value_and_grad = distributed.value_and_grad(logistic, ("x", "y"))
    expected = logistic.value_and_grad(w, x, y)

    def show(name, call, clock=time.process_time):
        seconds, used = best(call, options.turns, clock)
        rates = (f"{size / each / 1e9:8.2f}" for each in (seconds, used))
        print(f"{name:40}", *rates, flush=True)

    print(f"{rows} rows of {FEATURES + 1} numbers, {size / 1e9:.1f} GB")
    print(f"{'gigabytes a second':40}   clock  a processor's")
    show(
        "gradc, all rows at once", best(lambda: logistic.value_and_grad(w, x, y), options.turns), 1
    )
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
    import dask.array
    from distributed import Client, LocalCluster

    warnings.simplefilter("ignore")
    cluster = LocalCluster(n_workers=options.workers, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        some = distributed.cuts(rows, 8 * options.workers)
        sizes = tuple(np.diff(some).tolist())
        on_workers = client.persist(
            [dask.array.from_array(x, (sizes, FEATURES)), dask.array.from_array(y, (sizes,))]
        )
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
