"""Sparse Jacobians and Hessians as functions of C: structure and elements, against Python's."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc
from gradc_ir.errors import GradcError
from tests.comparing import assert_same_bits

PLACES = np.array([[0, 3], [2, 2], [5, 1], [4, 0]])
POINT = np.random.default_rng(0).uniform(0.5, 1.5, 12)


def chain(x: Any) -> Any:
    return x[1:-1] ** 2 * np.sin(x[2:]) - np.exp(x[:-2])


def arrow(x: Any) -> Any:
    return np.concatenate([[np.sum(x**2)], x[0] * x[1:] ** 2])


def picked(x: Any) -> Any:
    return x[PLACES[:, 0]] * np.sqrt(x[PLACES[:, 1]])


def constant(x: Any) -> Any:
    return np.sum(gradc.stop_gradient(x))


def rosenbrock(x: Any, weight: Any) -> Any:
    return np.sum(weight * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def by_name(library: Any, name: str, given: Sequence[Any]) -> list[Any]:
    """Return what a kernel without symbolic sizes writes, called by its name."""
    inputs = [np.asarray(one) for one in given]
    shapes = np.zeros(64, np.int64)
    assert library[f"{name}_call_shapes"](None, ctypes.c_void_p(shapes.ctypes.data)) == 0
    ranks = sum(one.ndim for one in inputs)
    is_pattern = name.endswith("_pattern")
    counts = shapes[ranks : ranks + (3 if is_pattern else 1)]
    dtype = np.int32 if is_pattern else inputs[0].dtype
    outputs = [np.full(count, -1, dtype) for count in counts]
    size = library[f"{name}_worksize"]
    size.restype = ctypes.c_size_t
    work = np.zeros(size() + 8, np.uint8)
    tables = [
        (ctypes.c_void_p * 8)(*(one.ctypes.data for one in side)) for side in (inputs, outputs)
    ]
    assert library[f"{name}_call"](*tables, None, ctypes.c_void_p(work.ctypes.data)) == 0
    return outputs


@pytest.mark.parametrize(
    ("function", "of", "given"),
    [
        (chain, "jac", [POINT]),
        (arrow, "jac", [POINT.astype(np.float32)]),
        (picked, "jac", [POINT]),
        (rosenbrock, "hess", [POINT, 3.0]),
        (constant, "hess", [POINT]),
    ],
)
def test_c_has_the_structure_and_the_elements_of_python(
    function: Any, of: str, given: list[Any], tmp_path: Path
) -> None:
    compiled = gradc.compile(function)
    bake = "all" if function is picked else ()
    path, header = compiled.export(
        "k", *given, outputs=f"{of}_sparse", link="shared", out=tmp_path, bake=bake
    )
    name = "jacobian" if of == "jac" else "hessian"
    rows, columns = getattr(compiled, f"{name}_structure")(*given)
    library = ctypes.CDLL(str(path))
    found = by_name(library, f"k_{of}_pattern", [])
    np.testing.assert_array_equal(found[0], rows)
    np.testing.assert_array_equal(found[1], columns)
    np.testing.assert_array_equal(np.repeat(np.arange(len(found[2]) - 1), np.diff(found[2])), rows)
    (values,) = by_name(library, f"k_{of}_values", given)
    assert_same_bits(values, getattr(compiled, f"{name}_values")(*given))
    assert f"#define K_{of.upper()}_VALUES_LEN" in header.read_text()


def test_beside_other_derivatives_and_of_many_points(tmp_path: Path) -> None:
    """The example that is written with it compares everything; the pattern is there once."""
    gradc.export(
        "k",
        {"chain": chain, "hills": rosenbrock},
        spec={"chain": "x: f64[6]", "hills": "x: f64[5], weight: f64"},
        outputs={"chain": "jac, jac_sparse, jac_sparse_batch", "hills": "hess_sparse_batch, vg"},
        structs=True,
        docs=True,
        package=True,
        out=tmp_path,
    )
    flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    subprocess.run(["cc", *flags, "example_main.c", "k.o", "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        f"{name}: as in Python"
        for name in (
            "chain_jac",
            "chain_jac_pattern",
            "chain_jac_values",
            "chain_jac_values_batch",
            "hills_hess_pattern",
            "hills_hess_values_batch",
            "hills_vg",
        )
    ]
    assert """
int hills_hess_pattern(int32_t *hess_rows, int32_t *hess_columns, int32_t *hess_starts,
                       void *work);
""" in (tmp_path / "k.h").read_text()  # fmt: skip


def test_a_function_of_this_process() -> None:
    compiled = gradc.compile(chain)
    native = compiled.native(spec="x: f64[12]", of="jac_sparse")
    values = np.zeros(len(compiled.jacobian_structure(POINT)[0]))
    work = np.zeros(native.worksize() + 8, np.uint8)
    pointers = [one.ctypes.data_as(ctypes.c_void_p) for one in (POINT, values, work)]
    function = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)(native.address)
    assert function(*pointers) == 0
    assert_same_bits(values, compiled.jacobian_values(POINT))


@pytest.mark.parametrize(
    ("function", "options", "message"),
    [
        (chain, {"spec": "x: f64[n]"}, "a pattern is one of sizes that are numbers"),
        (picked, {"spec": "x: f64[6]"}, "hangs on the integers of PLACES"),
        (chain, {"spec": "x: f64[6]", "outputs": "vg_sparse"}, "outputs is 'vg_sparse'"),
        (
            rosenbrock,
            {"spec": "x: f64[6], weight: f64", "wrt": ("x", "weight")},
            "is by one array, not by 2",
        ),
        (lambda x: (x, x), {"spec": "x: f64[6]"}, "is of one array; <lambda> returns 2"),
    ],
)
def test_what_is_refused(
    function: Any, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(GradcError, match=message):
        gradc.compile(function).export("k", out=tmp_path, **{"outputs": "jac_sparse", **options})
