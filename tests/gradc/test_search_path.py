"""A file of the user may be called as a package that gradc needs: the package is still found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MODEL = "import numpy as np\n\n\ndef f(x):\n    return np.sum(np.sin(x) * np.cos(x))\n"
WITH_HELPER = "import numpy as np\nimport helper\n\n\ndef f(x):\n    return helper.g(np.sum(x))\n"


def check(folder: Path, *command: str, target: str) -> str:
    """Run ``gradc check`` in a folder, where gradc itself comes from the search path."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, *command, "check", target, "--spec", "x: f64[3]"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# as the installed command starts: the current folder is not on the search path
COMMAND = ("-P", "-c", "from gradc.cli.main import main; main()")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["numpy", "gradc", "scipy", "types"])
def test_a_file_called_as_a_package(name: str, tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text(MODEL)
    assert "another process" in check(tmp_path, *COMMAND, target=f"{name}.py:f")


@pytest.mark.slow
@pytest.mark.parametrize("target", ["model.py:f", "model:f"])
def test_such_a_file_beside_the_one_that_is_named(target: str, tmp_path: Path) -> None:
    for name in ("numpy", "scipy", "gradc", "sympy"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('a file of the user')\n")
    (tmp_path / "helper.py").write_text("def g(x):\n    return x * x\n")
    (tmp_path / "model.py").write_text(WITH_HELPER)
    assert "the process failed" not in check(tmp_path, *COMMAND, target=target)


@pytest.mark.slow
def test_python_m_gradc_beside_a_numpy_of_the_user_s(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise RuntimeError('a file of the user')\n")
    (tmp_path / "model.py").write_text(MODEL)
    check(tmp_path, "-m", "gradc", target="model.py:f")
