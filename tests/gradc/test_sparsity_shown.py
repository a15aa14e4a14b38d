"""Patterns as people see them: text, SVG, and the command line."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import gradc
from gradc.pictures.spy import svg_of_pattern, text_of_pattern
from tests.gradc.command_line import in_a_folder_with_a_model, run
from tests.gradc.test_error_messages import says

SVG = "{http://www.w3.org/2000/svg}"


def test_text() -> None:
    assert text_of_pattern(csr_array(np.eye(2, 3))).splitlines() == ["x..", ".x."]
    wide = text_of_pattern(csr_array(np.eye(1000))).splitlines()
    assert len(wide) <= 64
    assert wide[0].startswith("x.")


@pytest.mark.parametrize(
    ("shape", "count"), [((2, 3), 2), ((1000, 700), 140), ((0, 0), 0), ((1, 0), 0)]
)
def test_svg(shape: Any, count: int) -> None:
    document = ElementTree.fromstring(svg_of_pattern(csr_array(np.eye(*shape)), "a < b"))
    assert document.find(f"{SVG}title").text.startswith("a < b: ")  # type: ignore[union-attr]
    assert len(document.findall(f"{SVG}g/{SVG}rect")) == count


def test_a_spec_has_numbers_as_sizes() -> None:
    compiled = gradc.compile(lambda x, at: x[at] * 2)
    assert compiled.sparsity("x: f64[3], at: i64[2]").nnz == 6
    assert gradc.compile(lambda x: 2 * x, spec="x: f64[3]").sparsity().nnz == 3
    says(
        lambda: compiled.sparsity("x: f64[n], at: i64[2]"),
        """
        ShapeError: a pattern is one of sizes that are numbers
          x: f64[n], at: i64[2]
          help: give them in the spec: "x: f64[12]"
        """,
    )


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_a_folder_with_a_model(tmp_path, monkeypatch)
    spec = ["--spec", "w: f64[2], x: f64[3,2]"]
    shown = run("dump", "model.py:loss", *spec, "--of", "hessian-sparsity")
    assert shown.output == (
        "# hessian of loss: 2 by 2, 4 elements; 2 passes forward, 0 reverse\nxx\nxx\n"
    )
    drawn = run("dump", "model.py:loss", *spec, "--of", "sparsity", "--format", "svg")
    assert drawn.output.startswith("<svg ")
    refused = run("dump", "model.py:loss", *spec, "--of", "sparsity", "--format", "dot")
    assert refused.exit_code == 2
    assert "a pattern is shown as text or svg" in refused.output
