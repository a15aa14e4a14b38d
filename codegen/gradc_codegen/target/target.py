"""Which machine code is made for: CPU, features, triple; and the target machines of LLVM.

LLVM is loaded by what asks it: a process that finds all its code on disk does not.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gradc_codegen.target.llvm_lock import uses_llvm
from gradc_codegen.target.triple import HELP, normalised
from gradc_codegen.text.module import REGISTER, Machine, suffix
from gradc_ir.classes.named import NamedTuple
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.types import DType
from gradc_ir.errors import ExportError

if TYPE_CHECKING:
    import llvmlite.binding

# The oldest CPU of each architecture that has fma in hardware, hence the same bits everywhere.
_BASELINE_CPU: dict[str, str] = {
    "x86_64": "x86-64-v3",
    "aarch64": "generic",
    "arm64": "apple-m1",
    "riscv64": "generic-rv64",
    "riscv32": "generic-rv32",
    "i86": "haswell",
    "powerpc64le": "pwr8",
    "armv7": "cortex-a7",
    "armv7a": "cortex-a7",
    "armv8": "cortex-a53",
    "armv8a": "cortex-a53",
    "armv7r": "cortex-r5",
    "armv6m": "cortex-m0",
    "armv7m": "cortex-m3",
    "armv7em": "cortex-m4",
    "armv8m.base": "cortex-m23",
    "armv8m.main": "cortex-m33",
    "armv8.1m.main": "cortex-m55",
}
# What code is for whatever the CPU: without SSE2 an x86 rounds to other numbers.
_BASELINE_FEATURES: dict[str, str] = {
    "riscv64": "+m,+a,+f,+d,+c",
    "riscv32": "+m,+a,+f,+d,+c",
    "i86": "+sse2",
}
ABI_NAMES: dict[str, str] = {"riscv64": "lp64d", "riscv32": "ilp32d"}

# Architectures for which LLVM is known to make code of all that kernels are made of. For others it
# may end the process over an op that it cannot express: they are tried in a process of their own.
_PROVEN = frozenset({"x86_64", "aarch64", "arm64", "riscv64", "wasm32", "i86"})

# The features by which x86-64 has an instruction for an intrinsic. Those of this machine are all
# named, and what is named need not be tried, which takes 5 ms the first time.
_FEATURES_OF = {"fma": "+fma", "floor": "+sse4.1", "sqrt": "+sse2"}

# A machine without an instruction calls a function: jmp fma@PLT, b _fma, call floorf.
_CALL = r"^\s+\w+\s+\*?_?{name}f?(?:@\w+)?(?:\(|\s|$)"
_FAMILIAR_CPUS: dict[str, tuple[str, ...]] = {
    "x86_64": ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"),
    "aarch64": ("generic",),
    "riscv64": ("generic-rv64",),
}

_APPLE = re.compile(r"-(darwin|macosx?|ios|tvos|watchos|xros|visionos|driverkit)")

# LLVM tells that it doesn't know a CPU on stderr, or by ending the process, and lists none.
_CPU_PROBE = """
import sys, llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
target = llvm.Target.from_triple(sys.argv[1])
machine = target.create_target_machine(cpu=sys.argv[2])
machine.emit_object(llvm.parse_assembly("define void @probe() {\\n ret void\\n}"))
"""


@dataclass(frozen=True)
class Target:
    """A machine to make code for; equal targets give equal code.

    Parameters
    ----------
    triple: LLVM's name of architecture and system, e.g. ``x86_64-unknown-linux-gnu``.
    cpu: LLVM's name of the CPU.
    features: LLVM's feature string, e.g. ``+avx2,-avx512f``; empty for what the CPU has by name.
    """

    triple: str
    cpu: str
    features: str = ""

    @property
    def architecture(self) -> str:
        """The first part of the triple, by one name for those that differ in age or encoding."""
        return _architecture(self.triple)

    @property
    def format(self) -> str:
        """The format of its object files: ``elf``, ``coff``, ``mach-o`` or ``wasm``."""
        system = self.triple.split("-")
        if system[0].startswith("wasm"):
            return "wasm"
        if any(part.startswith(("windows", "uefi")) for part in system[2:]):
            return "coff"
        return "mach-o" if _APPLE.search(self.triple) else "elf"

    @property
    def prefix(self) -> str:
        """What the names of C functions begin with in an object file."""
        has_one = self.format == "mach-o" or (self.format == "coff" and self.architecture == "i86")
        return "_" if has_one else ""

    @property
    def is_proven(self) -> bool:
        """Whether LLVM is known to make code of every kernel, rather than to end the process.

        This machine is not asked: what runs here is compiled all the time.
        """
        return self.architecture in _PROVEN or self == host()

    @functools.cached_property
    @uses_llvm
    def layout(self) -> str:
        """LLVM's text of how wide and how aligned data is."""
        return str(self.machine().target_data)

    @property
    def pointer_bits(self) -> int:
        """How wide a pointer is, and with it C's ``size_t``."""
        return 32 if re.search(r"(?:^|-)p:32:", self.layout) else 64

    def machine(self, level: int = 2) -> llvmlite.binding.TargetMachine:
        """Return a fresh target machine that makes position-independent code.

        One engine or one module each: a machine that is used again crashes LLVM.
        """
        from gradc_codegen.target.bindings import llvm

        _initialize(self.triple)
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu,
            features=self.features,
            opt=level,
            # modules of WebAssembly are linked to fixed places, with what refers to data there
            reloc="static" if self.format == "wasm" else "pic",
            codemodel="small",
            abiname=ABI_NAMES.get(self.architecture, ""),
        )


def _architecture(triple: str) -> str:
    first = triple.partition("-")[0]
    first = re.sub(r"^thumb", "arm", first)
    return re.sub(r"^i[3-9]86$", "i86", first)


def _features(architecture: str) -> str:
    """Return what LLVM is told to use of an architecture, and what not."""
    if re.match(r"arm(?!64)", architecture):
        return "-neon"  # which takes subnormal numbers for 0, where LLVM is given vectors
    return _BASELINE_FEATURES.get(architecture, "")


class Option(NamedTuple):
    """An option of LLVM's: its name, what gradc wants of it, and what it is for all others."""

    name: str
    wanted: str
    usual: str


NO_STRENGTH_REDUCTION = Option("-disable-lsr", "true", "false")
NO_PEEPHOLES = Option("-disable-peephole", "true", "false")
# How far joining neighbours looks for an order of what it would join, a block of code at a time:
# where it finds none it has looked through all of it for each try.
SHORT_SEARCH = Option("-slp-schedule-budget", "40000", "100000")
# Numbers that are added up in order cannot be added up as vectors: to look for sums takes up to
# nine tenths of the time of looking for neighbours.
NO_SUMS = Option("-slp-vectorize-hor", "false", "true")


# Instructions are chosen one by one, and not for all of a block: a fifth less time to emit code.
# It has no way back to what it was before it was ever set, so each emission says it.
FAST_SELECTION = Option("-fast-isel", "true", "false")


@contextmanager
def asking(*options: Option) -> Iterator[None]:
    """Set options of LLVM's for what is optimised or emitted inside.

    The options are the process's, and LLVM reads them when it begins: they are set for as long
    only, so that whoever else compiles with llvmlite (Numba) is not concerned. For functions that
    hold LLVM's lock.
    """
    from gradc_codegen.target.bindings import llvm

    for option in options:
        llvm.set_option("gradc", f"{option.name}={option.wanted}")
    try:
        yield
    finally:
        for option in options:
            llvm.set_option("gradc", f"{option.name}={option.usual}")


@functools.cache
@uses_llvm
def host() -> Target:
    """Return this process's machine, with the features it has (a virtual machine may lack some)."""
    from gradc_codegen.target.bindings import llvm

    return Target(
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    )


@functools.cache
@uses_llvm
def target(cpu: str | None = None, triple: str | None = None) -> Target:
    """Return the target for a CPU and a triple.

    Parameters
    ----------
    cpu: LLVM's name of a CPU; ``native`` for this machine; None for the architecture's baseline,
        on x86-64 ``x86-64-v3``.
    triple: None for this machine's.

    Raises
    ------
    ExportError: LLVM knows no such triple or CPU, or ``native`` is asked of another triple.
    """
    from gradc_codegen.target.bindings import llvm

    mine = llvm.get_process_triple()
    if cpu == "native":
        if triple is not None and normalised(triple) != mine:
            raise ExportError(
                f"cpu native is this machine's, but the target is {triple}",
                help="name the CPU of the target, or leave it out for its baseline",
            )
        return host()
    triple = mine if triple in (None, mine) else normalised(triple)
    _known_triple(triple)
    architecture = _architecture(triple)
    if cpu is None:
        return Target(
            triple,
            _BASELINE_CPU.get(architecture, "generic"),
            _features(architecture),
        )
    _known_cpu(cpu, triple)
    return Target(triple, cpu, _features(architecture))


@functools.cache
def has_instruction(
    target: Target, name: str, operands: int, dtype: DType, attributes: str = ""
) -> bool:
    """Whether the machine has instructions for an intrinsic of LLVM, tried by compiling one call.

    If not, the code generator calls the C library's function of the name, or gives up; in functions
    of some ``attributes`` also where the instructions are many.
    """
    if name in ("maximum", "minimum"):
        return target.architecture in _PROVEN
    if target.architecture == "x86_64" and _FEATURES_OF.get(name) in target.features.split(","):
        return True
    type_, full = REGISTER[dtype], f"@llvm.{name}.{suffix(dtype)}"
    given = ", ".join(f"{type_} %x{i}" for i in range(operands))
    probe = (
        f"define {type_} @probe({given}) {attributes} {{\n"
        f"  %result = call {type_} {full}({given})\n  ret {type_} %result\n}}\n"
        f"declare {type_} {full}({', '.join([type_] * operands)})\n"
    )
    return re.search(_CALL.format(name=name), _assembly(probe, target), re.MULTILINE) is None


@functools.cache
def has_doubles(target: Target) -> bool:
    """Whether the machine adds doubles by an instruction; small ones may have floats alone."""
    return "__" not in _assembly(
        "define double @probe(double %x, double %y) {\n"
        "  %sum = fadd double %x, %y\n  ret double %sum\n}\n",
        target,
    )


@functools.cache
def has_vectors(target: Target) -> bool:
    """Whether the machine has instructions for several floats at once."""
    if target.architecture in ("x86_64", "aarch64", "arm64"):
        return True
    one, eight = (
        _assembly(
            f"define void @probe(ptr %p) {{\n  %x = load {type_}, ptr %p\n"
            f"  %y = fadd {type_} %x, %x\n  store {type_} %y, ptr %p\n  ret void\n}}\n",
            target,
        )
        for type_ in ("float", "<8 x float>")
    )
    # one by one they take at least so many instructions more
    return eight.count("\n") < one.count("\n") + 7


@functools.cache
def has_wide_product(target: Target) -> bool:
    """Whether the machine multiplies numbers of 64 bits to one of 128 by instructions."""
    return "__multi3" not in _assembly(
        "define i128 @probe(i64 %x, i64 %y) {\n"
        "  %a = zext i64 %x to i128\n  %b = zext i64 %y to i128\n"
        "  %product = mul i128 %a, %b\n  ret i128 %product\n}\n",
        target,
    )


@uses_llvm
def _assembly(text: str, target: Target) -> str:
    from gradc_codegen.target.bindings import llvm

    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = target.triple
    return str(target.machine().emit_assembly(module))


def machine_of(target: Target, splits: bool = False, is_small: bool = False) -> Machine:
    """Return what the text of a module for a target, and for two choices, depends on."""
    is_wide = "+avx512vl" in target.features or target.cpu == "x86-64-v4"
    permutes = "+avx2" in target.features or target.cpu in ("x86-64-v3", "x86-64-v4")
    # AMD's Zen takes 12 cycles for eight numbers, and half of a cycle for one
    gathers = not target.cpu.startswith("znver")
    return Machine(is_wide, splits, permutes, target.pointer_bits, is_small, gathers)


@functools.cache
def _initialize(triple: str) -> None:
    from gradc_codegen.target.bindings import llvm

    # foreign targets cost 20 ms to set up, so they wait until one is asked for
    if triple.partition("-")[0] == llvm.get_process_triple().partition("-")[0]:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    else:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()


@uses_llvm
def _known_triple(triple: str) -> None:
    from gradc_codegen.target.bindings import llvm

    _initialize(triple)
    try:
        llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise ExportError(
            f"LLVM knows no target {triple!r}",
            found=str(error),
            help=HELP,
        ) from None


def _known_cpu(cpu: str, triple: str) -> None:
    """Raise unless LLVM knows the CPU; for a name it does not know it may end the process."""
    _known_triple(triple)
    if cpu in _FAMILIAR_CPUS.get(triple.partition("-")[0], ()) or cpu == host().cpu:
        return
    import subprocess  # only an unfamiliar CPU is looked up in a process of its own

    done = subprocess.run(
        [sys.executable, "-c", _CPU_PROBE, triple, cpu], capture_output=True, text=True
    )
    if done.returncode or done.stderr:
        raise ExportError(
            f"LLVM knows no CPU {cpu!r} for {triple}",
            help="for example x86-64-v3, znver4, native; leave it out for the target's baseline",
        )
