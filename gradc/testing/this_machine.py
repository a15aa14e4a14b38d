"""What gradc finds on this machine, and whether a kernel made here computes what it should."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gradc.api.compiled import Compiled
from gradc_ir import __version__
from gradc_ir.core.types import Array
from gradc_ir.errors import GradcError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.text.printer import VERSION

_LIBRARIES = ("numpy", "scipy", "llvmlite", "sympy", "mpmath", "python-flint", "optree", "click")
_VECTORS = ("sse4.2", "avx", "avx2", "fma", "avx512f", "neon", "sve")


@dataclass(frozen=True)
class ThisMachine:
    """What was found; printed as a table.

    Parameters
    ----------
    facts: pairs of what and which: versions, CPU, BLAS, variables of the environment.
    problems: what keeps gradc from working here.
    """

    facts: tuple[tuple[str, str], ...]
    problems: tuple[str, ...]

    def __str__(self) -> str:
        width = max(len(what) for what, _ in self.facts)
        lines = [f"{what:{width}}  {which}" for what, which in self.facts]
        ends = [f"PROBLEM  {one}" for one in self.problems]
        return "\n".join([*lines, *(ends or ["a kernel made here has the interpreter's bits"])])


def this_machine() -> ThisMachine:
    """Return what is found here; a kernel is made, run, and compared with the interpreter."""
    problems: list[str] = []
    facts = [
        ("gradc", f"{__version__}, version {VERSION} of the text of graphs"),
        ("Python", f"{platform.python_version()}, {platform.system()} {platform.machine()}"),
        *_libraries(problems),
    ]
    try:
        facts += _code(problems)
    except (GradcError, ImportError, OSError, RuntimeError) as error:
        problems.append(f"no kernel can be made: {type(error).__name__}: {error}")
    facts += sorted((name, text) for name, text in os.environ.items() if name.startswith("GRADC_"))
    return ThisMachine(tuple(facts), tuple(problems))


def _libraries(problems: list[str]) -> Iterator[tuple[str, str]]:
    for name in _LIBRARIES:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            problems.append(f"{name} is not installed: pip install {name}")


def _code(problems: list[str]) -> Iterator[tuple[str, str]]:
    """Yield what code is made for, and by which libraries; a kernel is tried last."""
    import llvmlite.binding as llvm

    from gradc_codegen.libraries import blas_threads
    from gradc_codegen.target.target import host

    machine = host()
    has = [name for name in _VECTORS if f"+{name}" in machine.features.split(",")]
    yield "LLVM", ".".join(map(str, llvm.llvm_version_info))
    yield "target", machine.triple
    yield "CPU", f"{machine.cpu}: {', '.join(has)}" if has else machine.cpu
    found = blas_threads.control()
    yield "BLAS", f"SciPy's OpenBLAS, on {found.threads} thread" if found else "SciPy's, as it is"
    if not _same_bits():
        problems.append("a kernel made here has other bits than the interpreter: report it")


def _same_bits() -> bool:
    """Whether value and gradient of a function are the interpreter's, bit for bit."""
    compiled = Compiled(_probe, spec="x: f64[n]")
    x: Array = np.linspace(-3.0, 700.0, 37)  # longer than a vector, and with a tail
    want = interpret(compiled.ir(of="value_and_grad"), [x])
    found = compiled.value_and_grad(x)
    return [each.tobytes() for each in want] == [np.asarray(each).tobytes() for each in found]


def _probe(x: Array) -> Array:
    # functions such as exp are not promised the bits of NumPy's
    total: Array = np.sum(x / np.sqrt(1 + x * x) - x * np.maximum(x, 3.0))
    return total
