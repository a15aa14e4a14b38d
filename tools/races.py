"""Looks for data races in the pool of threads and in kernels, by gcc's ThreadSanitizer.

    python tools/races.py [words in names …]

The sanitizer sees what a compiler has told it of: so the LLVM text of the pool and of kernels gets
a call of its functions at each load and store, and a C program, built with ``-fsanitize=thread``,
runs them on threads. It calls the pool from several threads, with calls in tasks; and the
``_parallel`` forms of kernels on threads of its own. A task that has a race must be found, or the
program says that nothing is.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

import gradc
from gradc_codegen.machine.machine_code import machine_code
from gradc_codegen.threads import pool

_BYTES = {"double": 8, "i64": 8, "ptr": 8, "float": 4, "i32": 4, "i8": 1, "i1": 1}
# a load or a store that is no atomic one, its type and where it is
_LOAD = re.compile(r"^\s+%\S+ = load (?P<type><[^>]+>|\w+), ptr (?P<at>[%@][\w.$\"-]+)")
_STORE = re.compile(r"^\s+store (?P<type><[^>]+>|\w+) .*, ptr (?P<at>[%@][\w.$\"-]+)(?:, |$)")
_SANITIZER = """
declare void @__tsan_read_range(ptr, i64)
declare void @__tsan_write_range(ptr, i64)
"""


def watched(text: str) -> str:
    """Return the LLVM text of a module that tells the sanitizer of each load and store."""
    lines = []
    for line in text.splitlines():
        for pattern, what in ((_LOAD, "read"), (_STORE, "write")):
            found = pattern.match(line)
            if found is not None:
                given = f"ptr {found['at']}, i64 {_bytes(found['type'])}"
                lines.append(f"  call void @__tsan_{what}_range({given})")
        lines.append(line)
    return "\n".join(lines) + _SANITIZER


def _bytes(type_: str) -> int:
    if type_.startswith("<"):
        count, element = type_.strip("<>").split(" x ")
        return int(count) * _BYTES[element]
    return _BYTES[type_]


# -- the pool --------------------------------------------------------------------------------------

POOL = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

int pool_run(int (*)(void *, int64_t, int64_t, void *), void *, int64_t, int64_t, int64_t, int64_t,
             int64_t, int64_t, void *);
void pool_begin(void), pool_end(void);

enum { SIZE = 1000, CALLERS = 3, CALLS = 300 };
static const int64_t much = (int64_t)1 << 40;
static int64_t shared;

static int inner(void *table, int64_t first, int64_t last, void *own) {
    double *made = table;
    for (int64_t i = first; i < last; i++)
        made[i] = made[i] * 2 + 1, ((double *)own)[i % 8] = (double)i;
    return 0;
}

/* each task has a row, which tasks of its own go through */
static int outer(void *table, int64_t first, int64_t last, void *own) {
    int status = 0;
    for (int64_t i = first; i < last; i++)
        status |= pool_run(inner, (double *)table + i * SIZE, SIZE, 32, 32, much, 3, 64, own);
    return status;
}

static int racing(void *table, int64_t first, int64_t last, void *own) {
    (void)table, (void)first, (void)last, (void)own;
    shared++;
    return 0;
}

static void *caller(void *given) {
    double own[64], *rows = calloc(8 * SIZE, sizeof *rows);
    int is_racing = *(int *)given;
    for (int i = 0; i < CALLS; i++) {
        pool_run(outer, rows, 8, 1, 1, much, 1 + i % 5, 512, own);
        pool_run(inner, rows, 8 * SIZE, 32, 512, much, 4, 64, own);
        if (is_racing)
            pool_run(racing, rows, 8, 1, 1, much, 4, 0, own);
    }
    free(rows);
    return NULL;
}

int main(int count, char **words) {
    pthread_t threads[CALLERS];
    int is_racing = count > 1;
    (void)words;
    pool_begin();
    for (int i = 0; i < CALLERS; i++)
        pthread_create(&threads[i], NULL, caller, &is_racing);
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    pool_end();
    return 0;
}
"""


def check_pool(folder: Path) -> Iterator[str]:
    """Yield what is wrong with the pool."""
    text = pool.pool_text()
    for name in (pool.OWN, pool.BEGIN, pool.END):  # the linker has an ``end`` of its own
        text = text.replace(f"@{name}(", f"@pool_{name}(")
    build(folder, "pool", text, POOL)
    yield from run(folder, "pool")
    if not list(run(folder, "pool", "racing")):
        yield "pool: a race that is there has not been found"


# -- kernels ---------------------------------------------------------------------------------------

KERNEL = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "kernel.h"

enum { SIZE = 300001, TASKS = 8, THREADS = 4 };
typedef struct { int64_t first, count; void (*task)(void *, int64_t); void *job; } Share;

static void *some(void *given) {
    const Share *share = given;
    for (int64_t i = share->first; i < share->count; i += THREADS)
        share->task(share->job, i);
    return NULL;
}

static void run(void *context, int64_t count, void (*task)(void *, int64_t), void *job) {
    pthread_t threads[THREADS];
    Share shares[THREADS];
    ++*(int *)context;
    for (int k = 0; k < THREADS; k++) {
        shares[k] = (Share){k, count, task, job};
        pthread_create(&threads[k], NULL, some, &shares[k]);
    }
    for (int k = 0; k < THREADS; k++)
        pthread_join(threads[k], NULL);
}

int main(void) {
    static double x[SIZE], g[2][SIZE];
    double y[2];
    int jobs = 0;
    void *alone = malloc(kernel_vg_worksize(SIZE) + 1);
    void *work = malloc(kernel_vg_parallel_worksize(SIZE, TASKS));
    for (int i = 0; i < SIZE; i++)
        x[i] = i * 37 % 101 / 64.0 - 0.5;
    int status = kernel_vg(SIZE, x, &y[0], g[0], alone);
    status |= kernel_vg_parallel(SIZE, x, &y[1], g[1], work, TASKS, run, &jobs);
    if (status || !jobs || memcmp(&y[0], &y[1], sizeof *y) || memcmp(g[0], g[1], sizeof *g))
        puts("other bits, or no tasks");
    return 0;
}
"""


def sums(x: Any) -> Any:
    """Return sums and extrema, joined from chunks."""
    e = np.exp(-x * x)
    return np.sum(e * np.sin(x)) / np.max(e)


def rows(x: Any) -> Any:
    """Return what keeps rows in scratch of a task."""
    made = np.exp(x[:, None] * np.arange(1.0, 4.0))
    return np.sum((made / np.sum(made, axis=1, keepdims=True)) ** 3)


def steps(x: Any) -> Any:
    """Return what loops over steps, with a carry in place, and back."""
    return np.sum(gradc.fori_loop(0, 4, lambda i, c: c + 0.01 * np.sin(c * i), x) ** 2)


def mapped(x: Any) -> Any:
    """Return what is made item by item, with loops inside."""
    made = gradc.map(lambda a: gradc.fori_loop(0, 5, lambda i, v: np.sin(v + a), a), x)
    return np.sum(made**2)


def sorted_rows(x: Any) -> Any:
    """Return what sorts rows."""
    return np.sum(np.sort(x[:, None] * np.array([1.0, -2.0, 3.0]), axis=1)[:, 1] ** 2)


KERNELS: dict[str, Callable[[Any], Any]] = {
    f.__name__: f for f in (sums, rows, steps, mapped, sorted_rows)
}


def check_kernel(folder: Path, name: str) -> Iterator[str]:
    """Yield what is wrong with the kernels of a function."""
    compiled = gradc.compile(KERNELS[name], spec="x: f64[n]")
    compiled.export("kernel", outputs="vg", out=folder, parallel=True, link="ir")
    build(folder, name, (folder / "kernel.ll").read_text(), KERNEL)
    yield from run(folder, name)


# -- programs --------------------------------------------------------------------------------------


def build(folder: Path, name: str, text: str, program: str) -> None:
    """Build a program of watched LLVM text and of C."""
    code = machine_code(watched(text), "x86-64-v3", None, level=0).object()
    (folder / f"{name}.o").write_bytes(code)
    (folder / f"{name}.c").write_text(program)
    command = ["cc", "-std=c99", "-O1", "-g", "-fsanitize=thread", f"{name}.c", f"{name}.o"]
    subprocess.run([*command, "-pthread", "-lm", "-o", name], cwd=folder, check=True)


def run(folder: Path, name: str, *words: str) -> Iterator[str]:
    """Run a program, where the sanitizer knows the places of libraries; yield what it says."""
    command = ["setarch", "-R", f"./{name}", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    told = (done.stdout + done.stderr).strip()
    if done.returncode or told:
        yield f"{name}: ended with {done.returncode}\n{told[:4000]}"


def main(words: list[str]) -> int:
    """Check the pool and the kernels, or those with a word in their names."""
    wrong: list[str] = []
    for name in ("pool", *KERNELS):
        if words and not any(word in name for word in words):
            continue
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder)
            found = list(check_pool(place) if name == "pool" else check_kernel(place, name))
        print(f"{name}: {'no race' if not found else 'wrong'}", flush=True)
        wrong += found
    print("\n".join(wrong), end="\n" if wrong else "")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
