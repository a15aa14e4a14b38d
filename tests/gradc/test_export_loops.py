"""Exported kernels with loops: the tape that the caller chooses, and trip counts as sizes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradc

C_FLAGS = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror")


def run(folder: Path, main: str, name: str) -> str:
    """Compile a program with an exported kernel and return what it prints."""
    (folder / "main.c").write_text(main)
    command = ["cc", *C_FLAGS, "main.c", f"{name}.o", "-lm", "-o", "main"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    done = subprocess.run([folder / "main"], capture_output=True, text=True)
    assert done.returncode == 0, (done.returncode, done.stdout)
    return done.stdout


def newton(a: Any) -> Any:
    """Return the square root of a."""

    def more(x: Any) -> Any:
        return np.abs(x * x - a) > 1e-12 * a

    return gradc.while_loop(more, lambda x: (x + a / x) / 2, (1 + a) / 2)


NEWTON = r"""
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "newton.h"

int main(void) {
    const double a[] = {1, 2, 1e10};
    for (int i = 0; i < 3; i++) {
        double y, y_alone, g_a;
        int64_t tape = 1;
        int status, tries = 0;
        do {
            tape *= 2;
            tries++;
            char *work = malloc(newton_vg_worksize(tape) + 1);
            status = newton_vg(tape, a[i], &y, &g_a, work + 1);
            free(work);
        } while (status == NEWTON_E_TAPE);
        if (status != NEWTON_OK)
            return 1;
        if (newton(a[i], &y_alone, NULL) != NEWTON_OK || y_alone != y)
            return 2;
        if (fabs(g_a - 0.5 / sqrt(a[i])) > 1e-9 * g_a)
            return 3;
        printf("%d %a %a\n", tries, y, g_a);
    }
    double y, g_a;
    if (newton_vg(-1, 2, &y, &g_a, NULL) != NEWTON_E_SIZE)
        return 4;
    return 0;
}
"""


def test_the_caller_chooses_the_tape(tmp_path: Path) -> None:
    f = gradc.compile(newton)
    f.export("newton", "a: f64", out=tmp_path)
    header = (tmp_path / "newton.h").read_text(encoding="utf-8")
    assert "int newton(double a, double *y, void *work);" in header
    assert "int newton_vg(int64_t tape, double a, double *y, double *g_a, void *work);" in header
    assert "size_t newton_worksize(void);" in header
    assert "size_t newton_vg_worksize(int64_t tape);" in header
    assert "tape: how many steps the tapes of loops have room for" in header
    assert "after NEWTON_E_TAPE call again with twice as many" in header
    found = [line.split() for line in run(tmp_path, NEWTON, "newton").splitlines()]
    assert [int(tries) for tries, _, _ in found] == [1, 2, 5]
    values = [(float.fromhex(y), float.fromhex(g)) for _, y, g in found]
    assert values == [f.value_and_grad(a) for a in (1.0, 2.0, 1e10)]


def limited(a: Any) -> Any:
    """Return the square root of a, after at most ten steps."""

    def more(x: Any) -> Any:
        return np.abs(x * x - a) > 1e-12 * a

    return gradc.while_loop(more, lambda x: (x + a / x) / 2, (1 + a) / 2, max_iter=10)


LIMITED = r"""
#include <stdlib.h>
#include "limited.h"

int main(void) {
    double y, g_a;
    char *work = malloc(limited_vg_worksize() + limited_worksize() + 1);
    if (limited_vg(2, &y, &g_a, work) != LIMITED_OK)
        return 1;
    if (limited_vg(1e20, &y, &g_a, work) != LIMITED_E_LIMIT)
        return 2;
    if (limited(1e20, &y, work) != LIMITED_E_LIMIT)
        return 3;
    free(work);
    return 0;
}
"""


def test_a_loop_with_a_limit_needs_no_tape(tmp_path: Path) -> None:
    gradc.compile(limited).export("limited", "a: f64", out=tmp_path)
    run(tmp_path, LIMITED, "limited")


def filtered(x: Any, a: Any) -> Any:
    """Return the sum of squares of an exponentially smoothed signal."""

    def step(level: Any, value: Any) -> Any:
        level = a * level + (1 - a) * value
        return level, level * level

    return np.sum(gradc.scan(step, 0.0, x)[1])


def powers(x: Any, a: Any) -> Any:
    """Return a polynomial by Horner's scheme, from the last coefficient to the first."""
    n = len(x)
    return gradc.fori_loop(0, n, lambda i, y: y * a + x[n - 1 - i], 0.0)


LOOPS = r"""
#include <stdio.h>
#include <stdlib.h>
#include "{name}.h"

int main(void) {{
    const int64_t counts[] = {{0, 1, 7, 1000}};
    for (int c = 0; c < 4; c++) {{
        int64_t n = counts[c];
        double *x = malloc((n + 1) * sizeof *x), *g_x = malloc((n + 1) * sizeof *g_x);
        char *work = malloc({name}_vg_worksize(n) + {name}_worksize(n) + 1);
        double y, alone, g_a;
        for (int64_t i = 0; i < n; i++)
            x[i] = (double)(i % 17) / 7 - 1;
        if ({name}_vg(n, x, 0.75, &y, g_x, &g_a, work) || {name}(n, x, 0.75, &alone, work))
            return 1;
        if (alone != y)
            return 2;
        printf("%a %a\n", y, g_a);
        for (int64_t i = 0; i < n; i++)
            printf("%a\n", g_x[i]);
        free(x);
        free(g_x);
        free(work);
    }}
    return 0;
}}
"""


@pytest.mark.parametrize("function", [filtered, powers])
def test_trip_counts_are_sizes(function: Any, tmp_path: Path) -> None:
    name = function.__name__
    f = gradc.compile(function)
    f.export(name, "x: f64[n], a: f64", wrt=("x", "a"), out=tmp_path)
    header = (tmp_path / f"{name}.h").read_text(encoding="utf-8")
    assert f"int {name}_vg(int64_t n,\n" in header
    assert "tape" not in header.replace("its tape has room", "")
    from_c = [float.fromhex(word) for word in run(tmp_path, LOOPS.format(name=name), name).split()]
    from_python: list[float] = []
    for n in (0, 1, 7, 1000):
        x = (np.arange(n) % 17) / 7 - 1
        y, (g_x, g_a) = f.value_and_grad(x, 0.75, wrt=(0, 1))
        from_python += [y, g_a, *g_x]
    np.testing.assert_allclose(from_c, from_python, rtol=1e-12)
