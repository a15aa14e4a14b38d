"""Runs what the documents show: every example of README.md and docs/ does what is printed below it.

In each document, from top to bottom, in one scratch folder and one namespace:

- a ``python`` block is executed, one that begins with ``# needs name`` only where there is a
  library of that name; if its first line is ``# name.py`` it is also saved as that; if a
  ``text`` block that begins with ``SomeError:`` follows, it must raise that, message and all;
- a ``pycon`` block is a doctest (``...`` stands for anything);
- a ``c`` block whose first line is ``/* name.c */`` is saved under that name;
- in a ``console`` block a line ``$ command`` is run and must print the lines under it, where a line
  ``...`` stands for any lines. Only gradc, cc, nm and programs built there (``./name``) are run.

Other blocks (``text``, ``sh`` …) are only read. ``make golden`` rewrites outputs and messages.
"""

from __future__ import annotations

import doctest
import importlib.util
import json
import linecache
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from gradc.rules import in_force
from gradc.tracing.core import stand_ins

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED_AS = re.compile(r"^(?:# |/\* )([\w.]+\.(?:py|c|h))(?: \*/)?$")
NEEDS = re.compile(r"# needs (\w+)\n")
ERROR = re.compile(r"^\w+Error:")
RUNNABLE = re.compile(r"^(gradc|cc|nm|\./\w+)\b")
REWRITE = os.environ.get("GRADC_GOLDEN") == "rewrite"


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line of the document its text begins at."""

    language: str
    text: str
    line: int


END = Block("", "", 0)


def blocks_of(document: str) -> Iterator[Block]:
    for match in FENCE.finditer(document):
        line = document.count("\n", 0, match.start(2)) + 1
        yield Block(match.group(1), match.group(2), line)


def test_blocks_are_found() -> None:
    document = "text\n```python\nx = 1\n```\nmore\n```\ny\n```\n"
    assert list(blocks_of(document)) == [Block("python", "x = 1\n", 3), Block("", "y\n", 7)]


@pytest.fixture
def rules_as_they_were() -> Iterator[None]:
    """Take back what the examples of a page register: the next test is another program."""
    registered, overrides = in_force._registered, dict(stand_ins.registered)
    yield
    in_force._registered = registered
    stand_ins.registered.clear()
    stand_ins.registered.update(overrides)


@pytest.mark.usefixtures("rules_as_they_were")
@pytest.mark.parametrize("path", [pytest.param(p, id=str(p.relative_to(ROOT))) for p in DOCUMENTS])
def test_document(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(linecache, "cache", {})  # lines of its files are of no other test
    document = path.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": path.stem}
    for block, following in pairwise([*blocks_of(document), END]):
        where = f"{path.relative_to(ROOT)}:{block.line}"
        if saved_as := SAVED_AS.match(block.text.split("\n", 1)[0]):
            Path(saved_as.group(1)).write_text(block.text, encoding="utf-8")
        expected, found = "", ""
        needs = NEEDS.match(block.text) if block.language == "python" else None
        if needs and importlib.util.find_spec(needs[1]) is None:
            continue
        if block.language == "python":
            file = saved_as.group(1) if saved_as else where
            if following.language == "text" and ERROR.match(following.text):
                expected, found = following.text, error_of(block, file, namespace)
            else:
                with warnings.catch_warnings():
                    if needs:  # libraries warn of what they do themselves
                        warnings.simplefilter("ignore", DeprecationWarning)
                    run_python(block, file, namespace)
        elif block.language == "pycon":
            run_doctest(block, where, namespace)
        elif block.language == "console":
            expected, found = block.text, run_console(block, where)
        if REWRITE and not same_lines(expected, found):
            document = document.replace(f"\n{expected}```", f"\n{found}```", 1)
            path.write_text(document, encoding="utf-8")
        elif not same_lines(expected, found):
            assert found == expected, f"{where} prints something else; `make golden` rewrites it"


WRITTEN = ["ops.md", "rules.md", "numpy.md", "design.md"]


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """Return the generated pages, as a process makes them in which no test has been."""
    code = (
        "import json; from tools.write_tables import PAGES; "
        f"print(json.dumps({{name: PAGES[name]() for name in {WRITTEN}}}))"
    )
    made = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )
    pages: dict[str, str] = json.loads(made.stdout)
    return pages


@pytest.mark.parametrize("name", WRITTEN)
def test_tables_are_current(name: str, written: dict[str, str]) -> None:
    """`make docs` renews them."""
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    version = re.compile(r"functions of NumPy [\d.]+")
    if version.findall(page) != version.findall(written[name]):
        pytest.skip("the page lists the names of another version of NumPy")
    assert page == written[name]


def run_python(block: Block, file: str, namespace: dict[str, object]) -> None:
    lines = block.text.splitlines(keepends=True)
    if Path(file).exists():
        linecache.checkcache(file)
    else:  # so that tracebacks, and gradc, can show the lines
        lines = ["\n"] * (block.line - 1) + lines
        linecache.cache[file] = (len(block.text), None, lines, file)
    exec(compile("".join(lines), file, "exec"), namespace)


def error_of(block: Block, file: str, namespace: dict[str, object]) -> str:
    """Execute a block and return the error it raises, as a traceback ends with it."""
    try:
        run_python(block, file, namespace)
    except Exception as error:
        return f"{type(error).__name__}: {error}\n"
    pytest.fail(f"{file} raises nothing:\n{block.text}")


def run_doctest(block: Block, where: str, namespace: dict[str, object]) -> None:
    test = doctest.DocTestParser().get_doctest(block.text, namespace, where, where, block.line - 1)
    report: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=report.append, clear_globs=False)
    namespace.update(test.globs)
    assert not runner.failures, "".join(report)


def run_console(block: Block, where: str) -> str:
    """Run the commands of a block and return the block as it looks when they print what they do."""
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": tools, "COLUMNS": "100", "NO_COLOR": "1"}
    shown: list[str] = []
    for piece in re.split(r"^(?=\$ )", block.text, flags=re.MULTILINE):
        command = piece.split("\n", 1)[0].removeprefix("$ ")
        if not piece.startswith("$ ") or not RUNNABLE.match(command):
            shown.append(piece)
            continue
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, env=environment, timeout=300
        )
        output = done.stdout + done.stderr
        assert done.returncode == 0, f"{where}: {command}\n{output}"
        shown.append(f"$ {command}\n{output}")
    return "".join(shown)


def same_lines(expected: str, found: str) -> bool:
    """Whether two texts are equal but for blanks at line ends and lines ``...`` in the expected."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else re.escape(line.rstrip()) + "\n"
        for line in expected.splitlines()
    )
    return re.fullmatch(pattern, "".join(f"{s.rstrip()}\n" for s in found.splitlines())) is not None
