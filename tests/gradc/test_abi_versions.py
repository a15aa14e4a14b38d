"""Headers of all versions of the ABI, and programs that are compiled with an older one."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from gradc_codegen.interface.c_by_name import ABI_MAJOR, ABI_MINOR
from tests.abi.signatures import CASES, Case

GOLDEN = Path(__file__).parent.parent / "golden" / "abi"
THIS = f"{ABI_MAJOR}.{ABI_MINOR}"
# what differs from one build of the same interface to the next
_VARYING = re.compile(
    r"(?<=ir-hash )\w+|(?<=by gradc )[\w.]+|(?<=at most )\d+(?= bytes)|, by \w+\.$", re.M
)


def fixed(header: str) -> str:
    return _VARYING.sub("…", header)


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


def test_headers_and_programs_of_older_ones(case: Case, tmp_path: Path) -> None:
    """A header is as it was kept; a program compiled with that of an older version runs right."""
    # structs is an option: the rest of the header is as without
    case.export(tmp_path, package=True)
    text = (tmp_path / f"{case.name}.h").read_text(encoding="utf-8")
    kept = GOLDEN / THIS / f"{case.name}.h"
    if os.environ.get("GRADC_GOLDEN") == "rewrite":
        kept.write_text(text, encoding="utf-8")
    assert fixed(text) == fixed(kept.read_text(encoding="utf-8"))
    (tmp_path / f"{case.name}.h").unlink()
    versions = sorted(path.name for path in GOLDEN.iterdir())
    assert THIS in versions
    assert versions[0] == "1.0"
    for version in versions:
        command = ["cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
        paths = [f"-I{GOLDEN / version}", "example_main.c", f"{case.name}.o", "-o", f"m{version}"]
        done = subprocess.run([*command, *paths], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        done = subprocess.run([tmp_path / f"m{version}"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        assert f"{case.name}: as in Python" in done.stdout


def test_declarations_stay(case: Case) -> None:
    """What a header of the version before declares is declared by this one's, word for word."""
    old, new = (
        (GOLDEN / version / f"{case.name}.h").read_text(encoding="utf-8")
        for version in ("1.0", THIS)
    )
    declared = re.findall(r"^(?:int|size_t) \w+\([^;]*\);|^#define \w+ +\w+", old, re.MULTILINE)
    assert len(declared) >= 10
    assert not [each for each in declared if each not in new]
