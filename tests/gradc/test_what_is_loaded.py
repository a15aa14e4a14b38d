"""What a first call loads: no library that it does not need, and no LLVM where all is on disk."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
import numpy as np
import gradc

value, slope = gradc.compile(lambda x: np.sum(np.tanh(x) * x)).value_and_grad(np.ones(3))
heavy = {"scipy.sparse", "scipy.linalg", "sympy", "optree", "llvmlite.binding"}
heavy |= {"gradc.runtime." + name for name in ("bound_call", "fast_path", "pullback")}
print(*sorted(heavy & set(sys.modules)))
"""


def test_small_functions_load_little(tmp_path: Path) -> None:
    env = {**os.environ, "GRADC_CACHE": "1", "GRADC_CACHE_DIR": str(tmp_path)}

    def loaded() -> list[str]:
        given = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(given, env=env, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert loaded() == ["llvmlite.binding"]
    if sys.platform == "linux" and platform.machine() == "x86_64":
        assert loaded() == []
