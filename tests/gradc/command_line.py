"""A file of a user's, and the command line run on it in this process."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gradc.cli import main as command_line

MODEL = """
import numpy as np

import gradc


def loss(w, x):
    return np.sum(np.log(1 + np.exp(x @ w)))


@gradc.compile(spec="x: f64[n], p: {a: f64, b: f64[n]}")
def nested(x, p):
    return p["a"] * np.sum(x * p["b"])


@gradc.custom_gradient
def wrong(x):
    return x * x, lambda upstream: 7 * upstream


def refused(x):
    if np.spacing(x) > 0:
        return x
    return -x


NUMBER = 3


def refused_twice(x):
    y = np.unique(x)
    return np.spacing(y)
"""
SPEC = "w: f64[2], x: f64[n,2]"


def in_a_folder_with_a_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a test run where ``model.py`` lies; what it loads is forgotten."""
    monkeypatch.chdir(folder)
    Path("model.py").write_text(MODEL)
    monkeypatch.setattr(sys, "path", list(sys.path))


def run(*arguments: str, given: str = "") -> Result:
    """Run the command line as its entry point does, exit codes and all; ``given`` is its input."""

    class EntryPoint:
        name = "gradc"

        def main(self, args: object, prog_name: str, **extra: object) -> None:
            argv, sys.argv = sys.argv, [prog_name, *map(str, args)]  # type: ignore[call-overload]
            try:
                command_line.main()
            finally:
                sys.argv = argv

    return CliRunner().invoke(EntryPoint(), [*arguments], input=given)  # type: ignore[arg-type]


def succeed(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout
