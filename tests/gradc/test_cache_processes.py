"""Processes that share a cache: killed, many at once, on a full disk, with what others damaged."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the driver forks")


def run(cache: Path, *args: str, code: str | None = None, **more: str) -> str:
    """Return what a program prints that uses a cache."""
    env = {**os.environ, "GRADC_CACHE": "1", "GRADC_CACHE_DIR": str(cache), **more}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), *(path for path in sys.path if path)])
    what = ["-m", "tests.cache_processes", *args] if code is None else ["-c", code]
    done = subprocess.run(
        [sys.executable, *what], env=env, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_processes_that_are_killed(tmp_path: Path) -> None:
    run(tmp_path, "kill", "24")


@pytest.mark.slow
def test_two_hundred_processes_that_are_killed(tmp_path: Path) -> None:
    run(tmp_path, "kill", "200")


def test_processes_that_share(tmp_path: Path) -> None:
    run(tmp_path, "share", "6")


@pytest.mark.slow
def test_sixty_four_processes_that_share(tmp_path: Path) -> None:
    run(tmp_path, "share", "64")


MODEL = """
import numpy as np
import gradc

W = np.arange(3.0)

@gradc.compile
def loss(x):
    return np.sum(np.exp(-x) * W)

print([part.hex() for part in np.hstack(loss.value_and_grad(np.array([0.5, 1.5, 2.5])))])
"""


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    program = tmp_path / "model.py"
    program.write_text(MODEL)
    code = f"import runpy; runpy.run_path({str(program)!r})"
    first = run(tmp_path / "cache", code=code, GRADC_LOG="cache")
    assert first.count("kept") > 2
    rest = ("gradc.pipeline", "gradc.tracing.record.trace", "gradc_codegen.schedule", "optree")
    more = f"; import sys; assert not [name for name in {rest} if name in sys.modules]"
    second = run(tmp_path / "cache", code=code + more, GRADC_LOG="cache")
    assert second.splitlines()[0] == first.splitlines()[0]
    assert second.count("the trace is kept, as") == 1
    assert len(second.splitlines()) == 2


@pytest.mark.slow
def test_five_hundred_damages(tmp_path: Path) -> None:
    run(tmp_path, "damage", "500")


def test_files_that_are_damaged(tmp_path: Path) -> None:
    program = tmp_path / "model.py"
    program.write_text(MODEL)
    code = f"import runpy; runpy.run_path({str(program)!r})"
    first = run(tmp_path / "cache", code=code)
    draw = random.Random(3)
    for path in (tmp_path / "cache").rglob("*"):
        if path.is_file():
            data = bytearray(path.read_bytes())
            data[draw.randrange(len(data))] ^= 0x10
            path.write_bytes(data)
    second = run(tmp_path / "cache", code=code, GRADC_LOG="cache")
    assert second.splitlines()[0] == first.splitlines()[0]
    assert second.count("is not as it was written, and is removed") >= 2


FULL = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (600, resource.RLIM_INFINITY))
"""


def test_a_full_disk(tmp_path: Path) -> None:
    said = run(tmp_path / "cache", code=FULL + MODEL, GRADC_LOG="cache")
    assert said.count("is not kept: [Errno 27]") >= 2
    assert not [path for path in (tmp_path / "cache").rglob("*") if path.is_file()]


def test_no_home_and_a_home_that_is_read_only(tmp_path: Path) -> None:
    for home in ("", str(tmp_path / "nobody"), "/proc/1"):
        said = run(tmp_path, code=MODEL, GRADC_CACHE_DIR="", HOME=home, XDG_CACHE_HOME="")
        assert said.startswith("[")
