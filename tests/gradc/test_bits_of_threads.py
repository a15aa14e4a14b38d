"""The bits of programs for any number of threads, known and symbolic sizes, Python, C and machines.

The rows of the benchmark and reductions of every kind, without BLAS and LAPACK. What one thread
makes of known sizes is what all others are compared with. ``tools/install_cross`` installs the
emulator and the compiler for another machine.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradc
from benchmarks.rows import ROWS
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.runtime.export import Choices, Entry, write
from gradc.tracing import trace
from gradc_codegen.abi import C_TYPES, Signature
from gradc_codegen.compile_function import Compilation
from gradc_codegen.nest.loop_nest import Item, LoopNest
from gradc_codegen.threads import divide
from gradc_codegen.threads.work import work_of
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import Type, dtype_of
from tests.comparing import assert_same_bits

pytestmark = pytest.mark.slow
THREADS = (1, 2, 3, 4, 8, 16)
# More than three chunks, and not a whole number of groups.
LONG = 12321


class Program(NamedTuple):
    """A function, what is computed of it, its arguments, and the axes of symbolic sizes."""

    name: str
    function: Callable[..., Any]
    request: Request
    arguments: tuple[np.ndarray, ...]
    symbolic: tuple[Type, ...]


# -- the rows of the benchmark ---------------------------------------------------------------------

# Sizes at which loops have several chunks, or rows enough for groups; else those of the tests.
_SIZES: Mapping[str, Mapping[str, int]] = {
    "mlp": {"m": 7, "h": 33, "k": 3, "n": 200},
    "pairwise": {"n": 211, "d": 3},
    "lstm": {"l": 2, "c": 65, "width": 33},
    "rnn": {"width": 70, "steps": 40},
    "stencil": {"n": 131},
    "labels": {"n": 4500, "k": 16, "d": 3},
    "running_product": {"n": 997},
    "last_state": {"n": 100},
    "mixture": {"k": 5, "n": 4500},
}
# What a function needs as a number.
_NUMBERS: Mapping[str, frozenset[str]] = {
    "gmm": frozenset("d"),
    "last_state": frozenset("n"),
    "lstm": frozenset({"l", "c", "width"}),
}


def _of_rows() -> list[Program]:
    """Return the rows; those of one point have no loops, and are there as a batch."""
    found = []
    for row in ROWS:
        if row.symbolic or row.sizes[-1] == {"points": 1}:
            continue
        longer = {"n": LONG} if "n" in row.tiny else {"points": 999}
        sizes = _SIZES.get(row.name) or {**row.tiny, **longer}
        shapes = {
            name: [x.shape for x in row.data(np.random.default_rng(7), {**sizes, name: size + 1})]
            for name, size in sizes.items()
            if name not in _NUMBERS.get(row.name, ())
        }
        arguments = row.data(np.random.default_rng(7), sizes)
        request = Request("value") if row.wrt is None else Request(row.of, row.wrt)
        types = tuple(
            Type(dtype_of(x.dtype), tuple(_size(shapes, i, *at) for at in enumerate(x.shape)))
            for i, x in enumerate(arguments)
        )
        found.append(Program(row.name, row.function, request, tuple(arguments), types))
    return found


def _size(longer: Mapping[str, Sequence[tuple[int, ...]]], leaf: int, axis: int, size: int) -> Size:
    """Return the symbol of a size with which an axis grows, and which it is as long as."""
    moved = [name for name, shapes in longer.items() if shapes[leaf][axis] == size + 1]
    return symbol(moved[0]) if len(moved) == 1 else size


# -- reductions ------------------------------------------------------------------------------------


def _counted(x):
    positive = x > 0
    return np.sum(positive), np.count_nonzero(x < 1), np.any(x > 9), np.all(x < 9)


def _places(x):
    return np.argmax(x), np.argmin(x), np.argmax(x, axis=0), np.argmin(x, axis=1)


def _whole(x):
    n = (x * 1000).astype(np.int64)
    return np.sum(n), np.max(n), np.min(n), np.sum(n, axis=0), np.prod(n % 3 + 1, axis=1)


def _masked(x):
    good = x > -1
    return np.sum(np.where(good, np.exp(x), 0.0)) / np.sum(x, where=good)


def _log_sum(x):
    top = np.max(x, axis=1, keepdims=True)
    return np.sum(np.log(np.sum(np.exp(x - top), axis=1)) + top[:, 0])


def _triangle(x):
    return np.sum(np.tril(x[:90, None, 0] * np.exp(x[None, :90, 1])))


def _scattered(x):
    total = np.zeros(50)
    np.add.at(total, np.arange(len(x)) % 50, np.exp(x[:, 0]))
    return total


def _paths(x):
    end = gradc.fori_loop(0, 12, lambda i, s: s + 0.1 * np.sin(s * i) * x[:, 0], x[:, 1])
    return np.sum(np.maximum(end, 0.0))


def _states(x):
    def step(state, i):
        state = 0.9 * state + 0.1 * np.tanh(x * i)
        return state, np.sum(state)

    state, sums = gradc.scan(step, np.zeros_like(x), np.arange(5.0))
    return np.sum(state * state) + np.sum(sums)


def _halved(x):
    return np.sum(gradc.while_loop(lambda s: np.max(np.abs(s)) > 0.1, lambda s: 0.5 * s, x))


def _mapped(x):
    return np.sum(gradc.map(lambda r: np.sum(r) * np.exp(-r @ r), x))


def _systems(x):
    a = x[:600, :, None] * x[:600, None, :] + 3 * np.eye(3)
    return np.sum(np.linalg.solve(a, x[:600, :, None]) ** 2)


def _covariance(x):
    centred = x - np.mean(x, axis=0)
    return centred.T @ centred / len(x)


def _convolved(x):
    y = x[:, 0]
    return np.sum((0.25 * y[:-2] + 0.5 * y[1:-1] + 0.25 * y[2:]) ** 2 * np.exp(y[1:-1]))


_VALUES: dict[str, Callable[..., Any]] = {
    "counted": _counted,
    "places": _places,
    "whole numbers": _whole,
    "extrema": lambda x: (np.max(x), np.min(x, axis=0), np.max(x, axis=1), np.ptp(x)),
    "sums of axes": lambda x: (np.sum(x), np.sum(x, axis=0), np.sum(np.exp(x), axis=1)),
    "means of axes": lambda x: (np.mean(x), np.mean(x, axis=0), np.mean(x, axis=1)),
    "running sums": lambda x: (np.cumsum(x, axis=0), np.cumsum(x, axis=1), np.cumsum(x[:, 0])),
    "running products": lambda x: np.cumprod(1 + 1e-4 * x, axis=0),
    "sorted": lambda x: (np.sort(x, axis=1), np.argsort(x, axis=1), np.sort(x[:, 0])),
    "median": lambda x: np.median(x, axis=1),
    "covariance": _covariance,
    "product": lambda x: x[:300] @ x[:200].T,
    "scattered": _scattered,
    "softmax": lambda x: np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True),
    "normalised": lambda x: x / np.sqrt(np.sum(x * x)),
}
_GRADIENTS: dict[str, Callable[..., Any]] = {
    "sum": lambda x: np.sum(np.exp(x)),
    "mean": lambda x: np.mean(np.sin(x) * x),
    "variance": lambda x: np.var(x),
    "deviation": lambda x: np.std(x, axis=0) @ np.arange(1.0, 4.0),
    "sum of a product": lambda x: np.sum(np.prod(x, axis=1)),
    "product of all": lambda x: np.prod(1 + 1e-5 * x),
    "maximum": lambda x: np.max(x) * np.min(x),
    "maxima of rows": lambda x: np.sum(np.max(x, axis=1) ** 2),
    "norm": lambda x: np.linalg.norm(x),
    "norm of one": lambda x: np.linalg.norm(x[:, 0], 1) + np.linalg.norm(x[:, 1], np.inf),
    "logsumexp": _log_sum,
    "masked": _masked,
    "dot": lambda x: np.dot(x[:, 0], x[:, 1]) * np.vdot(x[:, 1], x[:, 2]),
    "contraction": lambda x: np.sum(np.einsum("ij,ik->jk", x, np.tanh(x)) ** 2),
    "weighted": lambda x: np.average(x[:, 0], weights=np.exp(x[:, 1])),
    "triangle": _triangle,
    "trapezoid": lambda x: np.trapezoid(np.exp(-(x[:, 0] ** 2)), x[:, 1]),
    "differences": lambda x: np.sum(np.exp(np.diff(x, axis=0)) ** 2),
    "convolved": _convolved,
    "running sum": lambda x: np.sum(np.tanh(np.cumsum(x, axis=0)) ** 2),
    "sorted rows": lambda x: np.sort(x, axis=1)[:, 1] @ np.exp(x[:, 0]),
    "paths": _paths,
    "states": _states,
    "halved": _halved,
    "mapped": _mapped,
    "systems": _systems,
}


def _of_reductions() -> list[Program]:
    x = np.random.default_rng(0).normal(size=(LONG, 3))
    found = []
    for name, function in _VALUES.items():
        found.append(_of_rows_of_three(name, function, Request("value"), x))
    for name, function in _GRADIENTS.items():
        found.append(_of_rows_of_three(name, function, Request("value_and_grad", (0,)), x))
    for name in ("sum", "deviation", "logsumexp"):
        request, single = Request("value_and_grad", (0,)), x.astype(np.float32)
        found.append(_of_rows_of_three(f"{name} in f32", _GRADIENTS[name], request, single))
    return found


def _of_rows_of_three(
    name: str, function: Callable[..., Any], request: Request, x: np.ndarray
) -> Program:
    types = (Type(dtype_of(x.dtype), (symbol("n"), 3)),)
    return Program(name, function, request, (x,), types)


PROGRAMS = {program.name: program for program in (*_of_rows(), *_of_reductions())}


# -- graphs, and what one thread makes of them -----------------------------------------------------


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have loops divided that take too little time for it, so that emulators do not take long."""

    def more(nest: LoopNest, body: Sequence[Item]) -> Size:
        return 256 * work_of(nest, body)

    monkeypatch.setattr(divide, "work_of", more)


@functools.cache
def graphs(name: str) -> dict[str, Function]:
    """Return the final graphs of a program, of known and of symbolic sizes."""
    program = PROGRAMS[name]
    known = tuple(Type(dtype_of(x.dtype), x.shape) for x in program.arguments)
    return {
        sizes: derive(trace(program.function, types).function, program.request)
        for sizes, types in (("known", known), ("symbolic", program.symbolic))
    }


@functools.cache
def wanted(name: str) -> list[np.ndarray]:
    """Return what one thread makes of known sizes."""
    kernel = Compilation(graphs(name)["known"]).kernel()
    return [np.asarray(x) for x in kernel(PROGRAMS[name].arguments)]


def test_there_are_programs_of_every_kind() -> None:
    assert len(PROGRAMS) >= 60
    # and nearly all of them have loops that threads share
    without = []
    for name in PROGRAMS:
        for sizes, function in graphs(name).items():
            divisions = Compilation(function, threads=2).divisions
            if not any(tasks for _, tasks, _ in divisions):
                without.append(f"{name}, {sizes}")
    assert len(without) <= 8, without


@pytest.mark.parametrize("name", PROGRAMS)
def test_any_number_of_threads_gives_the_bits_of_one(name: str) -> None:
    for function in graphs(name).values():
        kernel = Compilation(function, threads=2).kernel()
        for threads in THREADS:
            kernel.run_on(threads)
            found = kernel(PROGRAMS[name].arguments)
            for one, expected in zip(found, wanted(name), strict=True):
                assert_same_bits(np.asarray(one), expected)


# -- C, on several machines ------------------------------------------------------------------------


class Machine(NamedTuple):
    """A machine that programs are compiled for, and what runs them here."""

    compiler: str
    triple: str | None = None
    cpu: str | None = None
    emulator: tuple[str, ...] = ()
    needs: str = ""
    optimize: int | None = None


MACHINES = {
    "x86-64-v3": Machine("cc", "x86_64-linux-gnu", "x86-64-v3", needs="fma"),
    "x86-64-v4": Machine("cc", "x86_64-linux-gnu", "x86-64-v4", needs="avx512vl"),
    # LLVM takes several times as long for it; what it does then, test_export_targets runs
    "aarch64": Machine(
        "aarch64-linux-gnu-gcc", "aarch64-linux-gnu", emulator=("qemu-aarch64",), optimize=0
    ),
}
# A caller with threads of its own, which take tasks from the last to the first.
_RUN = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "k.h"

typedef struct { int64_t first, step, count; void (*task)(void *, int64_t); void *job; } Share;

static void *some(void *given) {
    const Share *share = given;
    for (int64_t i = share->count - 1 - share->first; i >= 0; i -= share->step)
        share->task(share->job, i);
    return NULL;
}

static void run(void *context, int64_t count, void (*task)(void *, int64_t), void *job) {
    int threads = *(int *)context;
    pthread_t made[16];
    Share shares[16];
    for (int k = 0; k < threads; k++) {
        shares[k] = (Share){k, threads, count, task, job};
        if (k < threads - 1)
            pthread_create(&made[k], NULL, some, &shares[k]);
        else
            some(&shares[k]);
    }
    for (int k = 0; k < threads - 1; k++)
        pthread_join(made[k], NULL);
}

static void *array(FILE *file, size_t bytes) {
    void *made = malloc(bytes + 1);
    if (fread(made, 1, bytes, file) != bytes)
        exit(3);
    return made;
}

static int differs(const char *what, int threads, int status, void **made, void **wanted,
                   const size_t *bytes, int count) {
    int wrong = status != 0;
    for (int i = 0; i < count; i++) {
        wrong |= memcmp(made[i], wanted[i], bytes[i]) != 0;
        memset(made[i], 170, bytes[i]);
    }
    if (wrong)
        printf("%s sizes, %d threads: status %d\n", what, threads, status);
    return wrong;
}
"""


def _main(functions: Mapping[str, Function], program: Program, results: Sequence[Any]) -> str:
    """Return a C program that reads arguments and results, and compares what kernels make."""
    bytes_ = [x.nbytes for x in results]
    count = len(results)
    lines = [
        _RUN,
        "int main(int count, char **given) {",
        '    FILE *file = fopen(given[count - 1], "rb");',
        "    const int all[] = {1, 2, 3, 4, 8, 16};",
        f"    const size_t bytes[] = {{{', '.join(map(str, bytes_))}}};",
        f"    void *in[{len(program.arguments)}], *wanted[{count}], *made[{count}];",
        "    int wrong = 0;",
    ]
    lines += [f"    in[{i}] = array(file, {x.nbytes});" for i, x in enumerate(program.arguments)]
    lines += [
        f"    for (int i = 0; i < {count}; i++) {{",
        "        wanted[i] = array(file, bytes[i]);",
        "        made[i] = malloc(bytes[i] + 1);",
        "    }",
    ]
    for what, function in functions.items():
        sizes = _sizes(function, program.arguments)
        inputs = [
            f"in[{i}]" if x.shape else f"*({C_TYPES[param.type.dtype]} *)in[{i}]"
            for i, (x, param) in enumerate(zip(program.arguments, function.params, strict=True))
        ]
        values = [*sizes, *inputs, *(f"made[{i}]" for i in range(count))]
        head = ", ".join(values)
        lines += [
            "    {",
            f"        void *work = malloc(k_{what}_worksize({', '.join(sizes)}) + 1);",
            f"        int status = k_{what}({head}, work);",
            f'        wrong |= differs("{what}", 0, status, made, wanted, bytes, {count});',
            "        for (int i = 0; i < 6; i++) {",
            "            int threads = all[i], tasks = 4 * threads;",
            f"            size_t most = k_{what}_parallel_worksize("
            f"{', '.join([*sizes, 'tasks'])});",
            "            void *more = malloc(most + 1);",
            f"            status = k_{what}_parallel({head}, more, tasks, run, &threads);",
            f'            wrong |= differs("{what}", threads, status, made, wanted, bytes, {count});',
            "            free(more);",
            "        }",
            "        free(work);",
            "    }",
        ]
    return "\n".join([*lines, "    return wrong;", "}", ""])


def _sizes(function: Function, arguments: Sequence[np.ndarray]) -> list[str]:
    """Return the sizes that a kernel is handed, as numbers."""
    found: dict[str, int] = {}
    for param, argument in zip(function.params, arguments, strict=True):
        for size, length in zip(param.type.shape, argument.shape, strict=True):
            if not isinstance(size, int):
                found.setdefault(str(size), length)
    return [f"{found[size.name]}" for size in Signature.of(function).sizes]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_c_gives_the_bits_of_python(name: str, machine: str, tmp_path: Path) -> None:
    target = MACHINES[machine]
    for command in (target.compiler, *target.emulator):
        if shutil.which(command) is None:
            pytest.skip(f"no {command}: tools/install_cross installs it")
    if target.needs not in Path("/proc/cpuinfo").read_text():
        pytest.skip(f"this CPU has no {target.needs}")
    program, results = PROGRAMS[name], wanted(name)
    entries = [
        Entry(f"k_{sizes}", function, [f"y{i}" for i in range(len(results))])
        for sizes, function in graphs(name).items()
    ]
    choices = Choices(target.cpu, target.triple, optimize=target.optimize, parallel=True)
    write("k", entries, tmp_path, choices)
    (tmp_path / "main.c").write_text(_main(graphs(name), program, results))
    with (tmp_path / "given").open("wb") as file:
        for x in (*program.arguments, *results):
            file.write(np.ascontiguousarray(x).tobytes())
    build = [target.compiler, "-static", "main.c", "k.o", "-pthread", "-o", "main"]
    subprocess.run(build, cwd=tmp_path, check=True)
    done = subprocess.run(
        [*target.emulator, "./main", "given"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
