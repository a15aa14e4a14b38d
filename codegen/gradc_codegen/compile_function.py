"""From a function to its kernel: the one road through this package, with its stations.

Function -passes-> Function -schedule-> LoopNest -lower-> LLVM text -optimise-> machine code
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from gradc_codegen.abi import Order, Signature
from gradc_codegen.arrays.fortran import routines_in
from gradc_codegen.calls.uniform import uniform_text
from gradc_codegen.interface.c_guard import guard_text, kernel_name
from gradc_codegen.interface.python_kernel import Kernel
from gradc_codegen.lower.lower import lower_nest
from gradc_codegen.machine.helpers import helpers_in
from gradc_codegen.machine.jit import compile_module
from gradc_codegen.machine.machine_code import machine_code
from gradc_codegen.nest.loop_nest import LoopNest
from gradc_codegen.schedule.schedule import schedule
from gradc_codegen.target.target import machine_of, target
from gradc_ir.core.graph import Function


def compile_function(
    function: Function, *, blas: bool = False, level: int | None = None, code: int | None = None
) -> Kernel:
    """Return the kernel of a function, for this machine: arrays in, newly made arrays out.

    Parameters
    ----------
    function: a final function, without calls of overrides; its types say what the kernel takes.
    blas: whether contractions that are bound by arithmetic go to BLAS, whose bits are its own.
    level: how hard LLVM tries, 0, 1 or 2; None chooses by size.
    code: the result that says which check of the function's has failed, 0 for none.

    Raises
    ------
    GradcError: the code needs SciPy, which is missing.
    """
    return Compilation(function, blas=blas, code=code).kernel(level)


@dataclass(frozen=True)
class Compilation:
    """One function on its way; each station is reached when it is first asked for.

    Parameters
    ----------
    function: a final function.
    name: what its kernel is called in the module.
    blas: whether contractions that are bound by arithmetic go to BLAS.
    cpu: LLVM's name of a CPU, ``native``, or None for the architecture's baseline.
    triple: LLVM's name of the target; None for this machine's.
    splits: whether products are rounded before they are added, for CPUs without fma.
    code: the result that says which check of the function's has failed.
    """

    function: Function
    name: str = "gradc_kernel"
    blas: bool = False
    cpu: str | None = "native"
    triple: str | None = None
    splits: bool = False
    code: int | None = None

    @cached_property
    def nest(self) -> LoopNest:
        """The loop nest, after the passes of :mod:`gradc_codegen.schedule.passes.prepare`."""
        return schedule(self.function, self.blas)

    @cached_property
    def llvm(self) -> str:
        """The LLVM text of the module, before the optimiser; ExportError for an unknown target."""
        machine = machine_of(target(self.cpu, self.triple), self.splits)
        return lower_nest(self.nest, self.name, machine)

    @property
    def assembly(self) -> str:
        """The assembly for the target; ExportError where it lacks an instruction."""
        return machine_code(self.llvm, self.cpu, self.triple).assembly()

    def kernel(self, level: int | None = None) -> Kernel:
        """Return the kernel in this process, whose CPU has the features of the target's."""
        text = self.llvm + "\n" + uniform_text(Signature.of(self.function), self.name, self.code)
        loaded = compile_module(text, self.cpu or "native", level)
        return Kernel(self.function, loaded, self.name)


@dataclass(frozen=True)
class ObjectFile:
    """Exported kernels: the bytes of their object file, and what it is to be linked with.

    ``routines``: the symbols of BLAS and LAPACK that it calls, in alphabetical order; ``helpers``
    those of the compiler's own library, which take the place of instructions; ``called``: all that
    its text calls.
    """

    code: bytes
    routines: tuple[str, ...]
    helpers: tuple[str, ...]
    called: tuple[str, ...]


def compile_object(
    functions: Mapping[str, Function],
    *,
    blas: bool = False,
    cpu: str | None = None,
    triple: str | None = None,
    splits: bool = False,
    emulate: bool = False,
    orders: Mapping[str, Order] | None = None,
) -> ObjectFile:
    """Return functions as kernels for C, each with the checks of its arguments.

    Parameters
    ----------
    functions: final functions by their names in C; each brings ``NAME_worksize`` along.
    blas, cpu, triple, splits: as of :class:`Compilation`.
    emulate: whether functions of the object's own take the place of an fma that the CPU lacks.
    orders: in which C passes parameters and results, by the functions' names; else their own.

    Raises
    ------
    ExportError: no such target or CPU, or the code needs fma, and the CPU has none.
    """
    bits = target(cpu, triple).pointer_bits
    texts = []
    for name, function in functions.items():
        made = Compilation(function, kernel_name(name), blas, cpu, triple, splits)
        texts += [made.llvm, guard_text(function, name, bits, (orders or {}).get(name))]
    exported = [symbol for name in functions for symbol in (name, f"{name}_worksize")]
    made_of_all = machine_code(texts, cpu, triple, exported=exported, emulate=emulate)
    code = made_of_all.object()
    return ObjectFile(code, routines_in(texts), helpers_in(code), made_of_all.called)
