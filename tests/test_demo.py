"""The demo on real data runs to its end, and its gradient is as accurate as its terms allow."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import mpmath
import numpy as np
import pytest

DEMO = Path(__file__).resolve().parent.parent / "examples" / "breast_cancer.py"


@pytest.fixture(scope="module")
def demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("breast_cancer", DEMO)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_demo_finds_what_it_has_to() -> None:
    done = subprocess.run([sys.executable, DEMO], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAIL" not in done.stdout


def exact_gradient(w, x, y, penalty):
    """Return the gradient to 40 digits, and for each entry the sum of its absolute terms."""
    with mpmath.workdps(40):
        columns = [[mpmath.mpf(1), *map(mpmath.mpf, row)] for row in x.tolist()]
        weights, labels = [list(map(mpmath.mpf, v.tolist())) for v in (w, y)]
        slopes = [
            -label / (1 + mpmath.exp(label * mpmath.fdot(weights, row)))
            for label, row in zip(labels, columns, strict=True)
        ]
        terms = [[slope * row[j] for slope, row in zip(slopes, columns, strict=True)]
                 + [penalty * weights[j] * (j > 0)] for j in range(len(weights))]  # fmt: skip
        return [mpmath.fsum(t) for t in terms], [float(mpmath.fsum(map(abs, t))) for t in terms]


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_gradient_against_forty_digits(demo: ModuleType, seed: int | None) -> None:
    x, y = demo.read_table()
    w = np.zeros(31) if seed is None else np.random.default_rng(seed).standard_normal(31)
    exact, magnitude = exact_gradient(w, x, y, demo.PENALTY)
    found = demo.logistic.grad(w, x, y)
    error = [abs(float(mpmath.mpf(g) - e)) for g, e in zip(found.tolist(), exact, strict=True)]
    assert max(error) <= 1e-14 * max(magnitude)
