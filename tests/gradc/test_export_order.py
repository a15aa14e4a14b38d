"""Arguments and results in C: the order a person wrote, the names they wrote."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from click.testing import CliRunner

import gradc
from gradc.cli.main import group


class Pair(NamedTuple):
    """A namedtuple whose fields are not sorted."""

    second: Any
    first: Any


@dataclass
class Model:
    """A dataclass whose fields are not sorted, with a dict in it."""

    weights: Any
    bias: Any
    rest: Any


def declared(folder: Path, name: str, function: str | None = None) -> str:
    """Return what stands in the parentheses of a prototype."""
    text = (folder / f"{name}.h").read_text()
    found = re.search(rf"^int {function or name}\((.*?)\);", text, re.MULTILINE | re.DOTALL)
    assert found
    return re.sub(r"\s+", " ", found[1])


def called(folder: Path, name: str, before: str, call: str, shown: str, *objects: str) -> list[Any]:
    """Return the numbers that a C program prints which calls a kernel with ``work``."""
    (folder / "main.c").write_text(f"""
#include <stdio.h>
#include "{name}.h"
int main(void) {{
    static char work[1 << 16];
    {before}
    int status = {call};
    printf("{" ".join(["%a"] * (shown.count(",") + 1))}\\n", {shown});
    return status;
}}
""")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror"]
    command = ["cc", *flags, "-o", "main", "main.c", f"{name}.o", *objects]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run([folder / "main"], capture_output=True, text=True, check=True)
    return [float.fromhex(word) for word in done.stdout.split()]


def pendulum(x: Any, p: Any) -> Any:
    """Return a number in which no two arguments may change places."""
    return np.sum(x) * p["mass"] ** 2 / p["len"]


SPEC = "x: f64[n], p: {mass: f64, len: f64}"


def test_the_order_of_the_spec(tmp_path: Path) -> None:
    gradc.compile(pendulum, spec=SPEC).export("pendulum", out=tmp_path, wrt="p")
    assert declared(tmp_path, "pendulum") == (
        "int64_t n, const double *x, double p_mass, double p_len, double *y, void *work"
    )
    assert declared(tmp_path, "pendulum", "pendulum_vg").endswith(
        "double p_mass, double p_len, double *y, double *g_p_mass, double *g_p_len, void *work"
    )
    found = called(
        tmp_path,
        "pendulum",
        "double x[2] = {1, 2}, y, a, b;",
        "pendulum_vg(2, x, 3.0, 4.0, &y, &a, &b, work)",
        "y, a, b",
    )
    x, p = np.array([1.0, 2.0]), {"len": 4.0, "mass": 3.0}
    value, gradient = gradc.value_and_grad(pendulum, wrt="p")(x, p)
    assert found == [value, gradient["mass"], gradient["len"]]
    other = "x: f64[n], p: {len: f64, mass: f64}"
    gradc.compile(pendulum, spec=other).export("other", out=tmp_path, wrt=("p", "x"))
    assert "double p_len, double p_mass, double *y" in declared(tmp_path, "other")
    assert declared(tmp_path, "other", "other_vg").endswith(
        "double *y, double *g_p_len, double *g_p_mass, double *g_x, void *work"
    )


def test_the_order_of_the_arguments_of_a_call(tmp_path: Path) -> None:
    f = gradc.compile(pendulum)
    x = np.ones(3)
    f.export("given", x, {"mass": 1.0, "len": 2.0}, out=tmp_path)
    assert "double p_mass, double p_len, double *y" in declared(tmp_path, "given")
    assert f(x, {"mass": 3.0, "len": 2.0}) == f(x, {"len": 2.0, "mass": 3.0}) == 13.5
    f.export("last", out=tmp_path)
    assert "double p_len, double p_mass, double *y" in declared(tmp_path, "last")


def test_sizes_follow_the_arguments(tmp_path: Path) -> None:
    def f(p: Any) -> Any:
        return np.sum(p["z"]) - np.sum(p["a"]) * len(p["a"]) ** 2

    gradc.compile(f).export("sized", spec="p: {z: f64[m], a: f64[n]}", out=tmp_path)
    assert declared(tmp_path, "sized") == (
        "int64_t m, int64_t n, const double *p_z, const double *p_a, double *y, void *work"
    )
    z, a = "double z[3] = {1, 2, 3}, a[2] = {5, 7}, y;", "sized(3, 2, z, a, &y, work)"
    assert called(tmp_path, "sized", z, a, "y") == [-42.0]
    worksizes = (tmp_path / "sized.h").read_text().count("_worksize(int64_t m, int64_t n)")
    assert worksizes == 2


NESTS: list[tuple[str, Callable[[], Any], str]] = [
    ("namedtuple", lambda: Pair(2.0, 3.0), "double p_second, double p_first"),
    (
        "dataclass",
        lambda: Model(2.0, 3.0, {"z": 5.0, "a": 7.0}),
        "double p_weights, double p_bias, double p_rest_z, double p_rest_a",
    ),
    (
        "nest",
        lambda: {"z": [2.0, {"q": 3.0, "b": 5.0}], "a": (7.0,)},
        "double p_z_0, double p_z_1__q, double p_z_1__b, double p_a_0",
    ),
    (
        "ordered",
        lambda: OrderedDict(zeta=2.0, alpha=3.0),
        "double p_zeta, double p_alpha",
    ),
    (
        "numbers",
        lambda: {9: 2.0, 10: 3.0, 1: 5.0},
        "double p_9, double p_10, double p_1",
    ),
]


@pytest.mark.parametrize(("name", "nest", "wanted"), NESTS, ids=[case[0] for case in NESTS])
def test_nests(name: str, nest: Callable[[], Any], wanted: str, tmp_path: Path) -> None:
    import optree

    with optree.dict_insertion_ordered(True, namespace="gradc"):
        written = optree.tree_leaves(nest(), namespace="gradc")
    if name == "dataclass":
        written = [2.0, 3.0, 5.0, 7.0]
    scale = {2.0: 1.0, 3.0: 10.0, 5.0: 100.0, 7.0: 1000.0}

    def f(p: Any) -> Any:
        from gradc.arguments import pytree

        leaves, _ = pytree.flatten(p)
        return sum(leaf * weight for leaf, weight in zip(leaves, weights))

    from gradc.arguments import pytree

    weights = [scale[leaf] for leaf in pytree.flatten(nest())[0]]
    gradc.compile(f).export("kernel", nest(), out=tmp_path)
    assert declared(tmp_path, "kernel") == f"{wanted}, double *y, void *work"
    values = ", ".join(map(str, written))
    found = called(tmp_path, "kernel", "double y;", f"kernel({values}, &y, work)", "y")
    assert found == [sum(leaf * scale[leaf] for leaf in written)]
    gradients = declared(tmp_path, "kernel", "kernel_vg").split("double *y, ")[1]
    assert gradients == wanted.replace("double p", "double *g_p") + ", void *work"


def results(x: Any) -> Any:
    return {"loss": np.sum(x), "aux": {"z": x * 2, "count": np.sum(x > 0)}, "all": (x, x + 1)}


def test_results_keep_their_names(tmp_path: Path) -> None:
    gradc.compile(results).export("results", spec="x: f64[n]", out=tmp_path)
    assert declared(tmp_path, "results") == (
        "int64_t n, const double *x, double *loss, double *aux_z, int64_t *aux_count, "
        "double *all_0, double *all_1, void *work"
    )
    found = called(
        tmp_path,
        "results",
        "double x[2] = {3, -5}, loss, z[2], first[2], second[2]; int64_t count;",
        "results(2, x, &loss, z, &count, first, second, work)",
        "loss, z[1], (double)count, first[1], second[1]",
    )
    assert found == [-2.0, -10.0, 1.0, -5.0, -4.0]
    for function, wanted in [
        (lambda x: {"loss": x}, "double *loss"),
        (lambda x: (x, 2 * x), "double *y0, double *y1"),
        (lambda x: Pair(x, 2 * x), "double *second, double *first"),
        (lambda x: Model(x, 2 * x, ({"b": x, "a": x},)),
         "double *weights, double *bias, double *rest_0__b, double *rest_0__a"),
        (lambda x: [{"b": x, "a": x}, x], "double *y0_b, double *y0_a, double *y1"),
        (lambda x: {"x": x, "work": x}, "double *x_, double *work"),
    ]:  # fmt: skip
        gradc.compile(function).export("named", spec="x: f64", out=tmp_path)
        assert declared(tmp_path, "named").startswith(f"double x, {wanted}, void *work")
    gradc.compile(lambda x: {"loss": x * x}).export("named", spec="x: f64", out=tmp_path)
    assert "double *loss, double *g_x, void *work" in declared(tmp_path, "named", "named_vg")


def vector(x: Any, p: Any) -> Any:
    return {"b": x * p["w"], "a": np.sum(x) * p["c"], "n": np.sum(x > 0)}


VECTOR = "x: f64[n], p: {w: f64, c: f64}"
X, P = np.array([1.0, 2.0, 4.0]), {"w": 3.0, "c": 5.0}


def test_jacobians_tangents_and_cotangents(tmp_path: Path) -> None:
    f = gradc.compile(vector, spec=VECTOR)
    f.export("v", out=tmp_path, of=["jacobian", "jvp", "vjp"], wrt=("p", "x"))
    assert declared(tmp_path, "v", "v_jacobian") == (
        "int64_t n, const double *x, double p_w, double p_c, "
        "double *db_dp_w, double *db_dp_c, double *db_dx, "
        "double *da_dp_w, double *da_dp_c, double *da_dx, void *work"
    )
    assert declared(tmp_path, "v", "v_jvp") == (
        "int64_t n, const double *x, double p_w, double p_c, "
        "double dp_w, double dp_c, const double *dx, "
        "double *b, double *a, int64_t *n_, double *db, double *da, void *work"
    )
    start = "double x[3] = {1, 2, 4}, dx[3] = {.5, .25, 1}, "
    found = called(
        tmp_path,
        "v",
        f"{start} b[3], a, db[3], da, jb[9], jw[3]; int64_t n;",
        "v_jvp(3, x, 3.0, 5.0, 1.5, 2.5, dx, b, &a, &n, db, &da, work)"
        " + v_jacobian(3, x, 3.0, 5.0, jw, NULL, jb, NULL, NULL, NULL, work)",
        "b[2], a, db[2], da, jw[1], jb[4], jb[5]",
    )
    tangents = (np.array([0.5, 0.25, 1.0]), {"w": 1.5, "c": 2.5})
    value, tangent = f.jvp((X, P), tangents)
    assert found == [value["b"][2], value["a"], tangent["b"][2], tangent["a"], 2.0, 3.0, 0.0]
    assert declared(tmp_path, "v", "v_vjp").startswith(
        "int64_t n, const double *x, double p_w, double p_c, const double *"
    )
    found = called(
        tmp_path,
        "v",
        f"{start} b[3], a, w, c, gx[3]; int64_t n;",
        "v_vjp(3, x, 3.0, 5.0, dx, 2.0, b, &a, &n, &w, &c, gx, work)",
        "w, c, gx[0], gx[2]",
    )
    _, pull = f.vjp(X, P)
    by_x, by_p = pull({"b": np.array([0.5, 0.25, 1.0]), "a": 2.0, "n": None})
    assert found == [by_p["w"], by_p["c"], by_x[0], by_x[2]]


def test_gradient_hessian_and_hvp_of_a_number(tmp_path: Path) -> None:
    f = gradc.compile(pendulum, spec=SPEC)
    f.export("p", out=tmp_path, of=("value", "grad", "hessian", "hvp"), wrt="p")
    assert declared(tmp_path, "p", "p_grad").endswith(
        "double *g_p_mass, double *g_p_len, void *work"
    )
    assert declared(tmp_path, "p", "p_hessian").endswith(
        "double *d2y_dp_mass_dp_mass, double *d2y_dp_mass_dp_len, "
        "double *d2y_dp_len_dp_mass, double *d2y_dp_len_dp_len, void *work"
    )
    x, p = np.array([1.0, 2.0]), {"len": 4.0, "mass": 3.0}
    found = called(
        tmp_path,
        "p",
        "double x[2] = {1, 2}, mm, ml, hm, hl;",
        "p_hessian(2, x, 3.0, 4.0, &mm, &ml, NULL, NULL, work)"
        " + p_hvp(2, x, 3.0, 4.0, 1.0, 2.0, &hm, &hl, work)",
        "mm, ml, hm, hl",
    )
    hessian = f.hessian(x, p, wrt="p")
    product = f.hvp((x, p), {"mass": 1.0, "len": 2.0}, wrt="p")
    mass = hessian["mass"]
    assert found == pytest.approx([mass["mass"], mass["len"], product["mass"], product["len"]])


def test_wrt_of_what_has_no_gradient(tmp_path: Path) -> None:
    f = gradc.compile(vector, spec=VECTOR)
    f.export("v", out=tmp_path)
    assert "v_vg" not in (tmp_path / "v.h").read_text()
    with pytest.raises(gradc.ExportError, match=r"not one float: there is no gradient by 'p'"):
        f.export("v", out=tmp_path, wrt="p")
    with pytest.raises(gradc.ExportError, match="of is 'gradient'"):
        f.export("v", out=tmp_path, of="gradient")
    with pytest.raises(gradc.GradcError, match="scalar"):
        f.export("v", out=tmp_path, of="grad")


def test_the_command(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(
        "import numpy as np\n"
        "def f(x, p):\n    return x * p['w'] + p['c']\n"
        "def g(i):\n    return i + 1\n"
    )

    def run(*words: str) -> Any:
        command = ["export", f"{tmp_path}/model.py:{words[0]}", "--out", str(tmp_path), *words[1:]]
        return CliRunner().invoke(group, command)

    spec = ("--spec", "x: f64[n], p: {w: f64, c: f64}")
    assert run("f", *spec).exit_code == 0
    assert "double p_w, double p_c, double *y" in declared(tmp_path, "f")
    done = run("f", *spec, "--wrt", "p")
    assert done.exit_code == 1
    assert "there is no gradient by 'p' to export" in str(done.exception or done.output)
    assert run("f", *spec, "--wrt", "p", "--of", "jacobian", "--of", "vjp").exit_code == 0
    assert "double *dy_dp_w, double *dy_dp_c," in declared(tmp_path, "f", "f_jacobian")
    assert "double *g_p_w, double *g_p_c," in declared(tmp_path, "f", "f_vjp")
    assert run("g", "--spec", "i: i64[n]").exit_code == 0
    told = CliRunner().invoke(group, ["export", "--help"]).output
    assert "in the order of the spec" in told


def test_targets_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("def f(x):\n    return x * x\n")

    def run(triple: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "gradc", "export", "model.py:f", "--spec", "x: f64[n]"]
        return subprocess.run(
            [*command, "--target", triple], cwd=tmp_path, capture_output=True, text=True
        )

    refused = run("nvptx64-nvidia-cuda")
    assert refused.returncode == 2
    assert refused.stderr.startswith("ExportError: no kernels are written for 'nvptx64'")
    assert "Traceback" not in refused.stderr
    assert run("x86_64-windows-gnu").returncode == 0
    assert (tmp_path / "f.o").read_bytes().startswith(b"\x64\x86")
