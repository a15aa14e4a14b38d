"""Functions of cells of a notebook in other processes: of Python's own, and of libraries.

The program is one that no other process can import. Libraries that are not installed are left out;
`make test-parallel` installs them all.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

CELLS = """
import numpy as np
import gradc

scale = 2.0
weights = np.arange(3.0)

def helper(x):
    return np.sin(x) * scale

@gradc.compile
def loss(x):
    return np.sum(helper(x) * weights)

class Model:
    def __init__(self):
        self.rate = 3.0

    @gradc.compile
    def step(self, x):
        return self.rate * helper(x)

def closed(k):
    return gradc.compile(lambda x: np.tanh(x) * k)

points = np.arange(6.0).reshape(2, 3)
functions = [
    loss, loss.value_and_grad, gradc.grad(loss), gradc.vmap(lambda x: x * scale),
    Model().step, Model().step.jacobian, closed(3.0),
]
for function in functions:
    expected = [function(point) for point in points]
    found = run(function, points)
    assert list(map(str, found)) == list(map(str, expected)), (function, found)
print("all is well")
"""

# what runs a function at each of some points, in other processes
RUNS = {
    "multiprocessing": """
from multiprocessing import get_context

pool = get_context("spawn").Pool(1)

def run(function, points):
    return pool.map(function, points)
""",
    "concurrent": """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

pool = ProcessPoolExecutor(1, get_context("fork"))

def run(function, points):
    return list(pool.map(function, points))
""",
    "joblib": """
from joblib import Parallel, delayed

def run(function, points):
    return Parallel(2)(delayed(function)(point) for point in points)
""",
    "dask": """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
import dask

pool = ProcessPoolExecutor(1, get_context("spawn"))

def run(function, points):
    results = [dask.delayed(function)(point) for point in points]
    return dask.compute(*results, scheduler="processes", pool=pool)
""",
    "distributed": """
from distributed import Client

client = Client(n_workers=1, threads_per_worker=1, dashboard_address=None)

def run(function, points):
    return client.gather(client.map(function, points))
""",
    "ray": """
import ray

ray.init(num_cpus=1, include_dashboard=False, logging_level="ERROR", log_to_driver=False)

def run(function, points):
    remote = ray.remote(lambda point: function(point))
    return ray.get([remote.remote(point) for point in points])
""",
}


@pytest.mark.parametrize("library", RUNS)
def test_cells_of_a_notebook(library: str, tmp_path: Path) -> None:
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, sys.path)]),
        "GRADC_CACHE": "1",
        "GRADC_CACHE_DIR": str(tmp_path / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", RUNS[library] + CELLS],
        env=env, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.stdout.endswith("all is well\n"), done.stderr
