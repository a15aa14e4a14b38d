"""The house rules that a machine can check: arrows between rooms, lengths, words, imports."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import pytest

from tools.import_graph import arrows, circles, rooms

ROOT = Path(__file__).resolve().parent.parent
ROOMS = {
    "gradc_ir": ROOT / "ir" / "gradc_ir",
    "gradc_codegen": ROOT / "codegen" / "gradc_codegen",
    "gradc": ROOT / "gradc",
}
# What each room must not import: the rooms above it, and the libraries that belong to those.
FORBIDDEN_IMPORTS = {
    "gradc_ir": {"gradc", "gradc_codegen", "llvmlite", "scipy", "optree", "click", "rich"},
    "gradc_codegen": {"gradc", "sympy", "optree", "click", "rich"},
    "gradc": set(),
}
# What `import gradc` must not load; each is loaded by the first thing that needs it.
LAZY_LIBRARIES = ("llvmlite", "sympy", "scipy", "flint", "rich", "click")
MOST_LINES = 450
# A longer file needs a reason: {"ir/gradc_ir/example.py": "one table that is read as a whole"}.
LONG_FILES: dict[str, str] = {
    "gradc/api/compiled.py": "one class, whose methods are typed for users",
}
MOST_MODULES = 16
# A room with more needs a reason: lists of like things, each in a file of its own.
LARGE_ROOMS: dict[str, str] = {
    "codegen/gradc_codegen/math/emitted": "a file for each family of emitted functions",
}
# What lies beside the rooms of a package and not in one.
MOST_FLAT = {"gradc": 6, "gradc_codegen": 4, "gradc_ir": 8}
# Where imports stand on top, but for a reason that the line says.
WITHOUT_INNER_IMPORTS = ("gradc/tracing", "gradc/special")
# Words about how a line came to be, which tell its reader nothing; spelled so as not to match here.
FORBIDDEN_WORDS = {
    r"(?<![\w&/])#\d+\b": "the number of an issue: say what the issue says",
    r"(?i)(?<!/)\bses[s]ions?\b": "who wrote it when is the history's business",
    r"(?<![\w.:/-])/(?:hom[e]|roo[t]|wor[k]|User[s])/\w": "a path of one machine",
    r"\.\./share[d]\b": "a path of one machine",
    r"\b(?:FIXM[E]|XX[X]|TOD[O])\b": "do it, refuse it with an error, or note it in docs/design.md",
}

PYTHON_FOLDERS = [
    *ROOMS.values(),
    *(ROOT / n for n in ("tests", "examples", "benchmarks", "tools")),
]
PYTHON_FILES = sorted(path for folder in PYTHON_FOLDERS for path in folder.rglob("*.py"))
TEXT_FILES = sorted(
    {
        *PYTHON_FILES,
        *ROOT.glob("*.md"),
        *ROOT.glob("*.toml"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "examples").rglob("*.[ch]"),
        *(ROOT / "tests").rglob("*.ir"),
        *(ROOT / ".ci").iterdir(),
        ROOT / "Makefile",
    }
)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported_modules(tree: ast.AST) -> set[str]:
    """Return the top-level names a file imports anywhere, inside functions too."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize("room", [room for room, names in FORBIDDEN_IMPORTS.items() if names])
def test_arrows_point_one_way(room: str) -> None:
    forbidden = FORBIDDEN_IMPORTS[room]
    # a file is parsed if one of its lines speaks of importing such a name
    spoken = re.compile(rf"\b(?:from|import)\b.*\b(?:{'|'.join(forbidden)})\b")
    texts = {path: path.read_text(encoding="utf-8") for path in ROOMS[room].rglob("*.py")}
    wrong = {
        relative(path): names
        for path, text in texts.items()
        if spoken.search(text) and (names := imported_modules(ast.parse(text)) & forbidden)
    }
    assert not wrong


def test_no_circles() -> None:
    """No file, and no room, is reached from what it imports: of any kind, see import_graph."""
    graph = arrows(ROOMS)
    found = [f"files: {', '.join(circle)}" for circle in circles(graph)]
    for folder, inside in rooms(graph).items():
        for circle in circles(inside):
            names = set(circle)
            examples = [inside[a][b] for a in circle for b in inside.get(a, ()) if b in names]
            found.append(f"rooms of {folder}: {', '.join(circle)}: {'; '.join(examples)}")
    assert not found, "\n".join(found)


def test_circles_are_found(tmp_path: Path) -> None:
    files = {
        "__init__": "",
        "low/__init__": "",
        "low/one": "",
        "low/two": "def f():\n    from p.high import three",
        "high/__init__": "",
        "high/three": "from p.low.one import x",
        "high/four": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.high.five",
        "high/five": "import_module('p.high.six')",
        "high/six": "import_module(f'p.high.fo{rest}')",
        "seven": "PLACE = 'p.eight'",
        "eight": "from p import seven",
    }
    for name, text in files.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    graph = arrows({"p": tmp_path})
    assert sorted(circles(graph)) == [
        ["p.eight", "p.seven"],
        ["p.high.five", "p.high.four", "p.high.six"],
    ]
    assert circles(rooms(graph)["p"]) == [["eight", "seven"], ["high", "low"]]


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_small(room: str) -> None:
    count = {
        folder: sum(path.name != "__init__.py" for path in folder.glob("*.py"))
        for folder in {path.parent for path in ROOMS[room].rglob("*.py")}
    }
    flat = count.pop(ROOMS[room]) + 1
    assert flat <= MOST_FLAT[room]
    large = {relative(folder): n for folder, n in count.items() if n > MOST_MODULES}
    assert set(large) <= set(LARGE_ROOMS), f"divide them, or list them with a reason: {large}"


@pytest.mark.parametrize("place", WITHOUT_INNER_IMPORTS)
def test_imports_stand_on_top(place: str) -> None:
    """An import inside a function has a comment on its line that says why."""
    found = []
    for path in sorted((ROOT / place).rglob("*.py")):
        lines = path.read_text(encoding="utf-8").splitlines()
        inner = {
            node.lineno
            for function in ast.walk(ast.parse("\n".join(lines)))
            if isinstance(function, ast.FunctionDef | ast.Lambda)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        found += [f"{relative(path)}:{i}" for i in sorted(inner) if "  # " not in lines[i - 1]]
    assert not found


@pytest.mark.parametrize("room", ROOMS)
def test_every_folder_with_code_is_a_package(room: str) -> None:
    """Otherwise a wheel would silently lack it."""
    folders = {path.parent for path in ROOMS[room].rglob("*.py")}
    assert not [relative(f) for f in sorted(folders) if not (f / "__init__.py").exists()]
    assert (ROOMS[room] / "py.typed").exists()


def docstring(path: Path) -> str:
    """Return the text that a file begins with, empty if it begins with anything else."""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.STRING:
                return inspect.cleandoc(ast.literal_eval(token.string))
            if token.type not in (tokenize.ENCODING, tokenize.COMMENT, tokenize.NL):
                return ""
    return ""


def test_files_begin_with_one_sentence() -> None:
    found = []
    for path in PYTHON_FILES:
        sentence = docstring(path).split("\n\n")[0]
        if not sentence.endswith((".", "?")):
            found.append(f"{relative(path)}: not a sentence: {sentence!r}")
    assert not found, "\n".join(found)


def test_files_are_short() -> None:
    lengths = {relative(path): len(path.read_bytes().splitlines()) for path in PYTHON_FILES}
    long = {name: length for name, length in lengths.items() if length > MOST_LINES}
    assert set(long) == set(LONG_FILES), f"split them, or list them with a reason: {long}"


def test_words() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in TEXT_FILES}
    found = [
        f"{relative(path)}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()!r}: {reason}"
        for path, text in texts.items()
        for pattern, reason in FORBIDDEN_WORDS.items()
        for match in re.finditer(pattern, text)
    ]
    assert not found, "\n".join(found)


def test_every_family_of_ops_has_its_derivatives() -> None:
    """An op and its derivative stand in files, or folders, of the same name."""

    def families(folder: Path) -> set[str]:
        folders = {path.parent.name for path in folder.glob("*/__init__.py")}
        return {path.stem for path in folder.glob("*.py")} - {"__init__"} | folders

    derivatives = families(ROOMS["gradc"] / "derivatives")
    assert families(ROOMS["gradc_ir"] / "ops") == derivatives


def test_importing_gradc_loads_no_heavy_library() -> None:
    code = "import sys, gradc; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout.split()
    assert "gradc" in loaded
    assert not [name for name in LAZY_LIBRARIES if name in loaded]
