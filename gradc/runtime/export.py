"""Writing kernels for C: an object file and its header."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gradc_codegen.abi import RESERVED, Order, Signature, c_identifier
from gradc_codegen.arrays.external import prototypes
from gradc_codegen.compile_function import compile_object
from gradc_codegen.interface.c_header import Exported, header, macro_names, spec_line
from gradc_codegen.math.scipy_words import scipy_name, word_of
from gradc_codegen.target.target import target
from gradc_ir import __version__
from gradc_ir.core.graph import Function
from gradc_ir.core.walk import nested
from gradc_ir.errors import ExportError
from gradc_ir.text.printer import print_function

_SUMMARIES = {
    "": "value",
    "vg": "value and gradient",
    "grad": "gradient",
    "jvp": "value and its tangent",
    "vjp": "value and the cotangents of the arguments",
    "hvp": "the Hessian times a vector",
}
# what an export may say about fused multiply-add -> what its header says
_FMA = {
    None: "strict IEEE",
    "emulate": "strict IEEE",
    "split": "strict IEEE, products rounded before they are added",
}


def export(
    functions: Mapping[str, Function],
    name: str,
    out: str | Path = ".",
    *,
    cpu: str | None = None,
    triple: str | None = None,
    wrt: Sequence[int] | None = None,
    outputs: Mapping[str, Sequence[str]] | None = None,
    orders: Mapping[str, Order] | None = None,
    documentation: Sequence[str] = (),
    blas: bool = False,
    fma: str | None = None,
    helpers: bool = False,
) -> list[Path]:
    """Write ``name.o`` and ``name.h`` and return their paths.

    Parameters
    ----------
    functions: final functions by suffix: ``""`` becomes the C function ``name``, ``"vg"`` (value
        and gradient) ``name_vg``.
    name: a C identifier that the functions and files are called by.
    out: the folder, made if need be.
    cpu: LLVM's name of a CPU, ``native``, or None for the architecture's baseline, ``x86-64-v3``.
    triple: LLVM's name of the target; None for this machine's.
    wrt: positions of the parameters that the results of ``"vg"`` after the value are gradients of.
    outputs: names of the results by suffix, instead of ``y`` and ``g_x``.
    orders: in which C passes parameters and results, by suffix; else in their own.
    documentation: text for the comment on top of the header.
    blas: whether contractions that are bound by arithmetic call ``dgemm_`` and ``sgemm_``, which
        the program is then linked with.
    fma: what to do for a CPU without fused multiply-add: ``"emulate"`` computes it by functions of
        the object's own, to the same bits and several times slower; with ``"split"`` the products
        of sums are rounded before they are added, on every CPU, for other bits, and math functions
        are as with ``"emulate"``. None asks for a CPU that has it.
    helpers: whether the object may call functions of the compiler's library (libgcc, compiler-rt)
        where the CPU has no instruction, such as for doubles on one that has floats alone.

    Where only the running program knows how many steps a loop takes, and its values are kept for
    the gradient, the last size argument of the kernel says how many there is room for (``tape``).

    Raises
    ------
    ExportError: the name is not free in C, two arguments have the same name there, the target is
        unknown, or lacks fma or other instructions and ``fma`` or ``helpers`` says nothing, or an
        op is a function of SciPy's.
    """
    if fma not in _FMA:
        raise ExportError(
            f"fma is {fma!r}", help='write fma="emulate", fma="split", or leave it out for hardware'
        )
    machine = target(cpu, triple)
    exported: list[Exported] = []
    for suffix, function in functions.items():
        full = f"{name}_{suffix}" if suffix else name
        _check_name(full)
        names = (outputs or {}).get(suffix) or _output_names(function, suffix, wrt)
        signature = Signature.of(function, names, order=(orders or {}).get(suffix))
        _check_arguments(full, signature)
        exported.append(Exported(full, signature, _SUMMARIES.get(suffix, suffix)))
        _refuse_scipy(function)
    _check_macros(name, exported)
    compiled = compile_object(
        {one.name: function for one, function in zip(exported, functions.values())},
        blas=blas,
        cpu=cpu,
        triple=triple,
        splits=fma == "split",
        emulate=fma is not None,
        orders={f"{name}_{suffix}" if suffix else name: o for suffix, o in (orders or {}).items()},
    )
    if compiled.helpers and not helpers:
        raise ExportError(
            f"{machine.cpu} has no instructions for some of {name}: it would call functions of the "
            "compiler's library",
            found=(f"target {machine.triple}", f"functions: {', '.join(compiled.helpers)}"),
            help="helpers=True (--helpers) allows it, to be linked with -lgcc or compiler-rt, "
            "slowly; or use dtypes that the CPU has (f32, i32); or name a CPU that has them",
        )
    text = header(
        name,
        exported,
        target=machine,
        version=__version__,
        ir_hash=_hash(functions.values(), exported),
        documentation=[line for text in documentation for line in text.splitlines()],
        routines=compiled.routines,
        helpers=compiled.helpers,
        arithmetic=_FMA[fma],
        externals=prototypes(functions.values()),
        mathematics=sorted(_LIBRARY.intersection(compiled.called)),
    )
    return _write(Path(out), {f"{name}.o": compiled.code, f"{name}.h": text.encode()})


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


# -- names that C does not leave free --------------------------------------------------------------


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ExportError(
            f"{name!r} cannot be the name of a C function",
            help="use letters, digits and underscores, a letter first: "
            f"export({_suggest(name)!r}, …)",
        )
    if name in RESERVED or name in _LIBRARY:
        whose = "a word of C or C++" if name in RESERVED else "a function of the C library"
        raise ExportError(
            f"{name!r} is {whose}", help=f"choose another name: export({name + '_kernel'!r}, …)"
        )


def _suggest(name: str) -> str:
    suggested = c_identifier(name)
    return suggested if suggested[0].isalpha() else f"f{suggested}"


def _check_arguments(name: str, signature: Signature) -> None:
    """Raise when two names of the user become one identifier; our own names have made way."""
    seen: dict[str, str] = {}
    for argument in (*signature.sizes, *signature.inputs):
        if argument == signature.tape:
            continue
        identifier = c_identifier(argument.name)
        kind = "the size" if argument in signature.sizes else "the argument"
        if identifier in seen:
            raise ExportError(
                f"{name}: {seen[identifier]} and {kind} {argument.name} "
                f"would both be called {identifier} in C",
                help="rename one of them; a size is named in the spec, as in x: f64[count]",
            )
        seen[identifier] = f"{kind} {argument.name}"


def _check_macros(name: str, exported: Sequence[Exported]) -> None:
    used = {argument.identifier for one in exported for argument in one.signature.arguments}
    used |= {symbol for one in exported for symbol in (one.name, f"{one.name}_worksize")}
    for macro in macro_names(name, exported):
        if macro in used:
            raise ExportError(
                f"{macro} is both a macro of {name}.h and a name in it",
                help="choose a name in lower case, or rename the argument",
            )


_MATHEMATICS = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 exp10 expm1
fabs fdim floor fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn ldexp lgamma llrint llround
log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow remainder
remquo rint round scalbln scalbn significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn
"""
_SYSTEM = """
abort abs atexit atof atoi atol bsearch calloc clock close div exit fclose fflush fgetc fgets
fopen fork fprintf fputc fputs fread free fscanf fseek ftell fwrite getc getchar getenv gets index
isalnum isalpha isdigit isspace labs ldiv link longjmp main malloc memchr memcmp memcpy memmove
memset mktime open perror pipe printf putc putchar puts qsort raise rand read realloc remove
rename rewind rindex scanf select setjmp signal sleep sprintf srand sscanf stat strcat strchr
strcmp strcpy strlen strncmp strncpy strstr strtod strtol system time tolower toupper ungetc
vprintf wait write
"""
# A program that links an object with one of these would call it in place of the library's.
_LIBRARY = frozenset(
    [name + suffix for name in _MATHEMATICS.split() for suffix in ("", "f", "l")] + _SYSTEM.split()
)


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
