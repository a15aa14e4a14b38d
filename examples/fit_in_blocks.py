"""Fits a logistic regression to rows in blocks on a cluster, and to all of them in one process.

``make demo-scale`` runs this on a local cluster of Dask's; without Dask the rows come in blocks. It
ends with status 1 unless both fits have the same bits.
"""

from __future__ import annotations

import importlib.util
import sys
import warnings
from contextlib import contextmanager

import numpy as np
from scipy.optimize import minimize

import gradc
from gradc import distributed

ROWS, FEATURES, BLOCK = 1_000_003, 20, 61_440
TRUE = np.linspace(-1, 1, FEATURES)


@gradc.compile(blas=False)
def loss(w, x, y):
    """Return the mean negative log likelihood of labels y (-1 or 1), and a penalty."""
    return np.mean(np.log(1 + np.exp(-y * (x @ w)))) + 1e-4 * np.sum(w**2)


def block_of(number):
    """Return a block of features and labels, as if read from a file."""
    random = np.random.default_rng(number)
    count = min(BLOCK, ROWS - number * BLOCK)
    x = random.normal(size=(count, FEATURES))
    return x, np.where(x @ TRUE + random.logistic(size=count) > 0, 1.0, -1.0)


def in_blocks():
    """Return the rows as blocks, each made when it is needed."""
    numbers = range(-(-ROWS // BLOCK))
    return distributed.Blocks(lambda: map(block_of, numbers), ROWS)


@contextmanager
def on_a_cluster():
    """Give the rows as arrays of Dask's on a cluster of two workers; a worker makes its blocks."""
    import dask
    import dask.array
    from distributed import Client, LocalCluster

    sizes = [min(BLOCK, ROWS - start) for start in range(0, ROWS, BLOCK)]
    blocks = [dask.delayed(block_of, nout=2)(number) for number in range(len(sizes))]
    x, y = (
        dask.array.concatenate(
            [
                dask.array.from_delayed(block[i], (size, *shape), dtype=float)
                for block, size in zip(blocks, sizes)
            ]
        )
        for i, shape in ((0, (FEATURES,)), (1, ()))
    )
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        yield client.persist([x, y])


def main():
    """Fit both ways, and say whether the bits are the same."""
    start = np.zeros(FEATURES)
    if importlib.util.find_spec("distributed"):
        warnings.simplefilter("ignore")  # Dask's, of ports and the like
        with on_a_cluster() as (x, y):
            print(f"{ROWS} rows in {x.numblocks[0]} blocks, on two workers of Dask's")
            found = distributed.minimize(loss, start, x, y, rows=("x", "y"), progress=True)
    else:
        print(f"{ROWS} rows in blocks of {BLOCK}")
        found = distributed.minimize(
            loss, start, blocks=in_blocks(), rows=("x", "y"), progress=True
        )
    x, y = (np.concatenate(parts) for parts in zip(*in_blocks()))
    alone = minimize(lambda w: loss.value_and_grad(w, x, y), start, jac=True, method="L-BFGS-B")
    print(f"in blocks:      {found.nfev} calls, loss {found.fun.hex()}")
    print(f"in one process: {alone.nfev} calls, loss {alone.fun.hex()}")
    same = found.x.tobytes() == alone.x.tobytes()
    print("the weights have the same bits" if same else "FAIL: the weights differ")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
