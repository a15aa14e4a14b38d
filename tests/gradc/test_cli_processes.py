"""The command line to its ends: exit codes, both streams, and JSON as docs/schemas/ says it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gradc.cli.main import COMMANDS
from tests.gradc.command_line import MODEL, SPEC, in_a_folder_with_a_model, run

# As processes of their own some are run always, all of them when tests may be slow.
PROCESSES = {"dump", "export", "passes"}
ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "docs" / "schemas"
LOSS = ["model.py:loss", "--spec", SPEC]
GRAPH = """# gradc ir 1
func @f(%x: f64[n]) -> f64 {
  %1: f64[n] = mul %x, %x
  %2: f64 = reduce_sum %1 {axes = [0]}
  return %2
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("user")
    (made / "model.py").write_text(MODEL)
    (made / "graph.ir").write_text(GRAPH)
    (made / "syntax.py").write_text("def f(:\n")
    return made


def gradc(folder: Path, *arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    paths = ":".join(map(str, (ROOT, ROOT / "ir", ROOT / "codegen")))
    return subprocess.run(
        [sys.executable, "-m", "gradc", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "NO_COLOR": ""},
        input=given,
        capture_output=True,
        text=True,
    )


def fits(command: str, text: str) -> dict[str, Any]:
    """Return what JSON says that its schema allows."""
    schema = json.loads((SCHEMAS / f"{command}.json").read_text())
    Draft202012Validator.check_schema(schema)
    found: dict[str, Any] = json.loads(text)
    Draft202012Validator(schema).validate(found)
    assert found["command"] == command
    return found


# arguments, exit code: what differs and what fails a check is no error
RIGHT = [
    (["doctor", *LOSS], 0),
    (["dump", *LOSS, "--of", "grad"], 0),
    (["diff", *LOSS, "--passes", "traced", "stabilise"], 1),
    (["opt", "--pass", "before,hoist"], 0),
    (["explain", *LOSS, "--of", "grad"], 0),
    (["check", *LOSS, "--size", "3", "--repeat", "1"], 0),
    (["bench", *LOSS, "--at", "n=100", "--of", "value"], 0),
    (["cost", *LOSS, "--of", "grad"], 0),
    (["export", *LOSS, "--out", "built"], 0),
    (["passes", *LOSS, "--of", "grad"], 0),
    (["rules", "verify", "log1p-exp", "neg-neg"], 0),
    (["cache", "info"], 0),
]
# other forms of some
MORE = [
    (["doctor"], 0),
    (["doctor", "model.py:refused", "--spec", "x: f64"], 1),
    (["explain", "log1p"], 0),
    (["check", "model.py:wrong", "--spec", "x: f64", "--repeat", "1"], 1),
    (["check", *LOSS, "--accuracy", "--points", "3"], 0),
    (["passes"], 0),
    (["rules", "list", "--family", "softplus"], 0),
    (["rules", "show", "log1p-exp"], 0),
    (["cache", "verify"], 0),
    (["cache", "clear"], 0),
]
WRONG = [
    ["doctor", "nothing.py:f"],
    ["dump", "syntax.py:f"],
    ["diff", *LOSS],
    ["opt", "model.py"],
    ["explain", "nothing"],
    ["check", *LOSS, "--size", "-1"],
    ["bench", *LOSS, "--at", "m=3"],
    ["cost", "model.py:nothing"],
    ["export", *LOSS, "--out", "model.py"],
    ["passes", "model.py:refused", "--spec", "x: f64"],
    ["rules", "show", "nothing"],
    ["cache", "nothing"],
]


def test_every_command_is_among_these() -> None:
    names = {command.name for command in COMMANDS}
    assert names == {line[0] for line, _ in RIGHT} == {line[0] for line in WRONG}
    assert names == {path.stem for path in SCHEMAS.glob("*.json")}


def each(*lines: tuple[list[str], int], slow: bool = False) -> list[Any]:
    marks = [pytest.mark.slow] * slow
    return [pytest.param(line, code, id=" ".join(line), marks=marks) for line, code in lines]


@pytest.mark.parametrize(("line", "code"), [*each(*RIGHT), *each(*MORE, slow=True)])
def test_json_is_as_its_schema_says(
    folder: Path, line: list[str], code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_folder_with_a_model(folder, monkeypatch)
    done = run(*line, "--json", given=GRAPH)
    assert (done.exit_code, done.stderr) == (code, "")
    fits(line[0], done.stdout)


@pytest.mark.parametrize("line", WRONG, ids=[" ".join(line) for line in WRONG])
def test_a_wrong_use_ends_with_two(
    folder: Path, line: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_a_folder_with_a_model(folder, monkeypatch)
    done = run(*line)
    assert (done.exit_code, done.stdout) == (2, "")
    assert is_told(done.stderr)


def is_told(text: str) -> bool:
    """Whether an error is told in words: not by a traceback, and not in colours."""
    return bool(text.strip()) and "Traceback" not in text and "\033" not in text


@pytest.mark.parametrize(
    ("line", "code"),
    [
        case
        for line, code in [*RIGHT, *MORE, *((line, 2) for line in WRONG)]
        for case in each((line, code), slow=line[0] not in PROCESSES or (line, code) in MORE)
    ],
)
def test_processes_end_alike(folder: Path, line: list[str], code: int) -> None:
    if code == 2:
        done = gradc(folder, *line)
        assert (done.returncode, done.stdout) == (2, "")
        assert is_told(done.stderr)
    else:
        done = gradc(folder, *line, "--json", given=GRAPH)
        assert (done.returncode, done.stderr) == (code, "")
        fits(line[0], done.stdout)


def test_graphs_go_through_a_pipe(folder: Path) -> None:
    dumped = gradc(folder, "dump", *LOSS, "--stage", "traced")
    assert dumped.stdout.startswith("# gradc ir 1\n")
    made = gradc(folder, "opt", "--pass", "stabilise", given=dumped.stdout)
    assert (made.returncode, made.stderr) == (0, "")
    assert "softplus" in made.stdout
    (folder / "made.ir").write_text(made.stdout)
    again = gradc(folder, "diff", "made.ir", "-", given=made.stdout)
    assert again.stdout == "made.ir and - are the same: 5 nodes\n"
    assert again.returncode == 0
