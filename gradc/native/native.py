"""A kernel in this process as a function of C: its address, and what ctypes and cffi make of it."""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Sequence
from typing import Any

from gradc.exports.plan import Asked, Plan, Source, plan
from gradc.native.needs import needed
from gradc.runtime.export import Entry
from gradc_codegen.abi import C_TYPES, Argument, Order, Signature
from gradc_codegen.compile_function import Compilation
from gradc_codegen.hosts.own_scratch import own_scratch_name, own_scratch_text
from gradc_codegen.interface.c_guard import guard_text, kernel_name
from gradc_codegen.interface.c_header import Exported, spec_line
from gradc_codegen.machine.jit import LoadedModule, compile_module
from gradc_ir.core.foreign import C_TYPES as CTYPES
from gradc_ir.core.graph import Function


class Native:
    """A function of C in this process, with the calling convention that ``docs/abi.md`` defines.

    The code lives as long as this object, and as what ``ctypes``, ``cffi`` and ``capsule`` return.

    Attributes
    ----------
    name: of the function.
    signature: its arguments.
    function: the graph, whose parameters and results ``order`` puts into the order of C.
    """

    def __init__(self, entry: Entry, *, blas: bool, more: Sequence[str] = ()) -> None:
        self.name = entry.name
        self.function: Function = entry.function
        self.order = entry.order or Order.of(entry.function)
        self.signature = Signature.of(entry.function, entry.outputs, order=entry.order)
        self.code: LoadedModule = compile_module([*texts_of(entry, blas), *more])

    @property
    def address(self) -> int:
        """Where the function is."""
        return self.code.address(self.name)

    @property
    def worksize_address(self) -> int:
        """Where the function is that says how much scratch this one needs."""
        return self.code.address(f"{self.name}_worksize")

    @property
    def declaration(self) -> str:
        """How C declares it."""
        return f"{self.signature.c_declaration(self.name)};"

    @property
    def spec(self) -> str:
        """Its arguments and results in the words of the user, as a spec is written."""
        return spec_line(Exported(self.name, self.signature, ""))

    @functools.cached_property
    def ctypes(self) -> Any:
        """The function as one of ctypes: sizes and numbers as they are, arrays as ``x.ctypes``."""
        made: Any = ctypes.CFUNCTYPE(
            ctypes.c_int32, *[_ctype(argument) for argument in self.signature.arguments]
        )(self.address)
        made.gradc_code = self.code
        made.__name__ = self.name
        return made

    @functools.cached_property
    def with_scratch(self) -> Any:
        """The function of ctypes without its last argument: it takes scratch of the process's.

        Its outputs are arrays that nobody has written to, for which it asks for large pages.
        """
        code = compile_module(
            own_scratch_text(self.name, self.signature),
            addresses={self.name: self.address, f"{self.name}_worksize": self.worksize_address},
        )
        types = [_ctype(argument) for argument in self.signature.arguments[:-1]]
        made: Any = ctypes.CFUNCTYPE(ctypes.c_int32, *types)(
            code.address(own_scratch_name(self.name))
        )
        made.gradc_code = (self.code, code)
        made.__name__ = self.name
        return made

    def worksize(self, *sizes: int) -> int:
        """Return how many bytes of scratch a call with these sizes needs."""
        return int(self._worksize(*sizes))

    @functools.cached_property
    def _worksize(self) -> Any:
        types = [ctypes.c_int64 for _ in self.signature.sizes]
        return ctypes.CFUNCTYPE(ctypes.c_size_t, *types)(self.worksize_address)

    def cffi(self) -> Any:
        """Return the function as a pointer of cffi, which has to be installed."""
        ffi = needed("cffi", "f.cffi()").FFI()
        pointer = ffi.cast(self.c_type.replace("(", "(*)(", 1), self.address)
        _kept_with_cffi[pointer] = self.code
        return pointer

    @property
    def c_type(self) -> str:
        """Its type in C, such as ``int (int64_t, double const *, double *, void *)``."""
        types = ", ".join(_c_type(argument) for argument in self.signature.arguments)
        return f"int ({types})"

    @functools.cached_property
    def capsule(self) -> Any:
        """The function in a PyCapsule, which is called as its type in C, as Cython does it."""
        return capsule_of(self.address, self.c_type, self.code)

    def __repr__(self) -> str:
        return f"<gradc native {self.declaration} at {self.address:#x}>"


def texts_of(entry: Entry, blas: bool) -> list[str]:
    """Return the LLVM text of a kernel for this machine, and of the C function in front of it."""
    made = Compilation(entry.function, kernel_name(entry.name), blas)
    return [made.llvm, guard_text(entry.function, entry.name, order=entry.order, least=entry.least)]


def native_of(source: Source, asked: Asked) -> tuple[Native, Plan]:
    """Return the one function that is asked for, in this process, and what was found for it."""
    found = plan(source, asked)
    *_, entry = found.entries  # of a sparse derivative its elements
    return Native(entry, blas=source.options.blas), found


def _ctype(argument: Argument) -> Any:
    if argument.type is None or not argument.by_value:
        return ctypes.c_void_p
    return CTYPES[argument.type.dtype]


def _c_type(argument: Argument) -> str:
    if argument.type is None:
        return "void *"
    element = C_TYPES[argument.type.dtype]
    if argument.by_value:
        return element
    return f"{element} const *" if "const" in argument.c else f"{element} *"


# -- capsules --------------------------------------------------------------------------------------

# what a capsule refers to, by the capsule's own address, while it lives
_kept_with_capsules: dict[int, tuple[Any, ...]] = {}


def capsule_of(address: int, name: str, owner: Any) -> Any:
    """Return a PyCapsule of a pointer, which keeps its owner."""
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    text = ctypes.create_string_buffer(name.encode())
    made = make(address, ctypes.cast(text, ctypes.c_char_p), _destructor_address())
    _kept_with_capsules[id(made)] = (text, owner)
    return made


@functools.cache
def _destructor_address() -> int:
    release = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(
        lambda address: _kept_with_capsules.pop(address, None) and None
    )
    _kept_with_capsules[0] = (release,)
    return ctypes.cast(release, ctypes.c_void_p).value or 0


# the code that a pointer of cffi refers to
_kept_with_cffi: weakref.WeakKeyDictionary[Any, LoadedModule] = weakref.WeakKeyDictionary()
