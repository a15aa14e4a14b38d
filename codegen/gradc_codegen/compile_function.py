"""From a function to its kernel: the one road through this package, with its stations.

Function -passes-> Function -schedule-> LoopNest -lower-> LLVM text -optimise-> machine code

The stations are loaded when they are reached: machine code that is kept passes none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from gradc_codegen.abi import Order, Signature
from gradc_codegen.cache import objects
from gradc_codegen.cache.objects import Object
from gradc_codegen.interface.python_kernel import Kernel
from gradc_codegen.machine import jit
from gradc_codegen.machine.jit import Level
from gradc_codegen.target.llvm_lock import uses_llvm
from gradc_codegen.target.target import has_vectors, machine_of, target
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.binding import Least
from gradc_ir.core.deferred import Deferred
from gradc_ir.core.graph import Function
from gradc_ir.errors import ExportError
from gradc_ir.telling.phases import DISK, LLVM, SCHEDULE, phase

if TYPE_CHECKING:
    from gradc_codegen.nest.loop_nest import LoopNest
    from gradc_codegen.schedule.versions.long_rows import LongRows
    from gradc_codegen.threads.divide import Division

_NAME = "gradc_kernel"


def compile_function(
    function: Function,
    *,
    blas: bool = False,
    level: Level = None,
    code: int | None = None,
    threads: int = 1,
) -> Kernel:
    """Return the kernel of a function, for this machine: arrays in, newly made arrays out.

    Parameters
    ----------
    function: a final function, without calls of overrides; its types say what the kernel takes.
    blas: whether contractions that are bound by arithmetic go to BLAS, whose bits are its own.
    level: how hard LLVM tries, 0, 1 or 2; None chooses by size.
    code: the result that says which check of the function's has failed, 0 for none.
    threads: on how many threads long loops run.

    Machine code that is kept on disk is loaded; what is made is kept.

    Raises
    ------
    GradcError: the code needs SciPy, which is missing.
    """
    with phase(DISK):
        key = _key(function, blas, level, code, threads > 1) if objects.are_kept() else None
        found = None if key is None else objects.find(key)
    if found is not None:
        with phase(LLVM):
            loaded = jit.load_object(*found)
        return Kernel(function, loaded, _NAME, threads=threads)
    made = Compilation(function, blas=blas, code=code, threads=threads).kernel(level)
    if key is not None:
        with phase(DISK):
            objects.keep(key, Object(made.compiled.code, made.compiled.names))
    return made


def _key(
    function: Function, blas: bool, level: Level, code: int | None, several: bool
) -> str | None:
    """Return under which name the machine code is kept: by the graph alone, whose names are none
    of a kernel's.
    """
    if isinstance(function, Deferred):
        digest = function.digest
    else:
        from gradc_ir.text.packed import digest_of  # what is kept is there by its digest

        try:
            digest = digest_of(function)
        except ValueError:
            return None  # it has something that is no text, such as a size of many terms
    parts = [str(part).encode() for part in (blas, level, code)]
    return objects.key_of(b"threads" if several else b"kernel", digest, *parts)


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
    threads: on how many threads long loops run, in this process.
    is_small: whether code is to be short rather than fast; its results are the same.
    has_runner: whether its caller says what runs tasks, instead.
    """

    function: Function
    name: str = _NAME
    blas: bool = False
    cpu: str | None = "native"
    triple: str | None = None
    splits: bool = False
    code: int | None = None
    threads: int = 1
    is_small: bool = False
    has_runner: bool = False

    @property
    def _has_tasks(self) -> bool:
        return self.threads > 1 or self.has_runner

    @cached_property
    def divisions(self) -> list[Division]:
        """What became of the outermost loops when they were divided into tasks."""
        if not self._has_tasks:
            return []
        from gradc_codegen.threads.divide import divide  # one thread does without

        return divide(self._scheduled)

    @property
    def nest(self) -> LoopNest:
        """The loop nest, after the passes of :mod:`gradc_codegen.schedule.passes.prepare`."""
        _ = self.divisions
        return self._scheduled

    @cached_property
    def _scheduled(self) -> LoopNest:
        from gradc_codegen.schedule.choices import Choices, WithoutLanes
        from gradc_codegen.schedule.estimates import MANY, UNKNOWN, Estimates
        from gradc_codegen.schedule.passes.flat import flat
        from gradc_codegen.schedule.schedule import schedule

        has_lanes = not self.is_small and has_vectors(target(self.cpu, self.triple))
        made = Choices if has_lanes else WithoutLanes
        function, rows = flat(self.function), UNKNOWN
        if self._has_tasks:
            from gradc_codegen.schedule.passes.split_sorts import with_sorts_split

            function, rows = with_sorts_split(function), MANY
        return schedule(function, self.blas, made(Estimates(function, rows)))

    @cached_property
    def llvm(self) -> str:
        """The LLVM text of the module, before the optimiser; ExportError for an unknown target."""
        from gradc_codegen.lower.lower import lower_nest
        from gradc_codegen.schedule.straight.registers import machine_for

        machine = machine_of(target(self.cpu, self.triple), self.splits, self.is_small)
        text = lower_nest(self.nest, self.name, machine, self.has_runner, self.long_rows)
        used = machine_for(self.nest, machine, text)
        if used is machine:
            return text
        return lower_nest(self.nest, self.name, used, self.has_runner, self.long_rows)

    @cached_property
    def long_rows(self) -> LongRows | None:
        """The nest for long rows, where they have one of their own."""
        if self.is_small or self._has_tasks:
            return None
        from gradc_codegen.schedule.passes.flat import flat
        from gradc_codegen.schedule.versions.long_rows import for_long_rows

        return for_long_rows(flat(self.function), self.nest, self.blas)

    @property
    def assembly(self) -> str:
        """The assembly for the target; ExportError where it lacks an instruction."""
        from gradc_codegen.machine.machine_code import assembly_of

        return assembly_of(self.llvm, self.cpu, self.triple)

    def kernel(self, level: Level = None) -> Kernel:
        """Return the kernel in this process, whose CPU has the features of the target's."""
        from gradc_codegen.calls.uniform import uniform_text

        with phase(SCHEDULE):
            uniform = uniform_text(Signature.of(self.function), self.name, self.code)
            text = self.llvm + "\n" + uniform
        with phase(LLVM):
            loaded = jit.compile_module(text, self.cpu or "native", level)
        return Kernel(self.function, loaded, self.name, threads=self.threads)


@dataclass(frozen=True)
class ObjectFile:
    """Exported kernels: the bytes of their object file, and what it is to be linked with.

    ``routines``: the symbols of BLAS and LAPACK that it calls, in alphabetical order; ``helpers``
    those of the compiler's own library, which take the place of instructions; ``called``: all that
    its text calls; ``stack``: how many bytes of it a call takes at most, by functions, as far as
    that is known. ``ir`` and ``assembly`` are the same code as text.
    """

    code: bytes
    routines: tuple[str, ...]
    helpers: tuple[str, ...]
    called: tuple[str, ...]
    stack: Mapping[str, int]
    ir: str
    assembly: str


def compile_object(
    functions: Mapping[str, Function],
    *,
    blas: bool = False,
    cpu: str | None = None,
    triple: str | None = None,
    splits: bool = False,
    emulate: bool = False,
    orders: Mapping[str, Order] | None = None,
    least: Mapping[str, Least] | None = None,
    level: int | Literal["size"] | None = None,
    more: Mapping[str, Sequence[str]] | None = None,
    own_doubles: bool = False,
    parallel: bool = False,
) -> ObjectFile:
    """Return functions as kernels for C, each with the checks of its arguments.

    Parameters
    ----------
    functions: final functions by their names in C; each brings ``NAME_worksize`` along.
    blas, cpu, triple, splits: as of :class:`Compilation`.
    emulate: whether functions of the object's own take the place of an fma that the CPU lacks.
    orders: in which C passes parameters and results, by the functions' names; else their own.
    least: what sizes must be at least, by the functions' names.
    level: how hard LLVM tries, 0, 1 or 2; ``"size"`` for code that is short rather than fast; None
        chooses by how long it is.
    more: texts of further modules, each with the functions it defines for others.
    own_doubles: whether functions of the object's own compute with doubles where the CPU does not.
    parallel: whether each brings ``NAME_parallel`` along, whose caller says what runs tasks.

    Raises
    ------
    ExportError: no such target or CPU, or the code needs fma, and the CPU has none.
    """
    from gradc_codegen.files.stack_use import worst_stack
    from gradc_codegen.interface.c_guard import PROBE, PROBED_BYTES, guard_text, kernel_name
    from gradc_codegen.interface.c_parallel import parallel_name, parallel_symbols, parallel_text
    from gradc_codegen.libraries.routines import routines_in
    from gradc_codegen.machine.helpers import helpers_in
    from gradc_codegen.machine.machine_code import machine_code
    from gradc_codegen.math.soft_double import NAMES, names_in, soft_double_text

    machine = target(cpu, triple)
    bits, texts = machine.pointer_bits, list(more or ())
    probes = machine.format == "coff"
    is_small = level == "size"
    for name, function in functions.items():
        given = (blas, cpu, triple, splits)
        order, bounds = (orders or {}).get(name), (least or {}).get(name, ())
        kernel = Compilation(function, kernel_name(name), *given, is_small=is_small)
        texts += [kernel.llvm, guard_text(function, name, bits, order, probes, bounds)]
        if parallel:
            form = parallel_name(name)
            kernel = Compilation(
                function, kernel_name(form), *given, is_small=is_small, has_runner=True
            )
            texts += [kernel.llvm, parallel_text(function, form, bits, order, probes, bounds)]
    exported = [symbol for name in functions for symbol in (name, f"{name}_worksize")]
    if parallel:
        exported += [symbol for name in functions for symbol in parallel_symbols(name)]
    exported += [symbol for symbols in (more or {}).values() for symbol in symbols]

    @uses_llvm
    def made_of(texts: Sequence[str]) -> tuple[bytes, str, tuple[str, ...], str]:
        """Return the code of texts, their IR, what they call, and their assembly."""
        made = machine_code(texts, cpu, triple, level=level, exported=exported, emulate=emulate)
        ir, copy = str(made.module), made.copied()
        code = made.object()  # which refuses targets that would end the process
        return code, ir, copy.called, copy.assembly()

    code, ir, called, assembly = made_of(texts)
    provided = NAMES.intersection(helpers_in(code)) if own_doubles else frozenset[str]()
    if provided:
        # which of them are called is known when code has been made
        texts.append(soft_double_text(provided))
        exported += names_in(texts[-1])
        code, ir, called, assembly = made_of(texts)
    stack = worst_stack(assembly, machine.architecture)
    taken = max(worst_stack(assembly, machine.architecture, PROBE).values(), default=0)
    if probes and taken > PROBED_BYTES:
        raise ExportError(
            f"a kernel takes {taken} bytes of stack, and on Windows it may take {PROBED_BYTES}",
            help="divide the function into several",
        )
    return ObjectFile(
        code,
        routines_in(texts),
        tuple(name for name in helpers_in(code) if name not in exported),
        called,
        {
            symbol: stack[machine.prefix + symbol]
            for symbol in exported
            if machine.prefix + symbol in stack
        },
        ir,
        assembly,
    )
