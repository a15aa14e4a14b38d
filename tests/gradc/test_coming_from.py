"""The lines that docs/coming-from.md shows beside those of other libraries run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from.md"
TEXT = PAGE.read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (`.*`) \| `([^`]+)` \|$", TEXT, re.MULTILINE)
BEGINNING = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def names() -> dict[str, Any]:
    found: dict[str, Any] = {}
    exec(BEGINNING[0], found)
    return found


def test_every_row_is_found() -> None:
    tables = [line for line in TEXT.splitlines() if line.startswith("| `")]
    assert len(ROWS) == len(tables) > 60


@pytest.mark.parametrize("line", sorted({ours for _, ours in ROWS}))
def test_our_line(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(line, names())


def test_lines_that_are_results_agree_with_each_other() -> None:
    given = names()
    gradient = eval("gradc.grad(loss)(w, x)", given)
    hessian = eval("gradc.hessian(loss)(w, x)", given)
    np.testing.assert_allclose(eval("gradc.hvp(loss, (w, x), v)", given), hessian @ given["v"])
    np.testing.assert_allclose(eval("f.value_and_grad(w, x)", given)[1], gradient)
    jacobian, v = eval("gradc.jacobian(curve)(w)", given), given["v"]
    np.testing.assert_allclose(eval("gradc.jvp(curve, (w,), (v,))", given)[1], jacobian @ v)
    np.testing.assert_allclose(eval("gradc.vjp(curve, w)[1](v)[0]", given), v @ jacobian)
