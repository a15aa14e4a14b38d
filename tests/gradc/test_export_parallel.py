"""Exported kernels whose caller runs their tasks: the bits of one thread, and scratch kept to."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import gradc
from tests.c_caller import RUN
from tests.gradc.test_export import C_FLAGS

# ``{one}`` and ``{many}`` are calls, with ``y`` and ``g`` for what they write.
MAIN = r"""
static int call(int64_t n, int64_t tasks, int threads) {
    double *x = malloc((size_t)n * sizeof *x), y[2] = {0, 1};
    double *g[2] = {malloc((size_t)n * sizeof **g), malloc((size_t)n * sizeof **g)};
    size_t bytes = {name}_parallel_worksize(n, tasks);
    unsigned char *alone = malloc({name}_worksize(n) + 1), *work = malloc(bytes + 64);
    for (int64_t i = 0; i < n; i++)
        x[i] = (double)(i * 37 % 101) / 64 - 0.5;
    memset(work, 170, bytes + 64);
    most = 0;
    int wrong = {name}(n, x, &y[0], g[0], alone);
    wrong |= {name}_parallel(n, x, &y[1], g[1], work + 3, tasks, threads ? run : NULL, &threads);
    wrong |= memcmp(&y[0], &y[1], sizeof *y) != 0 || memcmp(g[0], g[1], (size_t)n * sizeof **g);
    for (size_t i = bytes + 3; i < bytes + 64; i++)
        wrong |= work[i] != 170;
    if ((threads && tasks > 1 && n > 100000 && most < 2) || most > tasks)
        wrong |= 2;
    free(x), free(g[0]), free(g[1]), free(alone), free(work);
    return wrong;
}

int main(void) {
    const int64_t sizes[] = {1, 33, 8192, 300001}, tasks[] = {1, 2, 3, 8, 64};
    const int threads[] = {0, 1, 2, 3, 16};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 5; j++)
            for (int k = 0; k < 5; k++)
                if (call(sizes[i], tasks[j], threads[k])) {
                    printf("%d %d %d\n", i, j, k);
                    return 1;
                }
    double x = 1, y;
    if ({name}_parallel(1, &x, &y, NULL, &x, 0, NULL, NULL) != MODEL_E_SIZE ||
        {name}_parallel(-1, &x, &y, NULL, &x, 1, NULL, NULL) != MODEL_E_SIZE ||
        {name}_parallel(1, &x, &y, NULL, NULL, 1, NULL, NULL) != MODEL_E_WORK)
        return 2;
    return 0;
}
"""


def sums(x):
    e = np.exp(-x * x)
    return np.sum(e * np.sin(x)) / np.max(e)


def normalised(x):
    rows = np.exp(x[:, None] * np.arange(1.0, 4.0))
    return np.sum((rows / np.sum(rows, axis=1, keepdims=True)) ** 3)


def relaxed(x):
    return np.sum(gradc.fori_loop(0, 4, lambda i, c: c + 0.01 * np.sin(c * i), x) ** 2)


def mapped(x):
    return np.sum(gradc.map(lambda a: gradc.fori_loop(0, 5, lambda i, v: np.sin(v + a), a), x) ** 2)


@pytest.mark.parametrize(
    "f",
    [
        sums,
        relaxed,
        pytest.param(normalised, marks=pytest.mark.slow),
        pytest.param(mapped, marks=pytest.mark.slow),
    ],
)
def test_bits_are_those_of_one_thread(f, tmp_path: Path) -> None:
    compiled = gradc.compile(f)
    compiled.export("model", spec="x: f64[n]", outputs="vg", out=tmp_path, parallel=True)
    (tmp_path / "main.c").write_text(
        '#include "model.h"\n' + RUN + MAIN.replace("{name}", "model_vg")
    )
    subprocess.run(
        ["cc", *C_FLAGS, "main.c", "model.o", "-pthread", "-o", "main"], cwd=tmp_path, check=True
    )
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_of_several_tasks_that_fail_the_first_one_says_how(tmp_path: Path) -> None:
    @gradc.compile(spec="x: f64[n], at: i64[n]")
    def model(x, at):
        return np.exp(x[at]) * np.sin(x[at])

    model.export("model", out=tmp_path, parallel=True)
    main = r"""
int main(void) {
    static double x[400000], y[400000];
    static int64_t at[400000];
    int threads = 3;
    void *work = malloc(model_parallel_worksize(400000, 8));
    int good = model_parallel(400000, x, at, y, work, 8, run, &threads);
    at[9000] = 400000;
    int bad = model_parallel(400000, x, at, y, work, 8, run, &threads);
    free(work);
    return !(good == MODEL_OK && bad == MODEL_E_INDEX && most > 1);
}
"""
    (tmp_path / "main.c").write_text('#include "model.h"\n' + RUN + main)
    subprocess.run(
        ["cc", *C_FLAGS, "main.c", "model.o", "-pthread", "-o", "main"], cwd=tmp_path, check=True
    )
    subprocess.run(["./main"], cwd=tmp_path, check=True)


def test_it_is_written_only_where_it_is_asked_for(tmp_path: Path) -> None:
    compiled = gradc.compile(sums, spec="x: f64[n]")
    compiled.export("plain", out=tmp_path)
    assert "_parallel" not in (tmp_path / "plain.h").read_text()
    compiled.export("both", out=tmp_path, parallel=True)
    text = (tmp_path / "both.h").read_text()
    assert "size_t both_vg_parallel_worksize(int64_t n, int64_t tasks);" in text
    done = subprocess.run(["nm", "-u", "both.o"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == ""
