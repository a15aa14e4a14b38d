"""The table of NumPy's functions: what loads what, and what a record says."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import gradc
import gradc.tracing.numpy
from gradc import on_need
from gradc.tracing.core.table import TABLE

LOADED = """
import json, sys
import numpy as np
import gradc

{program}
print(json.dumps([name for name in sys.modules if name.startswith("gradc.")]))
"""


# The files are announced when the rooms of NumPy are loaded, which the first trace does.
TABLE_OF_PROGRAM = "import gradc.tracing.numpy; from gradc.tracing.core.table import TABLE"


def loaded(program: str) -> set[str]:
    """Return the modules of gradc that a program has loaded in a process of its own."""
    code = LOADED.format(program=program)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_a_program_loads_what_it_calls() -> None:
    found = loaded("gradc.grad(lambda w: np.sum(np.log(1 + np.exp(-w))))(np.ones(3))")
    assert "gradc.tracing.numpy.math.ufuncs" in found
    rooms = ("gradc.scipy.", "gradc.special", "gradc.tracing.masked", "gradc.tracing.advice.ref")
    assert {name for name in found if name.startswith(rooms)} == {"gradc.scipy.libraries"}
    assert "gradc.tracing.numpy.linalg.least_squares" not in found
    assert "gradc.tracing.numpy.reduce.quantiles" not in found


@pytest.mark.parametrize(
    ("program", "module"),
    [
        ("gradc.grad(lambda w: np.linalg.det(w))(np.eye(2))", "tracing.numpy.linalg.determinants"),
        ("gradc.grad(lambda w: np.median(w))(np.ones(3))", "tracing.numpy.reduce.quantiles"),
        ("gradc.grad(lambda w: w[w > 0].sum())(np.ones(3))", "tracing.masked.selected"),
        ("gradc.grad(lambda w: np.r_[w, w].sum())(np.ones(3))", "tracing.numpy.create.grids"),
        ("import math; gradc.grad(lambda w: math.erf(w))(0.5)", "special.python_math"),
    ],
)
def test_the_rest_is_loaded_on_need(program: str, module: str) -> None:
    assert f"gradc.{module}" in loaded(program)


def test_a_name_with_a_module_begins_in_its_room() -> None:
    found = loaded(f"{TABLE_OF_PROGRAM}; TABLE['linalg.solve']")
    assert "gradc.tracing.numpy.linalg.solving" in found
    assert "gradc.tracing.numpy.reduce.reductions" not in found


def test_what_is_not_numpys_loads_nothing() -> None:
    program = f"{TABLE_OF_PROGRAM}; assert TABLE.of(len) is None"
    program += "; assert TABLE.of([]) is None; assert TABLE.object(3.0) is None"
    found = loaded(program)
    assert "gradc.tracing.numpy.reduce.quantiles" not in found


def test_threads_find_what_others_load() -> None:
    code = """
import threading
from pathlib import Path

found, start = [], threading.Barrier(8)

def look(name):
    start.wait()
    found.append(TABLE[name].name)

names = ["polyfit", "linalg.lstsq", "median", "histogram"] * 2
threads = [threading.Thread(target=look, args=(name,)) for name in names]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert sorted(found) == sorted(names), found
"""
    loaded(f"{TABLE_OF_PROGRAM}\n{code}")


def test_an_alias_is_its_function() -> None:
    assert TABLE.of(np.absolute) is TABLE["absolute"]
    assert TABLE["abs"].recorder is TABLE["absolute"].recorder
    assert TABLE.of(np.concatenate).name == "concatenate"


def test_what_a_record_says() -> None:
    assert TABLE["reshape"].view
    assert TABLE["copyto"].writes
    assert TABLE["add.at"].writes
    assert TABLE["argmax"].value_only
    assert not TABLE["cumsum"].value_only
    assert TABLE["clip"].masked == "elementwise"
    assert TABLE["interp"].masked == 0


def test_an_unknown_name() -> None:
    assert "no_such_function" not in TABLE
    with pytest.raises(KeyError):
        TABLE["no_such_function"]


def test_needs_are_announced_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_need, "_announced", {})
    on_need.announce("something", "json")
    on_need.announce("something", "threading")
    assert list(on_need.loaded("something")) == [json, threading]
    assert list(on_need.loaded("something", first="threading")) == [threading, json]
    assert list(on_need.loaded("nothing")) == []


@pytest.mark.parametrize(
    ("folder", "record"),
    [
        ("tracing/numpy", "numpy_function("),
        ("tracing", "TABLE.add_object("),
        ("scipy", "scipy_function("),
    ],
)
def test_every_file_with_a_record_is_announced(folder: str, record: str) -> None:
    """One that is not would be found only while another file happens to import it."""
    root = Path(gradc.__file__).parent
    texts = {path: path.read_text("utf-8") for path in (root / folder).rglob("*.py")}
    files = [
        path for path, text in texts.items() if f"\n{record}" in text or f"\n@{record}" in text
    ]
    modules = {".".join(path.relative_to(root.parent).with_suffix("").parts) for path in files}
    announced = {module for need in on_need.needs() for module in on_need._announced[need]}
    assert modules
    assert modules <= announced
