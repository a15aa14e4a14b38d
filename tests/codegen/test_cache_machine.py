"""Which machine code is kept for, known without LLVM."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from gradc_codegen.cache import files, machine
from gradc_codegen.target.processor import processor

linux = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.uname().machine != "x86_64",
    reason="is for Linux on x86-64",
)

PROGRAM = """
import sys
import numpy as np
import gradc

@gradc.compile
def f(x):
    return np.sum(np.sin(x) * np.log1p(x))

f.value_and_grad(np.ones(3))
f.value_and_grad(np.ones(3))
print("llvmlite" in sys.modules)
"""


@linux
def test_every_core_says_the_same() -> None:
    here = os.sched_getaffinity(0)
    found = set()
    try:
        for core in here:
            os.sched_setaffinity(0, {core})
            found.add(processor.__wrapped__())
    finally:
        os.sched_setaffinity(0, here)
    assert len(found) == 1
    assert None not in found


@linux
def test_a_second_process_loads_no_llvm(tmp_path: os.PathLike[str]) -> None:
    (program := os.path.join(tmp_path, "program.py"))
    with open(program, "w") as file:
        file.write(PROGRAM)
    env = {**os.environ, "GRADC_CACHE": "1", "GRADC_CACHE_DIR": os.path.join(tmp_path, "kept")}
    found = [
        subprocess.run(
            [sys.executable, program], env=env, capture_output=True, text=True, check=True
        ).stdout.strip()
        for _ in range(2)
    ]
    assert found == ["True", "False"]


def test_what_llvm_told_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: dict[tuple[str, ...], bytes] = {}
    monkeypatch.setattr(files, "read", lambda *names: kept.get(names))
    monkeypatch.setattr(files, "write", lambda held, *names: kept.update({names: held}))
    monkeypatch.setattr(machine, "_BINDINGS", "not loaded")
    monkeypatch.setattr(machine, "processor", lambda: (1, 2, 3))
    asked = machine.machine.__wrapped__
    told = asked()
    assert told == machine._told()
    monkeypatch.setattr(machine, "_told", lambda: ("another",))
    assert asked() == told
    monkeypatch.setattr(machine, "processor", lambda: (1, 2, 4))
    assert asked() == ("another",)
    monkeypatch.setattr(machine, "processor", lambda: None)
    assert asked() == ("another",)
    assert len(kept) == 2
