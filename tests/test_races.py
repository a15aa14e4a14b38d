"""The pool of threads and kernels whose caller runs their tasks have no data race."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import races

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _sanitizer(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("sanitizer")
    (folder / "main.c").write_text("int main(void) { return 0; }")
    command = ["cc", "-fsanitize=thread", "main.c", "-o", "main"]
    built = subprocess.run(command, cwd=folder, capture_output=True)
    if built.returncode or subprocess.run(["setarch", "-R", "./main"], cwd=folder).returncode:
        pytest.skip("no ThreadSanitizer here")


def test_the_pool_has_none(tmp_path: Path) -> None:
    assert list(races.check_pool(tmp_path)) == []


@pytest.mark.parametrize("name", races.KERNELS)
def test_kernels_have_none(name: str, tmp_path: Path) -> None:
    assert list(races.check_kernel(tmp_path, name)) == []
