"""Exported kernels: files, names, errors, and the bits a C program gets from them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from gradc.runtime.export import export
from gradc_codegen.interface.python_kernel import Kernel
from gradc_codegen.lower.lower import lower
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import ExportError

n = symbol("n")
C_FLAGS = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror")


def model(names: tuple[str, str] = ("x", "p.a")) -> dict[str, Function]:
    """Return sum(exp(x) * a) and, with it, its gradients."""
    functions = {}
    for suffix in ("", "vg"):
        with Builder() as builder:
            x, a = builder.param(0, Type(DType.F64, (n, 3))), builder.param(1, Type(DType.F64))
            e = build.exp(x)
            g_x = e * build.broadcast_to(a, (n, 3))
            value = build.reduce_sum(g_x, (0, 1))
            results = [value, g_x, build.reduce_sum(e, (0, 1))] if suffix else [value]
            functions[suffix] = builder.function("model", [x, a], results, names)
    return functions


MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
#include "model.h"

int main(void) {
    const int64_t counts[] = {0, 1, 7, 1000};
    for (int c = 0; c < 4; c++) {
        int64_t n = counts[c];
        size_t bytes = model_vg_worksize(n) > model_worksize(n) ? model_vg_worksize(n)
                                                                : model_worksize(n);
        double *x = malloc((3 * (size_t)n + 1) * sizeof *x);
        double *g_x = malloc((3 * (size_t)n + 1) * sizeof *g_x);
        char *work = malloc(bytes + 1);
        double y, y_vg, y_alone, g_p_a;
        for (int64_t i = 0; i < 3 * n; i++)
            x[i] = (double)(i % 17) / 7 - 1;
        /* scratch may have any alignment, and any output may be left out */
        if (model(n, x, 1.25, &y, work + 1) != MODEL_OK ||
            model_vg(n, x, 1.25, &y_vg, g_x, &g_p_a, work + 1) != MODEL_OK ||
            model_vg(n, x, 1.25, &y_alone, NULL, NULL, work + 1) != MODEL_OK || y_alone != y_vg)
            return 1;
        if (model(-1, x, 1.25, &y, work) != MODEL_E_SIZE || model_worksize(-1) != 0)
            return 2;
        if (bytes > 0 && model_vg_worksize(n) > 0 &&
            model_vg(n, x, 1.25, &y_vg, g_x, &g_p_a, NULL) != MODEL_E_WORK)
            return 3;
        printf("%a %a %a\n", y, y_vg, g_p_a);
        for (int64_t i = 0; i < 3 * n; i++)
            printf("%a\n", g_x[i]);
        free(work);
        free(g_x);
        free(x);
    }
    return MODEL_ABI == 1 ? 0 : 4;
}
"""


def test_a_c_program_gets_the_bits_that_python_gets(tmp_path: Path) -> None:
    functions = model()
    paths = export(functions, "model", tmp_path, wrt=[0, 1])
    assert paths == [tmp_path / "model.o", tmp_path / "model.h"]
    (tmp_path / "main.c").write_text(MAIN)
    build_command = ["cc", *C_FLAGS, "main.c", "model.o", "-lm", "-o", "main"]
    done = subprocess.run(build_command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True)
    assert done.returncode == 0
    from_c = np.array([float.fromhex(word) for word in done.stdout.split()])

    value, both = (Kernel(functions[s], lower(functions[s], "model"), "model") for s in ("", "vg"))
    from_python = []
    for count in (0, 1, 7, 1000):
        x = ((np.arange(3 * count) % 17) / 7 - 1).reshape(count, 3)
        (y,) = value([x, 1.25])
        y_vg, g_x, g_a = both([x, 1.25])
        from_python += [y, y_vg, g_a, *g_x.ravel()]
    assert from_c.tobytes() == np.array(from_python).tobytes()


def test_the_object_links_into_a_shared_library_and_needs_no_other(tmp_path: Path) -> None:
    code, _ = export(model(), "model", tmp_path, wrt=[0, 1])
    listing = subprocess.run(
        ["nm", "--undefined-only", code], capture_output=True, text=True, check=True
    )
    assert not listing.stdout
    done = subprocess.run(
        ["cc", "-shared", "-nostdlib", "-Wl,--no-undefined", code, "-o", tmp_path / "libmodel.so"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_exports_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in export(model(), "model", tmp_path / "a", wrt=[0, 1])]
    again = [path.read_bytes() for path in export(model(), "model", tmp_path / "b", wrt=[0, 1])]
    assert first == again


def test_the_header_names_what_is_differentiated(tmp_path: Path) -> None:
    _, path = export(model(), "model", tmp_path, wrt=[0, 1], documentation=["A model."])
    text = path.read_text(encoding="utf-8")
    assert "int model(int64_t n, const double *x, double p_a, double *y, void *work);" in text
    assert "double *y, double *g_x, double *g_p_a," in text
    assert " * A model.\n" in text
    assert " * model(x: f64[n,3], p.a: f64) -> (y: f64)\n" in text
    assert "x86-64-v3, strict IEEE, ir-hash " in text


def test_a_value_does_not_take_the_name_of_an_argument(tmp_path: Path) -> None:
    _, path = export(model(("x", "y")), "model", tmp_path, wrt=[0, 1])
    assert "double *value, double *g_x, double *g_y," in path.read_text(encoding="utf-8")


def test_results_are_numbered_or_named(tmp_path: Path) -> None:
    functions = {"": model()["vg"]}
    _, path = export(functions, "model", tmp_path)
    assert "double *y0, double *y1, double *y2," in path.read_text(encoding="utf-8")
    _, path = export(functions, "model", tmp_path, outputs={"": ["loss", "g_x", "g_a"]})
    assert "double *loss, double *g_x, double *g_a," in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("triple", ["aarch64-unknown-linux-gnu", "x86_64-pc-windows-msvc"])
def test_other_machines(triple: str, tmp_path: Path) -> None:
    _, path = export(model(), "model", tmp_path, triple=triple)
    assert f" * target {triple} / " in path.read_text(encoding="utf-8")


def refused(folder: Path, name: str, **options: object) -> str:
    with pytest.raises(ExportError) as error:
        export(model(), name, folder, **options)  # type: ignore[arg-type]
    assert not list(folder.glob("*"))
    return str(error.value)


def test_names_that_are_not_free_in_c(tmp_path: Path) -> None:
    assert refused(tmp_path, "2x") == (
        "'2x' cannot be the name of a C function\n"
        "  help: use letters, digits and underscores, a letter first: export('p2x', …)"
    )
    assert refused(tmp_path, "double") == (
        "'double' is a word of C or C++\n  help: choose another name: export('double_kernel', …)"
    )
    assert refused(tmp_path, "expf") == (
        "'expf' is a function of the C library\n"
        "  help: choose another name: export('expf_kernel', …)"
    )
    assert "help: use letters" in refused(tmp_path, "../model")


def test_arguments_with_one_name(tmp_path: Path) -> None:
    for names, message in [
        (("p.a", "p_a"), "the argument p.a and the argument p_a would both be called p_a in C"),
        (("x", "n"), "the size n and the argument n would both be called n in C"),
    ]:
        with pytest.raises(ExportError) as error:
            export(model(names), "model", tmp_path)
        assert str(error.value) == (
            f"model: {message}\n"
            "  help: rename one of them; a size is named in the spec, as in x: f64[count]"
        )


def test_macros_and_functions_with_one_name(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"M_ABI is both a macro of M\.h and a name in it"):
        export(model(("x", "M_ABI")), "M", tmp_path)


def test_a_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ExportError, match="cannot write to"):
        export(model(), "model", tmp_path / "file")


def test_unknown_machines(tmp_path: Path) -> None:
    assert refused(tmp_path, "model", cpu="i8008").startswith("LLVM knows no CPU 'i8008'")
    assert refused(tmp_path, "model", triple="pdp11").startswith(
        "no kernels are written for 'pdp11'"
    )
