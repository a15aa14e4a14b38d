"""Exports for small machines: short code with the bits of any other."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import gradc
from benchmarks.code_size import KERNELS, Kernel, bytes_of, logistic
from gradc_ir.errors import ExportError
from tests.abi.signatures import CASES, Case

BY_NAME = {kernel.name: kernel for kernel in KERNELS}
SPEC = "w: f64[8], x: f64[n,8], y: f64[n]"


def exported(kernel: Kernel, out: Path, **options: Any) -> list[Path]:
    return gradc.compile(kernel.function).export(
        "k",
        spec=kernel.spec,
        outputs=kernel.of,
        wrt=kernel.wrt,
        optimize="size",
        out=out,
        **{**kernel.options, **options},
    )


def example_of(folder: Path) -> str:
    """Return what the example in a folder prints, which compares with the bits of Python."""
    (code,) = folder.glob("*.o")
    command = ["cc", "-O1", "example_main.c", code.name, "-o", "example"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(["./example"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "most"), [("logistic8", 3400), ("logistic8 m4", 4096), ("mlp symbolic", 11000)]
)
def test_short_code_is_short(name: str, most: int, tmp_path: Path) -> None:
    code, _ = exported(BY_NAME[name], tmp_path)
    assert bytes_of(code).object <= most


@pytest.mark.slow
def test_a_model_of_formulas_fits_a_first_cache(tmp_path: Path) -> None:
    kernel = BY_NAME["pharmacokinetics"]
    made = gradc.compile(kernel.function)
    code, _ = made.export("k", spec=kernel.spec, outputs=kernel.of, wrt=kernel.wrt, out=tmp_path)
    assert bytes_of(code).kernel <= 32 << 10


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("name", ["logistic8", "mlp of 64", "mlp symbolic"])
def test_short_code_has_the_bits_of_python(name: str, tmp_path: Path) -> None:
    exported(BY_NAME[name], tmp_path, package=True, cpu="native")
    assert "k_vg: as in Python" in example_of(tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_short_code_of_every_signature(case: Case, tmp_path: Path) -> None:
    case.export(tmp_path, package=True, optimize="size", cpu="native")
    assert f"{case.name}: as in Python" in example_of(tmp_path)


@pytest.mark.parametrize("optimize", [None, "size"])
def test_what_kernels_have_in_common_is_there_once(optimize: Any, tmp_path: Path) -> None:
    (text, *_) = gradc.compile(logistic).export(
        "k",
        spec=SPEC,
        outputs=("value", "vg", "hvp"),
        optimize=optimize,
        link="ir",
        out=tmp_path,
    )
    defined = re.findall(r"^define [^@]*@(gradc[.\w]+)\(", text.read_text(), re.MULTILINE)
    assert "gradc.complete.add.f64" in defined
    assert not [name for name in defined if re.search(r"\.\d+$", name)]  # copies get numbers


def test_another_word_is_refused(tmp_path: Path) -> None:
    options: Any = {"optimize": "speed"}
    with pytest.raises(ExportError, match="optimize is 'speed'") as error:
        gradc.compile(logistic).export("k", spec=SPEC, out=tmp_path, **options)
    assert 'write 0, 1, 2 or "size"' in str(error.value)
