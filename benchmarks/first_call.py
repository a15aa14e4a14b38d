"""What first calls cost, in a first process and in one that finds all on disk: ms of CPU time.

    python benchmarks/first_call.py [runs]

Each line is the least and the median of fresh processes, after ``import gradc``. The cache is a
folder of the benchmark's own.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

SMALL = """
import time
clock = time.process_time
import numpy as np
import gradc

start = clock()
if LLVMLITE:
    import llvmlite.binding
loaded = clock()

@gradc.compile
def loss(w):
    return np.sum(np.log1p(np.exp(-w * w))) * w[0]

@gradc.compile
def further(w):
    return np.sum(np.tanh(-w * w)) * w[0]

x = np.arange(3.0)
loss.value_and_grad(x)
first = clock()
further.value_and_grad(x)
print(1e3 * (first - start), 1e3 * (clock() - first), 1e3 * (loaded - start))
"""

PROCESS = """
import time
clock = time.process_time
import numpy as np
import gradc

start = clock()
rng = np.random.default_rng(0)
X = rng.normal(size=(30, 2))
y = np.sin(X[:, 0])

@gradc.compile
def loss(p, X, y):
    d = (X[:, None, :] - X[None, :, :]) / np.exp(p[:2])
    K = np.exp(p[2]) * np.exp(-0.5 * np.sum(d * d, axis=-1)) + np.exp(p[3]) * np.eye(len(y))
    L = np.linalg.cholesky(K)
    return 0.5 * y @ np.linalg.solve(K, y) + np.sum(np.log(np.diag(L)))

loss.value_and_grad(np.zeros(4), X, y)
first = clock()
loss.hessian(np.zeros(4), X, y)
print(1e3 * (clock() - start), 1e3 * (first - start), 1e3 * (clock() - first))
"""

_TABLES = (
    ("small", SMALL.replace("LLVMLITE", "False"), ("value and gradient", "of a further one")),
    ("small, llvmlite apart", SMALL.replace("LLVMLITE", "True"), ("in all", "", "llvmlite")),
    ("Gaussian process", PROCESS, ("gradient and Hessian", "gradient", "Hessian")),
)


def measured(program: Path, cache: str) -> list[float]:
    """Return the milliseconds that a program prints in a fresh process."""
    env = {**os.environ, "GRADC_CACHE": "1", "GRADC_CACHE_DIR": cache}
    env.pop("PYTHONDONTWRITEBYTECODE", None)  # or each process compiles all of gradc's own code
    done = subprocess.run(
        [sys.executable, str(program)], env=env, capture_output=True, text=True, check=True
    )
    return [float(each) for each in done.stdout.split()]


def told(label: str, names: Sequence[str], runs: Sequence[Sequence[float]]) -> None:
    """Print one line: the least and the median of each number."""
    columns = zip(names, zip(*runs, strict=True), strict=False)
    parts = [f"{name} {min(c):.1f} ({statistics.median(c):.1f})" for name, c in columns if name]
    print(f"{label:45} {', '.join(parts)}")


def main() -> None:
    """Print each program's figures without and with what an earlier process has kept."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    for name, text, names in _TABLES:
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program.py"
            program.write_text(text)
            measured(program, f"{folder}/warm")  # writes byte code, and what is kept
            anew = [measured(program, f"{folder}/{run}") for run in range(count)]
            told(f"{name}, first process", names, anew)
            kept = [measured(program, f"{folder}/warm") for _ in range(count)]
            told(f"{name}, second process", names, kept)


if __name__ == "__main__":
    main()
