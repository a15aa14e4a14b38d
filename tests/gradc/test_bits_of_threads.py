"""The bits of programs for any number of threads, known and symbolic sizes, Python, C and machines.

The rows of the benchmark and reductions of every kind, without BLAS and LAPACK. What one thread
makes of known sizes is what all others are compared with. ``tools/install_cross`` installs the
emulator and the compiler for another machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from gradc.runtime.export import Choices, Entry, write
from gradc_codegen.abi import C_TYPES, Signature
from gradc_codegen.compile_function import Compilation
from gradc_codegen.nest.loop_nest import Item, LoopNest
from gradc_codegen.threads import divide
from gradc_codegen.threads.work import work_of
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size
from tests.c_caller import RUN
from tests.comparing import assert_same_bits
from tests.shared_loops import PROGRAMS, Program, graphs, wanted

pytestmark = pytest.mark.slow
THREADS = (1, 2, 3, 4, 8, 16)


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have loops divided that take too little time for it, so that emulators do not take long."""

    def more(nest: LoopNest, body: Sequence[Item]) -> Size:
        return 256 * work_of(nest, body)

    monkeypatch.setattr(divide, "work_of", more)


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
# What reads arrays, and compares those that kernels make.
_READ = r"""
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
        '#include "k.h"',
        RUN,
        _READ,
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
            f'            wrong |= differs("{what}", threads, status, made, wanted, bytes, '
            f"{count});",
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


# Each program on one machine, the machines in turn; with GRADC_EXAMPLES each on all of them.
_ALL = "GRADC_EXAMPLES" in os.environ
_RUNS = [
    (name, machine)
    for i, name in enumerate(PROGRAMS)
    for k, machine in enumerate(MACHINES)
    if _ALL or i % len(MACHINES) == k
]


@pytest.mark.parametrize(("name", "machine"), _RUNS)
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
