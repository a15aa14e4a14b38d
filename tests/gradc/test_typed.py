"""Type checkers on a user's file, and what Python itself says of a compiled function."""

from __future__ import annotations

import importlib.util
import inspect
import pydoc
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc

USER = Path(__file__).parents[1] / "typed" / "user.py"
# the lines that are errors to a type checker
WRONG = [
    number
    for number, line in enumerate(USER.read_text().splitlines(), 1)
    if line.endswith("# error")
]


@gradc.compile
def documented(x: Any, scale: float = 2.0) -> Any:
    """Return a scaled sum."""
    return scale * np.sum(x)


def test_metadata_is_that_of_the_function() -> None:
    assert str(inspect.signature(documented)) == "(x: 'Any', scale: 'float' = 2.0) -> 'Any'"
    assert documented.__name__ == "documented"
    assert documented.__doc__ == "Return a scaled sum."
    assert documented.__module__ == __name__
    assert documented.__wrapped__(np.ones(2)) == 4.0
    text = pydoc.plain(pydoc.render_doc(documented))
    # Python 3.14 shows annotations that are texts without their quotes
    assert "documented(x: Any, scale: float = 2.0)" in text.replace("'", "")
    assert "Return a scaled sum." in text
    assert str(inspect.signature(gradc.grad(documented))).startswith("(x: 'Any', scale")
    assert str(inspect.signature(documented.grad)) == "(*args, wrt=None, **kwargs)"
    assert "Return the gradient" in pydoc.plain(pydoc.render_doc(documented.grad))
    assert callable(documented.grad)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: gradc.compile(np.sin, fats=True), "gradc.compile has no option 'fats'"),
        (lambda: gradc.compile(np.sin, fats=True), "did you mean fast?"),
        (lambda: gradc.grad(np.sin, nonfinit="zero"), "did you mean nonfinite?"),
        (lambda: gradc.value_and_grad(np.sin, hasaux=True), "did you mean has_aux?"),
    ],
)
def test_a_misspelt_option_is_an_error_with_the_nearest(call: Any, says: str) -> None:
    with pytest.raises(gradc.GradcError) as error:
        call()
    assert says in str(error.value)


@pytest.mark.slow
def test_mypy() -> None:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", str(USER)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_pyright(tmp_path: Path) -> None:
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    import json

    config = tmp_path / "pyrightconfig.json"
    root = USER.parents[2]
    (tmp_path / "user.py").write_text(USER.read_text())
    config.write_text(
        json.dumps(
            {
                "include": ["user.py"],
                "enableTypeIgnoreComments": False,
                "extraPaths": [str(root), str(root / "ir"), str(root / "codegen")],
            }
        )
    )
    command = [sys.executable, "-m", "pyright", "--outputjson", "-p", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    lines = [each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"]
    assert sorted(set(lines)) == WRONG, found
