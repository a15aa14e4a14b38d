"""Names that C leaves free for kernels, arguments and macros, and the errors for others."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gradc_codegen.abi import RESERVED, Signature, c_identifier
from gradc_codegen.interface import c_by_name
from gradc_codegen.interface.c_header import Exported, macro_names
from gradc_codegen.interface.c_parallel import parallel_symbols
from gradc_ir.errors import ExportError

# What symbols of functions of Python begin with that kernels of this process call back.
CALLED_BACK = "gradc_called_back"


def check_name(name: str) -> None:
    """Raise when a function cannot have this name in C, or takes that of another one."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
        raise ExportError(
            f"{name!r} cannot be the name of a C function",
            help="use letters, digits and underscores, a letter first: "
            f"export({_suggest(name)!r}, …)",
        )
    if name in RESERVED or name in LIBRARY:
        whose = "a word of C or C++" if name in RESERVED else "a function of the C library"
        raise ExportError(
            f"{name!r} is {whose}", help=f"choose another name: export({name + '_kernel'!r}, …)"
        )


def _suggest(name: str) -> str:
    suggested = c_identifier(name)
    return suggested if suggested[0].isalpha() else f"f{suggested}"


def check_arguments(name: str, signature: Signature) -> None:
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


def check_symbols(exported: Sequence[Exported], structs: bool, parallel: bool) -> None:
    """Raise when two functions, or what comes beside them, have the same name."""
    seen: set[str] = set()
    for one in exported:
        for symbol in symbols_of(one.name, structs, parallel):
            if symbol in seen:
                raise ExportError(
                    f"two functions would be called {symbol} in C",
                    help="give one of those that are exported another name",
                )
            seen.add(symbol)


def symbols_of(name: str, structs: bool, parallel: bool) -> tuple[str, ...]:
    """Return all symbols that an exported function brings along."""
    by_name = c_by_name.symbols(name, structs)
    more = parallel_symbols(name) if parallel else ()
    return (name, f"{name}_worksize", *by_name, f"{name}_info", *more)


def check_macros(name: str, exported: Sequence[Exported], structs: bool, parallel: bool) -> None:
    """Raise when a macro of the header is the name of something in it."""
    used = {argument.identifier for one in exported for argument in one.signature.arguments}
    used |= {symbol for one in exported for symbol in symbols_of(one.name, structs, parallel)}
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
LIBRARY = frozenset(
    [name + suffix for name in _MATHEMATICS.split() for suffix in ("", "f", "l")] + _SYSTEM.split()
)
