"""The programs of ``examples/`` in other languages get the bits of Python, also when watched."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc

EXAMPLES = Path(__file__).parent.parent / "examples"
sys.path.insert(0, str(EXAMPLES))
import models  # noqa: E402

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    models.export(made)
    return made


def numbers(count: int, argument: int, *shape: int) -> Any:
    flat = np.array([(37 * i + 11 * argument + 5) % 101 / 64 + 0.25 for i in range(count)])
    return flat.reshape(shape or (count,))


def run(command: list[Any], folder: Path) -> str:
    if shutil.which(command[0]) is None and not str(command[0]).startswith("./"):
        pytest.skip(f"no {command[0]}")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check(printed: str, wanted: dict[str, Any]) -> None:
    found: dict[str, list[int]] = {}
    for line in printed.splitlines():
        name, _, bits = line.split()
        found.setdefault(name, []).append(int(bits, 16))
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        assert found[name] == np.ravel(array).view(np.uint64).tolist(), name


def wanted_of_c() -> dict[str, Any]:
    x = numbers(30, 0, 6, 5)
    w, rows, labels = numbers(4, 1), numbers(28, 2, 7, 4), np.array([-1.0, 1] * 4)[:7]
    mixture = (numbers(3, 3), numbers(6, 4, 3, 2), numbers(6, 5, 3, 2), numbers(14, 6, 7, 2))
    q, u = numbers(3, 7), numbers(3, 8)
    rosen, logistic = gradc.compile(models.rosen), gradc.compile(models.logistic)
    gmm, arm = gradc.compile(models.gmm), gradc.compile(models.arm)
    value, slope = rosen.value_and_grad(x[0])
    loss, loss_slope = logistic.value_and_grad(w, rows, labels)
    likelihood, by = gmm.value_and_grad(*mixture, wrt=(0, 1, 2))
    by_q, by_u = arm.jacobian(q, u, wrt=(0, 1))
    values, slopes = gradc.vmap(gradc.value_and_grad(models.rosen))(x)
    return {
        "rosen": value,
        "rosen_slope": slope,
        "rosen_curved": rosen.hvp((x[0],), x[1]),
        "logistic": loss,
        "logistic_slope": loss_slope,
        "gmm": likelihood,
        "gmm_weights": by[0],
        "gmm_means": by[1],
        "gmm_deviations": by[2],
        "arm": arm(q, u),
        "arm_q": by_q,
        "arm_u": by_u,
        "batch": values,
        "batch_slopes": slopes,
    }


FLAGS = ["-std=gnu99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-pthread", "-I."]
WAYS = {
    "as it is": (["-O2"], []),
    "sanitizers": (["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"], []),
    "threads": (["-g", "-fsanitize=thread"], []),
    "valgrind": (["-g", "-O1"], ["valgrind", "-q", "--error-exitcode=9", "--leak-check=full"]),
}


@pytest.mark.parametrize("way", WAYS)
def test_c_in_eight_threads(way: str, folder: Path) -> None:
    flags, runner = WAYS[way]
    name = f"c_{way.replace(' ', '_')}"
    run(["cc", *FLAGS, *flags, EXAMPLES / "c" / "main.c", "models.o", "-o", name], folder)
    check(run([*runner, f"./{name}"], folder), wanted_of_c())


@pytest.mark.parametrize("way", ["as it is", "sanitizers", "valgrind"])
def test_the_generated_program(way: str, folder: Path) -> None:
    flags, runner = WAYS[way]
    run(["cc", *FLAGS, *flags, "example_main.c", "models.o", "-o", "example"], folder)
    printed = run([*runner, "./example"], folder)
    assert printed.count("as in Python") == sum(map(len, models.KINDS.values()))


def test_cpp(folder: Path) -> None:
    flags = ["-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O2", "-I."]
    sanitizers = ["-fsanitize=address,undefined", "-ffp-contract=off"]
    source = EXAMPLES / "cpp" / "main.cpp"
    run(["c++", *flags, *sanitizers, source, "models.o", "-o", "cpp"], folder)
    w, x, y = np.zeros(4), numbers(28, 2, 7, 4) - 1, np.array([-1.0, 1] * 4)[:7]
    logistic = gradc.compile(models.logistic)
    for _ in range(100):
        value, slope = logistic.value_and_grad(w, x, y)
        w = w - 0.125 * slope
    product = logistic.hvp((w, x, y), slope)
    wanted = {"weights": w, "slope": slope, "product": product, "loss": value}
    check(run(["./cpp"], folder), wanted)


def test_fortran(folder: Path) -> None:
    source = EXAMPLES / "fortran" / "main.f90"
    run(["gfortran", "-Wall", "-Werror", "-O1", source, "models.o", "-o", "fortran"], folder)
    rosen, x = gradc.compile(models.rosen), numbers(5, 0)
    value, slope = rosen.value_and_grad(x)
    wanted = {"rosen": value, "rosen_slope": slope, "rosen_hessian": rosen.hessian(x)}
    check(run(["./fortran"], folder), wanted)


def test_rust(folder: Path) -> None:
    source = EXAMPLES / "rust" / "main.rs"
    run(["rustc", "-O", source, "-C", "link-arg=models.o", "-o", "rust"], folder)
    rosen, x = gradc.compile(models.rosen), numbers(5, 0)
    for _ in range(10):
        x = x - 0.5 * rosen.grad(x) / np.abs(np.diag(rosen.hessian(x)))
    value, slope = rosen.value_and_grad(x)
    check(run(["./rust"], folder), {"x": x, "value": value, "slope": slope})
