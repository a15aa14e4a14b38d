"""A package behaves where it is installed as the same file does outside: nothing is frozen."""

from __future__ import annotations

import base64
import compileall
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import Any

import pytest

PACKAGES = Path(__file__).parents[1] / "packages"
SOURCES = {"curves": PACKAGES / "curves" / "curves", "bases": PACKAGES / "bases" / "bases"}
CASES = (
    "arrays", "rebound", "numbers", "dicts", "of_self", "draws", "assigned", "other_module",
    "second_package", "stacked", "objects_in_lists", "wrapped",
)  # fmt: skip


# Says that a folder is one that pip installs into, then runs the cases.
AS_INSTALLED = """
import runpy, site, sys
folders = [*site.getsitepackages(), sys.argv[1]]
site.getsitepackages = lambda: folders
runpy.run_path(sys.argv[2], run_name="__main__")
"""


def run(python: str, *folders: Path, installed: bool = False) -> dict[str, Any]:
    """Return what the cases print, with these folders in front of the search path if there are."""
    path = os.pathsep.join([*map(str, folders), *filter(None, sys.path)]) if folders else ""
    cases = str(PACKAGES / "cases.py")
    done = subprocess.run(
        [python, "-P", *(["-c", AS_INSTALLED, str(folders[0])] if installed else []), cases],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert "fails: " not in done.stdout or "site-packages" in found["file"]
    return found


@functools.cache
def outside() -> dict[str, Any]:
    return run(sys.executable, *(folder.parent for folder in SOURCES.values()))


@pytest.fixture(scope="module")
def in_a_folder(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the cases print where the packages lie in a folder called as pip's are."""
    place = tmp_path_factory.mktemp("lib") / "site-packages"
    for name, folder in SOURCES.items():
        shutil.copytree(folder, place / name)
    return run(sys.executable, place, installed=True)


@pytest.mark.parametrize("case", CASES)
def test_a_package_in_a_folder_of_packages(case: str, in_a_folder: dict[str, Any]) -> None:
    assert "site-packages" in in_a_folder["file"]
    assert in_a_folder["results"][case] == outside()["results"][case]


def wheel(name: str, folder: Path, place: Path) -> Path:
    """Write a wheel of a package as pip takes it, and return it."""
    info = f"{name}-1.0.dist-info"
    parts = {f"{name}/{file.name}": file.read_bytes() for file in sorted(folder.glob("*.py"))}
    parts[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n".encode()
    parts[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = [f"{path},sha256={_digest(content)},{len(content)}" for path, content in parts.items()]
    parts[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()
    made = place / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for path, content in parts.items():
            archive.writestr(path, content)
    return made


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the cases print in an environment into which pip has installed both packages."""
    place = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = str(place / "bin" / "python")
    wheels = [str(wheel(name, folder, place)) for name, folder in SOURCES.items()]
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--quiet", *wheels], check=True)
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    # what gradc itself needs is shared with the environment that runs the tests
    shared = {sysconfig.get_path("purelib"), *filter(os.path.isdir, sys.path)}
    (Path(site.stdout.strip()) / "shared.pth").write_text("\n".join(sorted(shared)))
    return run(python)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_a_package_that_pip_has_installed(case: str, installed: dict[str, Any]) -> None:
    assert "site-packages" in installed["file"]
    assert installed["results"][case] == outside()["results"][case]


@pytest.mark.slow
def test_a_package_in_a_zip_file_and_one_without_sources(tmp_path: Path) -> None:
    for name, folder in SOURCES.items():
        shutil.copytree(folder, tmp_path / "plain" / name)
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "plain")
    found = run(sys.executable, tmp_path / "packed.zip")
    assert "packed.zip" in found["file"]
    assert found["results"] == outside()["results"]

    compileall.compile_dir(tmp_path / "plain", quiet=2, legacy=True)
    for file in (tmp_path / "plain").rglob("*.py"):
        file.unlink()
    found = run(sys.executable, tmp_path / "plain")
    assert found["file"].endswith(".pyc")
    assert found["results"] == outside()["results"]
