"""Machine code in this process: a module's text becomes functions with addresses.

Code that is kept on disk is loaded without LLVM, which takes longer to load than all the rest.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from gradc_codegen.cache import objects
from gradc_codegen.hosts import scratch
from gradc_codegen.libraries import blas_threads, routines, scipy_pointers
from gradc_codegen.machine import elf_loader
from gradc_codegen.machine.symbol_names import names_of
from gradc_codegen.target.llvm_lock import LOCK
from gradc_codegen.target.target import machine_of, target
from gradc_codegen.text.module import NARROW, Machine, suffix
from gradc_codegen.threads import pool
from gradc_ir.core import foreign
from gradc_ir.core.types import DType
from gradc_ir.errors import VerifyError

# How hard LLVM tries: a level, as for long code without loops, for short code, or for a function of
# math; None chooses by how long it is.
Level: TypeAlias = Literal[0, 1, 2, "long", "size", "math"] | None


class LoadedModule:
    """The machine code of a module in memory. The code lives as long as this object.

    Attributes
    ----------
    code: the object file that was loaded, which :func:`load_object` loads again.
    names: the functions it defines for others.
    """

    def __init__(
        self, code: bytes, names: tuple[str, ...], addresses: Mapping[str, int], owner: Any
    ) -> None:
        self.code = code
        self.names = names
        self._addresses = addresses
        self._owner = owner

    def address(self, name: str) -> int:
        """Return the address of a function; KeyError when the module defines none of this name."""
        return self._addresses[name]


def compile_module(
    text: str | Sequence[str],
    cpu: str = "native",
    level: Level = None,
    addresses: Mapping[str, int] | None = None,
) -> LoadedModule:
    """Return the machine code of a module, loaded into this process.

    Parameters
    ----------
    text: LLVM text of a whole module, or several that become one; its external functions are found
        in this process (libm), or
        in SciPy (BLAS, LAPACK, special functions).
    cpu: ``native``, or LLVM's name of a CPU whose features this machine has.
    level: 0, 1 or 2, or ``"long"``, which is for code without loops; None chooses by size.
    addresses: where further external functions are.

    Raises
    ------
    GradcError: the code needs SciPy, which is missing.
    VerifyError: LLVM refuses the text.
    """
    from gradc_codegen.machine.emitted import emitted  # loads LLVM

    return load_object(*emitted(text, cpu, level), addresses)


def kept_module(
    text: str | Callable[[], str],
    level: Level = None,
    addresses: Mapping[str, int] | None = None,
    name: str = "",
) -> LoadedModule:
    """Return what :func:`compile_module` does, of code that every process needs alike.

    The text is that of every process: it has no address of this one's in it. Where a ``name`` says
    all of it, it is asked for only when its code is not kept yet.
    """
    if not name:
        key = objects.key_of(b"text", str(text).encode(), str(level).encode())
    else:
        key = objects.key_of(b"name", name.encode(), str(level).encode())
    found = None if key is None else objects.find(key)
    if found is None:
        from gradc_codegen.machine.emitted import emitted  # loads LLVM

        found = emitted(text if isinstance(text, str) else text(), "native", level)
        if key is not None:
            objects.keep(key, found)
    return load_object(*found, addresses)


def load_object(
    code: bytes, names: tuple[str, ...], addresses: Mapping[str, int] | None = None
) -> LoadedModule:
    """Return an object file's functions, loaded into this process.

    SciPy is loaded if it calls a function of SciPy's. Raises VerifyError when it calls another that
    the process does not have.
    """
    with LOCK:
        given = {**_symbols(code, names), **(addresses or {})}
        try:
            loaded = elf_loader.load(code, lambda name: given.get(name) or _of_process(name))
        except LookupError as error:
            raise _missing([str(name) for name in error.args]) from None
        except elf_loader.Unfit:
            pass
        else:
            return LoadedModule(code, names, loaded.addresses, loaded.memory)
        from gradc_codegen.machine import llvm_loader  # loads LLVM

        try:
            library = llvm_loader.load(code, names, given)
        except RuntimeError as error:  # LLVM has written the names on stderr
            raise _missing(str(error)) from None
        return LoadedModule(code, names, library.addresses, library)


def _missing(found: str | Sequence[str]) -> VerifyError:
    return VerifyError("the code calls a function this process does not have", found=found)


def _of_process(name: str) -> int | None:
    """Return where a function is that libraries of this process have for all, None if nowhere."""
    try:
        function = _process()[name]
    except AttributeError:
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


@functools.cache
def _process() -> ctypes.CDLL:
    return ctypes.CDLL(None)


def _symbols(code: bytes, own: Collection[str]) -> dict[str, int]:
    """Return what an object file names and no library of the process has, with its addresses.

    ``own``: what it defines itself.
    """
    told = names_of(code)
    found = foreign.symbols(told)
    for pattern, address in _PROVIDERS.items():
        names = {match.decode() for match in pattern.findall(told)}.difference(own)
        found |= {name: address(name) for name in sorted(names)}
    return found


@functools.cache
def _formula(symbol: str) -> LoadedModule:
    from gradc_codegen.math import formulas  # few kernels call one

    # more effort makes it no faster; another name, or it would name itself
    return kept_module(formulas.definition(symbol, "define", "formula"), level=1)


@functools.cache
def _shared(function: str, outside: str) -> LoadedModule:
    """Return what an emitted function, such as ``sin.v8f64``, does rarely.

    ``outside``: what the names begin with, which says what registers are used.
    """

    def text() -> str:
        from gradc_codegen.math.shared import OUTSIDE, shared_of  # what is kept does without

        return _text_for_this_machine(shared_of, function, is_narrow=outside == OUTSIDE[True])

    # it is emitted as it is written, whatever LLVM does before
    return _kept_outside(text, "long", f"{outside} {function}")


def _shared_address(symbol: str) -> int:
    outside, word, of, *_ = symbol.split(".")
    return _shared(f"{word}.{of}", outside).address(symbol)


@functools.cache
def _whole(function: str, outside: str) -> LoadedModule:
    """Return an emitted function that kernels call, and never inline; ``outside`` as before."""

    def text() -> str:
        from gradc_codegen.math.whole import OUTSIDE, whole_of  # what is kept does without

        return _text_for_this_machine(whole_of, function, is_narrow=outside == OUTSIDE[True])

    return _kept_outside(text, "math", f"{outside} {function}")


def _whole_address(symbol: str) -> int:
    outside, function = symbol.split(".", 1)
    return _whole(function, outside).address(symbol)


def function_of_numbers(word: str, dtype: DType) -> int:
    """Return where the emitted function of a word is, such as ``exp``, which stays loaded.

    In C it takes numbers of the dtype and returns one.
    """
    return _whole_address(f"gradc_whole.{word}.{suffix(dtype)}")


def _text_for_this_machine(
    make: Callable[[str, Machine], Any], function: str, *, is_narrow: bool
) -> str:
    """Return the text of a function outside, for code of all registers or of 32 bytes of each."""
    machine = machine_of(target("native"))
    found = make(function, machine.keeping_to(NARROW) if is_narrow else machine)
    assert found is not None
    text: str = found.text
    return text


def _kept_outside(text: Callable[[], str], effort: Level, name: str) -> LoadedModule:
    """Return the module of a function that kernels call, which stays loaded."""
    loaded = kept_module(text, effort, name=name)
    _kept.append(loaded)
    return loaded


@functools.cache
def _routine(symbol: str) -> int:
    """Return the address of a routine of BLAS or LAPACK that keeps to its number of threads."""
    own = routines.address(symbol)  # or an error that says what is missing
    held = _held_threads()
    if held is None:
        return own
    addresses = {name: held.address(name) for name in (blas_threads.HOLD, blas_threads.RELEASE)}
    loaded = kept_module(
        blas_threads.around(symbol, "routine"), 0, {**addresses, blas_threads.OWN: own}
    )
    _kept.append(loaded)
    return loaded.address("routine")


@functools.cache
def _held_threads() -> LoadedModule | None:
    """Return what begins and ends calls of BLAS, None where they are left alone."""
    found = blas_threads.control()
    if found is None:
        return None
    addresses = {blas_threads.GETTER: found.getter, blas_threads.SETTER: found.setter}
    loaded = kept_module(blas_threads.holding(found.threads), 0, addresses)
    if hasattr(os, "register_at_fork"):
        # calls of other threads do not go on in a child
        reset = ctypes.CFUNCTYPE(None)(loaded.address(blas_threads.RESET))
        os.register_at_fork(after_in_child=reset)
    return loaded


@functools.cache
def pool_of_threads() -> LoadedModule:
    """Return the threads that run tasks of kernels, for as long as Python runs."""
    loaded = kept_module(pool.pool_text())
    begin, end = (ctypes.CFUNCTYPE(None)(loaded.address(name)) for name in (pool.BEGIN, pool.END))
    begin()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=begin)
    # a thread must not wake up in code that is gone
    atexit.register(end)
    _kept.append(loaded)
    return loaded


@functools.cache
def _scratch_of_hosts() -> LoadedModule:
    """Return what takes and leaves scratch for hosts that give none."""
    loaded = kept_module(scratch.memory_text())
    _kept.append(loaded)
    return loaded


# routines and functions that any number of kernels call
_kept: list[LoadedModule] = []

# the functions of gradc_codegen.math.formulas
_FORMULA = re.compile(rb"gradc_formula_f(?:64|32)\b")
# and those of gradc_codegen.math.shared
_SHARED = re.compile(rb"gradc_shared(?:_narrow)?\.[\w.]+")

# and those of gradc_codegen.math.whole
_WHOLE = re.compile(rb"gradc_whole(?:_narrow)?\.[\w.]+")

_RUN = re.compile(re.escape(pool.RUN).encode())

# symbols of object files, and what returns the address of one
_PROVIDERS: dict[re.Pattern[bytes], Callable[[str], int]] = {
    routines.SYMBOL: _routine,
    scipy_pointers.SYMBOL: scipy_pointers.address,
    _RUN: lambda symbol: pool_of_threads().address(pool.OWN),
    scratch.SYMBOL: lambda symbol: _scratch_of_hosts().address(symbol),
    _FORMULA: lambda symbol: _formula(symbol).address("formula"),
    _SHARED: _shared_address,
    _WHOLE: _whole_address,
}
