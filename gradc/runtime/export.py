"""Writing kernels for C: an object file, or a library made of it, and its header."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gradc.runtime.c_names import (
    CALLED_BACK,
    LIBRARY,
    check_arguments,
    check_macros,
    check_name,
    check_symbols,
    symbols_of,
)
from gradc_codegen.abi import Order, Signature
from gradc_codegen.arrays.external import prototypes
from gradc_codegen.compile_function import ObjectFile, compile_object
from gradc_codegen.files.archive import Member, archive
from gradc_codegen.files.shared import library_name, shared_library
from gradc_codegen.interface.c_by_name import Facts, by_name_text
from gradc_codegen.interface.c_by_name import symbols as symbols_by_name
from gradc_codegen.interface.c_header import Exported, header, link_flags, spec_line
from gradc_codegen.math.scipy_words import scipy_name, word_of
from gradc_codegen.target.target import Target, has_doubles, target
from gradc_ir import __version__
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.binding import Least
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType
from gradc_ir.core.walk import nested
from gradc_ir.errors import ExportError
from gradc_ir.text.printer import print_function

SUMMARIES = {
    "": "value",
    "vg": "value and gradient",
    "grad": "gradient",
    "jvp": "value and its tangent",
    "vjp": "value and the cotangents of the arguments",
    "hvp": "the Hessian times a vector",
}
LINKS = ("object", "static", "shared", "ir", "asm")
# what an export may say about fused multiply-add -> what its header says
_FMA = {
    None: "strict IEEE",
    "emulate": "strict IEEE",
    "split": "strict IEEE, products rounded before they are added",
}
# Functions of the compiler's library that do arithmetic of doubles, by their two names.
_OF_DOUBLES = re.compile(
    r"__aeabi_(?:c?d\w+|[fhil]2d|u[il]2d|l2d|ul2d)|__\w*df\w*|__gnu_d2h_ieee|__riscv_\w+"
)


@dataclass(frozen=True)
class Choices:
    """How kernels are made.

    Parameters
    ----------
    cpu: LLVM's name of a CPU, ``native``, or None for the architecture's baseline, ``x86-64-v3``.
    triple: LLVM's name of the target; None for this machine's.
    blas: whether contractions that are bound by arithmetic call ``dgemm_`` and ``sgemm_``, which
        the program is then linked with.
    fma: what to do for a CPU without fused multiply-add: ``"emulate"`` computes it by functions of
        the object's own, to the same bits and several times slower; with ``"split"`` the products
        of sums are rounded before they are added, on every CPU, for other bits, and math functions
        are as with ``"emulate"``. None asks for a CPU that has it.
    helpers: whether the object may call functions of the compiler's library (libgcc, compiler-rt)
        where the CPU has no instruction.
    soft_double: whether a kernel of doubles may be made for a CPU that has none: functions of the
        object's own compute with them, to the same bits and slowly.
    optimize: how hard LLVM tries, 0, 1 or 2; ``"size"`` for code that is short rather than fast,
        with the same results; None chooses by how long it is.
    link: what is written: one of ``LINKS``.
    structs: whether there is a form of each function with a struct a side.
    parallel: whether there is one whose caller says what runs its tasks.
    """

    cpu: str | None = None
    triple: str | None = None
    blas: bool = False
    fma: str | None = None
    helpers: bool = False
    soft_double: bool = False
    optimize: int | Literal["size"] | None = None
    link: str = "object"
    structs: bool = False
    parallel: bool = False

    def __post_init__(self) -> None:
        if self.fma not in _FMA:
            raise ExportError(
                f"fma is {self.fma!r}",
                help='write fma="emulate", fma="split", or leave it out for hardware',
            )
        if self.link not in LINKS:
            raise ExportError(f"link is {self.link!r}", help=f"write one of {', '.join(LINKS)}")
        if self.optimize not in (None, 0, 1, 2, "size"):
            raise ExportError(
                f"optimize is {self.optimize!r}",
                help='write 0, 1, 2 or "size", or leave it out for what suits the function',
            )

    @property
    def target(self) -> Target:
        """The machine; raises ExportError for an unknown one."""
        return target(self.cpu, self.triple)


class Entry(NamedTuple):
    """One function to be exported.

    Parameters
    ----------
    name: in C.
    function: a final function.
    outputs: names of the results, in the function's order.
    order: in which C passes parameters and results; None for the function's own.
    summary: one line of what it computes.
    formulae: further lines for the header.
    least: what sizes must be at least, for the function to be what was traced.
    """

    name: str
    function: Function
    outputs: Sequence[str]
    order: Order | None = None
    summary: str = "value"
    formulae: Sequence[str] = ()
    least: Least = ()


class Written(NamedTuple):
    """What is known of kernels when they are written, for the files that come beside them.

    ``library`` is the name of the file with the code, ``flags`` those of a linker for what it
    calls.
    """

    name: str
    exported: Sequence[Exported]
    target: Target
    library: str
    flags: Sequence[str]
    compiled: ObjectFile


def export(
    functions: Mapping[str, Function],
    name: str,
    out: str | Path = ".",
    *,
    wrt: Sequence[int] | None = None,
    outputs: Mapping[str, Sequence[str]] | None = None,
    orders: Mapping[str, Order] | None = None,
    documentation: Sequence[str] = (),
    cpu: str | None = None,
    triple: str | None = None,
    blas: bool = False,
    fma: str | None = None,
    helpers: bool = False,
) -> list[Path]:
    """Write ``name.o`` and ``name.h`` of final functions and return their paths.

    Parameters
    ----------
    functions: final functions by suffix: ``""`` becomes the C function ``name``, ``"vg"`` (value
        and gradient) ``name_vg``.
    name: a C identifier that the functions and files are called by.
    out: the folder, made if need be.
    wrt: positions of the parameters that the results of ``"vg"`` after the value are gradients of.
    outputs: names of the results by suffix, instead of ``y`` and ``g_x``.
    orders: in which C passes parameters and results, by suffix; else in their own.
    documentation: text for the comment on top of the header.
    cpu, triple, blas, fma, helpers: as of :class:`Choices`.

    Where only the running program knows how many steps a loop takes, and its values are kept for
    the gradient, the last size argument of the kernel says how many there is room for (``tape``).

    Raises
    ------
    ExportError: as of :func:`write`.
    """
    entries = []
    for suffix, function in functions.items():
        full = f"{name}_{suffix}" if suffix else name
        names = (outputs or {}).get(suffix) or _output_names(function, suffix, wrt)
        order = (orders or {}).get(suffix)
        entries.append(Entry(full, function, names, order, SUMMARIES.get(suffix, suffix)))
    choices = Choices(cpu, triple, blas, fma, helpers)
    return write(name, entries, out, choices, documentation)


def write(
    name: str,
    entries: Sequence[Entry],
    out: str | Path,
    choices: Choices,
    documentation: Sequence[str] = (),
    beside: Callable[[Written], Mapping[str, str]] | None = None,
) -> list[Path]:
    """Write the code of functions, the header ``name.h`` and what comes beside them.

    Returns the paths, the code first, then the header. ``beside`` makes texts by the names of
    files.

    Raises
    ------
    ExportError: a name is not free in C, two arguments have the same name there, the target is
        unknown, or lacks fma or other instructions and nothing is said about that, an op is a
        function of SciPy's, or there is no linker for a shared library.
    """
    machine = choices.target
    check_name(name)
    for entry in entries:
        check_name(entry.name)
        _refuse_scipy(entry.function)
        _refuse_python(entry.function)
    signatures = [Signature.of(one.function, one.outputs, order=one.order) for one in entries]
    exported = [
        Exported(entry.name, signature, entry.summary, entry.formulae, least=entry.least)
        for entry, signature in zip(entries, signatures)
    ]
    for one in exported:
        check_arguments(one.name, one.signature)
    check_symbols(exported, choices.structs, choices.parallel)
    check_macros(name, exported, choices.structs, choices.parallel)
    ir_hash = _hash([entry.function for entry in entries], exported)
    compiled = _compiled(entries, exported, choices, ir_hash)
    _refuse_helpers(name, compiled, choices)
    exported = [replace(one, stack=compiled.stack.get(one.name)) for one in exported]
    mathematics = sorted(LIBRARY.intersection(compiled.called))
    flags = link_flags(compiled.routines, compiled.helpers, mathematics)
    symbols = [
        symbol
        for one in exported
        for symbol in symbols_of(one.name, choices.structs, choices.parallel)
    ]
    library, code = _linked(name, compiled, symbols, choices, flags)
    text = header(
        name,
        exported,
        target=machine,
        version=__version__,
        ir_hash=ir_hash,
        documentation=[line for text in documentation for line in text.splitlines()],
        routines=compiled.routines,
        helpers=compiled.helpers,
        arithmetic=_FMA[choices.fma],
        externals=prototypes([entry.function for entry in entries]),
        mathematics=mathematics,
        structs=choices.structs,
        parallel=choices.parallel,
    )
    files = {library: code, f"{name}.h": text.encode()}
    if beside is not None:
        written = Written(name, exported, machine, library, flags, compiled)
        files |= {file: content.encode() for file, content in beside(written).items()}
    return _write(Path(out), files)


def _compiled(
    entries: Sequence[Entry], exported: Sequence[Exported], choices: Choices, ir_hash: str
) -> ObjectFile:
    machine = choices.target
    more = {}
    for entry, one in zip(entries, exported):
        facts = Facts(
            spec_line(one),
            __version__,
            ir_hash,
            machine.triple,
            machine.cpu,
            _FMA[choices.fma],
        )
        text = by_name_text(
            entry.function,
            entry.name,
            facts,
            signature=one.signature,
            order=entry.order,
            pointer_bits=machine.pointer_bits,
            structs=choices.structs,
            least=entry.least,
        )
        more[text] = symbols_by_name(entry.name, choices.structs)
    functions = {entry.name: entry.function for entry in entries}
    return compile_object(
        functions,
        blas=choices.blas,
        cpu=choices.cpu,
        triple=choices.triple,
        splits=choices.fma == "split",
        emulate=choices.fma is not None,
        orders={entry.name: entry.order for entry in entries if entry.order is not None},
        least={entry.name: entry.least for entry in entries},
        level=choices.optimize,
        more=more,
        parallel=choices.parallel,
        # what a machine with doubles lacks are some conversions
        own_doubles=choices.soft_double
        or has_doubles(machine)
        or not any(map(_of_doubles, functions.values())),
    )


def _of_doubles(function: Function) -> bool:
    """Whether a function is of doubles; math functions of floats may use some by themselves."""
    return any(
        value.type.dtype is DType.F64 for _, node in nested(function) for value in node.results
    )


def _refuse_helpers(name: str, compiled: ObjectFile, choices: Choices) -> None:
    if not compiled.helpers or choices.helpers:
        return
    machine = choices.target
    others = [helper for helper in compiled.helpers if not _OF_DOUBLES.fullmatch(helper)]
    own = ""
    if not others and not choices.soft_double:
        own = "soft_double=True (--soft-double) computes with doubles by integers, slowly; "
    raise ExportError(
        f"{machine.cpu} has no instructions for some of {name}: it would call functions of the "
        "compiler's library",
        found=(f"target {machine.triple}", f"functions: {', '.join(compiled.helpers)}"),
        help=f"{own}helpers=True (--helpers) allows it, to be linked with -lgcc or compiler-rt; "
        "or use dtypes that the CPU has (f32, i32); or name a CPU that has them",
    )


def _linked(
    name: str,
    compiled: ObjectFile,
    symbols: Sequence[str],
    choices: Choices,
    flags: Sequence[str],
) -> tuple[str, bytes]:
    """Return the name and the bytes of the file with the code."""
    machine = choices.target
    match choices.link:
        case "static":
            named = [machine.prefix + symbol for symbol in symbols]
            members = [Member(f"{name}.o", compiled.code, named)]
            is_msvc = machine.triple.endswith("msvc")
            file = f"{name}.lib" if is_msvc else f"lib{name}.a"
            return file, archive(members, mach_o=machine.format == "mach-o")
        case "shared":
            code = shared_library(compiled.code, name, machine, symbols, flags)
            return library_name(name, machine), code
        case "ir":
            return f"{name}.ll", compiled.ir.encode()
        case "asm":
            return f"{name}.s", compiled.assembly.encode()
    return f"{name}.o", compiled.code


def _refuse_scipy(function: Function) -> None:
    """Raise ExportError, with the user's line, for what only SciPy computes."""
    for owner, node in nested(function):
        name = scipy_name(word_of(node)[0])
        if name is not None:
            raise ExportError(
                f"{function.name} cannot be exported: {node.op.name} is computed by "
                f"scipy.special.{name}, which an object file cannot call",
                at=next(iter(owner.locations.get(node, ())), None),
                help="compute it outside and make it an argument of the kernel, or call the "
                "function from Python",
            )


def _refuse_python(function: Function) -> None:
    """Raise ExportError, with the user's line, for what kernels call back in this process."""
    for owner, node in nested(function):
        symbol = str(node.attributes.get("symbol", ""))
        if symbol.startswith(CALLED_BACK):
            called = symbol.removeprefix(CALLED_BACK).lstrip("_0123456789")
            raise ExportError(
                f"{function.name} cannot be exported: it calls {called} back, a function of Python",
                at=next(iter(owner.locations.get(node, ())), None),
                help="compute it outside and make it an argument of the kernel, write a solver "
                "that can be traced (docs/implicit.md), or call the function from Python",
            )


def _output_names(function: Function, suffix: str, wrt: Sequence[int] | None) -> tuple[str, ...]:
    """Return ``y``, or for a value and its gradients ``y, g_x, …``."""
    count = len(function.results)
    if suffix == "vg" and wrt is not None and count == 1 + len(wrt):
        return (_value_name(function), *(f"g_{function.names[position]}" for position in wrt))
    if count == 1:
        return (_value_name(function),)
    return tuple(f"y{position}" for position in range(count))


def _value_name(function: Function) -> str:
    taken = {*function.names, *function.size_symbols}
    return next((name for name in ("y", "value", "result") if name not in taken), "y")


# -- files -----------------------------------------------------------------------------------------


def _hash(functions: Iterable[Function], exported: Iterable[Exported]) -> str:
    digest = hashlib.sha256()
    for function, one in zip(functions, exported):
        digest.update(print_function(function, locations=False, names=False).encode())
        digest.update(spec_line(one).encode())  # C may have another order
    return digest.hexdigest()[:16]


def _write(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, content in files.items():
            path = folder / name
            path.write_bytes(content)
            paths.append(path)
    except OSError as error:
        raise ExportError(
            f"cannot write to {folder}", found=str(error), help="name a folder that can be written"
        ) from None
    return paths
