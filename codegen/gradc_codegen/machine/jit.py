"""Machine code in this process: a module's text becomes functions with addresses."""

from __future__ import annotations

import functools
import itertools
import re
import sys
from collections.abc import Callable

import llvmlite.binding as llvm

from gradc_codegen.arrays import fortran
from gradc_codegen.machine.optimize import effort, optimize, parse
from gradc_codegen.math import formulas, scipy_pointers
from gradc_codegen.math.emulation import provided
from gradc_codegen.target.target import LOCK, Target, target
from gradc_ir.core import foreign
from gradc_ir.errors import VerifyError


class LoadedModule:
    """The machine code of a module in memory. The code lives as long as this object.

    Attributes
    ----------
    code: the object file that was loaded, which :func:`load_object` loads again.
    names: the functions it defines for others.
    """

    def __init__(self, code: bytes, names: tuple[str, ...], library: llvm.ResourceTracker) -> None:
        self.code = code
        self.names = names
        self._library = library
        self._engine = _engine()  # must not go before the library does

    def address(self, name: str) -> int:
        """Return the address of a function; KeyError when the module defines none of this name."""
        return int(self._library[name])


def compile_module(text: str, cpu: str = "native", level: int | None = None) -> LoadedModule:
    """Return the machine code of a module, loaded into this process.

    Parameters
    ----------
    text: LLVM text of a whole module; its external functions are found in this process (libm), or
        in SciPy (BLAS, LAPACK, special functions).
    cpu: ``native``, or LLVM's name of a CPU whose features this machine has.
    level: 0, 1 or 2; None chooses by size.

    Raises
    ------
    GradcError: the code needs SciPy, which is missing.
    VerifyError: LLVM refuses the text.
    """
    with LOCK:
        machine_of = target(cpu)
        text = provided(text, machine_of)
        how = effort([text], level)
        module = parse([text], machine_of, how)
        names = tuple(
            function.name
            for function in module.functions
            if not function.is_declaration and function.linkage is not llvm.Linkage.internal
        )
        return load_object(optimize(module, machine_of, how).object(), names)


def load_object(code: bytes, names: tuple[str, ...]) -> LoadedModule:
    """Return an object file's functions, loaded into this process.

    SciPy is loaded if it calls a function of SciPy's. Raises VerifyError when it calls another that
    the process does not have.
    """
    with LOCK:
        builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in names:
            builder.export_symbol(name)
        for symbol, address in _symbols(code).items():
            builder.import_symbol(symbol, address)
        try:
            library = builder.link(_engine(), f"gradc.{next(_serial)}")
        except RuntimeError as error:  # LLVM has written the names on stderr
            raise VerifyError(
                "the code calls a function this process does not have", found=str(error)
            ) from None
        return LoadedModule(code, names, library)


def _symbols(code: bytes) -> dict[str, int]:
    """Return what an object file names and no library of the process has, with its addresses."""
    found = foreign.symbols(code)
    for pattern, address in _PROVIDERS.items():
        names = {match.decode() for match in pattern.findall(code)}
        found |= {name: address(name) for name in sorted(names)}
    return found


@functools.cache
def _formulas(symbol: str) -> LoadedModule:
    # more effort makes it no faster; another name, or it would name itself
    return compile_module(formulas.definition(symbol, "define", "formula"), level=1)


# symbols of object files, and what returns the address of one
_PROVIDERS: dict[re.Pattern[bytes], Callable[[str], int]] = {
    fortran.SYMBOL: fortran.address,
    scipy_pointers.SYMBOL: scipy_pointers.address,
    formulas.SYMBOL: lambda symbol: _formulas(symbol).address("formula"),
}

_serial = itertools.count()


@functools.cache
def _engine() -> llvm.LLJIT:
    """Return the process's one engine; each module is a library of its own and goes by itself."""
    host: Target = target("native")
    # LLVM's newer linker keeps a library's sections together, which small code needs
    return llvm.create_lljit_compiler(host.machine(), use_jit_link=sys.platform != "win32")
