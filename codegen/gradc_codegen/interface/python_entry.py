"""The call from Python as machine code: NumPy arrays checked, kernel called, status returned.

The text made here is a function of CPython's fast calling convention that reads the fields of NumPy
arrays where NumPy's headers say they are. :func:`layout_is_known` tries that on real arrays first;
where it does not hold (another interpreter, a free-threaded build) callers use ctypes instead.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import platform
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc_codegen.abi import Signature
from gradc_codegen.machine.jit import LoadedModule, compile_module
from gradc_codegen.target.target import LOCK
from gradc_codegen.text.module import MEMORY
from gradc_ir.core.types import Array, DType, Type

# Offsets in bytes: PyObject.ob_type; PyArrayObject_fields data, nd, dimensions, descr, flags.
# A NumPy scalar and a Python float keep their number where an array keeps its data pointer.
_TYPE, _DATA, _RANK, _SHAPE, _DESCR, _FLAGS = 8, 16, 24, 32, 56, 64
_NUMBER = 16
_CONTIGUOUS_AND_ALIGNED = 0x0001 | 0x0100

# What an entry returns instead of a status when an argument is not exactly as the kernel takes it.
NOT_READY = -1

# Positions in the table of addresses that is the entry's self.
(
    _ARRAY_TYPE,
    _FLOAT_TYPE,
    _FROM_LONG,
    _SAVE_THREAD,
    _RESTORE_THREAD,
    _NEW_LIST,
    _SET_ITEM,
    _RELEASE,
    _NEW_ARRAY,
) = range(9)
_DTYPES = tuple(DType)
_FIRST_DESCR = 9
_FIRST_SCALAR = _FIRST_DESCR + len(_DTYPES)

# Positions in NumPy's table of C functions.
_API_ARRAY_TYPE, _API_NEW = 2, 93


_NAME = "gradc.call"

# Kernels keep theirs; those that are kept for kernels to come are of so many signatures.
_MOST_ENTRIES = 256


def entry_text(signature: Signature) -> str:
    """Return LLVM text of a module that calls kernels of a signature from Python.

    Its one function takes, as CPython objects: an int64 array, the plan: the kernel's address, the
    sizes, whether to release the interpreter lock, the shapes the inputs must have, the shapes of
    the outputs; the scratch, an array; the inputs, arrays or numbers. It returns the outputs as a
    list of new arrays when the kernel returns OK, else its status as an int, or :data:`NOT_READY`
    when an input is not an array of the right dtype and shape, contiguous and aligned, or there are
    not as many as that.
    """
    writer = _Writer()
    emit, value, load = writer.emit, writer.value, writer.load
    writer.require(value(f"icmp eq i64 %count, {2 + len(signature.inputs)}"))
    plan = load("ptr", load("ptr", "%args", 0), _DATA)
    scratch = load("ptr", load("ptr", "%args", 8), _DATA)
    sizes = len(signature.sizes)
    kernel = load("ptr", plan, 0)
    arguments = [f"i64 {load('i64', plan, 8 * (1 + position))}" for position in range(sizes)]
    release = load("i64", plan, 8 * (1 + sizes))
    here = 2 + sizes  # in the plan
    for position, argument in enumerate(signature.inputs):
        assert argument.type is not None
        given, dtype = load("ptr", "%args", 8 * (2 + position)), argument.type.dtype
        if argument.by_value:
            number = load(MEMORY[dtype], writer.scalar(given, dtype), 0)
            arguments.append(f"{argument.llvm} {number}")
            continue
        writer.array(given, dtype, argument.type.rank)
        shape = load("ptr", given, _SHAPE)
        for axis in range(argument.type.rank):
            found, wanted = load("i64", shape, 8 * axis), load("i64", plan, 8 * here)
            writer.require(value(f"icmp eq i64 {found}, {wanted}"))
            here += 1
        arguments.append(f"ptr {load('ptr', given, _DATA)}")
    new_list = writer.known(_NEW_LIST)
    results = writer.made(value(f"call ptr {new_list}(i64 {len(signature.outputs)})"), "")
    for position, argument in enumerate(signature.outputs):
        assert argument.type is not None
        output = writer.new_array(argument.type, plan, here, results)
        set_item = writer.known(_SET_ITEM)  # takes the reference
        value(f"call i32 {set_item}(ptr {results}, i64 {position}, ptr {output})")
        here += argument.type.rank
        arguments.append(f"ptr {load('ptr', output, _DATA)}")
    arguments.append(f"ptr {scratch}")
    call = f"call i32 {kernel}({', '.join(arguments)})"
    emit(f"  br i1 {value(f'icmp ne i64 {release}, 0')}, label %unlocked, label %locked")
    emit("locked:")
    held = value(call)
    emit("  br label %returned")
    emit("unlocked:")
    save, restore = map(writer.known, (_SAVE_THREAD, _RESTORE_THREAD))
    thread = value(f"call ptr {save}()")
    freed = value(call)
    emit(f"  call void {restore}(ptr {thread})")
    emit("  br label %returned")
    emit("returned:")
    status = value(f"phi i32 [{held}, %locked], [{freed}, %unlocked]")
    emit(f"  br i1 {value(f'icmp eq i32 {status}, 0')}, label %fine, label %failed")
    emit("fine:")
    emit(f"  ret ptr {results}")
    emit("failed:")
    emit(f"  call void {writer.known(_RELEASE)}(ptr {results})")
    emit("  br label %other")
    emit("not_ready:")
    emit("  br label %other")
    emit("other:")
    code = value(f"phi i32 [{status}, %failed], [{NOT_READY}, %not_ready]")
    from_long = writer.known(_FROM_LONG)
    wide = value(f"sext i32 {code} to i64")
    emit(f"  ret ptr {value(f'call ptr {from_long}(i64 {wide})')}")
    emit("}")
    return "\n".join(writer.lines) + "\n"


class _Writer:
    """Writes the function, line by line, with numbered values and blocks."""

    def __init__(self) -> None:
        self.lines = [f'define ptr @"{_NAME}"(ptr %self, ptr %args, i64 %count) {{', "entry:"]
        self._serial = 0
        self._table = self.load("ptr", "%self", _DATA)

    def known(self, position: int) -> str:
        """Return an address of the table that is the entry's self."""
        return self.load("ptr", self._table, 8 * position)

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def value(self, expression: str) -> str:
        self._serial += 1
        self.emit(f"  %v{self._serial} = {expression}")
        return f"%v{self._serial}"

    def load(self, type_: str, pointer: str, offset: int) -> str:
        if offset:
            pointer = self.value(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.value(f"load {type_}, ptr {pointer}")

    def require(self, condition: str) -> None:
        self._serial += 1
        self.emit(f"  br i1 {condition}, label %b{self._serial}, label %not_ready")
        self.emit(f"b{self._serial}:")

    def made(self, value: str, undo: str) -> str:
        """Return a new object, or from the function with NULL when there is no memory for it.

        ``undo`` is what has been made before and goes then.
        """
        self._serial += 1
        serial = self._serial
        fails = self.value(f"icmp eq ptr {value}, null")
        self.emit(f"  br i1 {fails}, label %lost{serial}, label %kept{serial}")
        self.emit(f"lost{serial}:")
        if undo:
            self.emit(f"  call void {self.known(_RELEASE)}(ptr {undo})")
        self.emit("  ret ptr null")
        self.emit(f"kept{serial}:")
        return value

    def new_array(self, type_: Type, plan: str, here: int, results: str) -> str:
        """Return a new array whose shape stands in the plan."""
        shape = self.value(f"getelementptr i64, ptr {plan}, i64 {here}")
        new, subtype = self.known(_NEW_ARRAY), self.known(_ARRAY_TYPE)
        array = self.value(
            f"call ptr {new}(ptr {subtype}, i32 {type_.rank}, ptr {shape}, "
            f"i32 {type_.dtype.numpy.num}, ptr null, ptr null, i32 0, i32 0, ptr null)"
        )
        return self.made(array, results)

    def equal(self, pointer: str, position: int) -> str:
        return self.value(f"icmp eq ptr {pointer}, {self.known(position)}")

    def array(self, value: str, dtype: DType, rank: int) -> None:
        self.require(self.equal(self.load("ptr", value, _TYPE), _ARRAY_TYPE))
        descr = self.load("ptr", value, _DESCR)
        self.require(self.equal(descr, _FIRST_DESCR + _DTYPES.index(dtype)))
        flags = self.load("i32", value, _FLAGS)
        kept = self.value(f"and i32 {flags}, {_CONTIGUOUS_AND_ALIGNED}")
        self.require(self.value(f"icmp eq i32 {kept}, {_CONTIGUOUS_AND_ALIGNED}"))
        found = self.load("i32", value, _RANK)
        self.require(self.value(f"icmp eq i32 {found}, {rank}"))

    def scalar(self, value: str, dtype: DType) -> str:
        """Return where the number is: in a 0-d array, a NumPy scalar, or a Python float."""
        self._serial += 1
        serial = self._serial
        type_ = self.load("ptr", value, _TYPE)
        is_number = self.equal(type_, _FIRST_SCALAR + _DTYPES.index(dtype))
        if dtype is DType.F64:
            is_float = self.equal(type_, _FLOAT_TYPE)
            is_number = self.value(f"or i1 {is_number}, {is_float}")
        number = self.value(f"getelementptr i8, ptr {value}, i64 {_NUMBER}")
        self.emit(f"  br i1 {is_number}, label %number{serial}, label %array{serial}")
        self.emit(f"array{serial}:")
        self.array(value, dtype, 0)
        data = self.load("ptr", value, _DATA)
        self.emit(f"  br label %from_array{serial}")
        self.emit(f"from_array{serial}:")
        self.emit(f"  br label %have{serial}")
        self.emit(f"number{serial}:")
        self.emit(f"  br label %have{serial}")
        self.emit(f"have{serial}:")
        return self.value(f"phi ptr [{number}, %number{serial}], [{data}, %from_array{serial}]")


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


_METH_FASTCALL = 0x0080


class Entry:
    """A machine-code entry as a Python callable, with what must live as long as it."""

    def __init__(self, code: LoadedModule) -> None:
        self._code = code
        self._table = _address_table()
        self._definition = _MethodDef(b"kernel", code.address(_NAME), _METH_FASTCALL, None)
        # the callable reads its definition when it goes, which may be after this object: at the
        # end of the process the order is anybody's guess
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._definition))
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype = ctypes.py_object
        make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        self.call: Callable[..., int | list[Array]] = make(
            ctypes.addressof(self._definition), self._table, None
        )


def entry_for(signature: Signature) -> Entry:
    """Return the entry of all kernels with these types, made once."""
    text = entry_text(signature)
    with LOCK:
        return _entry(text)


@functools.lru_cache(maxsize=_MOST_ENTRIES)
def _entry(text: str) -> Entry:
    # no loops in it: what the optimiser could gain is less than what it costs
    return Entry(compile_module(text, level=0))


@functools.cache
def _address_table() -> Array:
    """Return the addresses an entry compares types with and calls, as the constants above say."""
    api = ctypes.pythonapi
    functions = [
        api.PyLong_FromLong,
        api.PyEval_SaveThread,
        api.PyEval_RestoreThread,
        api.PyList_New,
        api.PyList_SetItem,
        api.Py_DecRef,
    ]
    addresses = [
        id(np.ndarray),
        id(float),
        *(ctypes.cast(function, ctypes.c_void_p).value or 0 for function in functions),
        _numpy_function(_API_NEW),
        *(id(dtype.numpy) for dtype in _DTYPES),
        *(id(dtype.numpy.type) for dtype in _DTYPES),
    ]
    return np.array(addresses, np.int64)


def _numpy_function(position: int) -> int:
    """Return an address in the table that NumPy gives to C extensions."""
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype = ctypes.c_void_p
    pointer_of.argtypes = (ctypes.py_object, ctypes.c_char_p)
    numpy_in_c = importlib.import_module("numpy._core._multiarray_umath")
    table = pointer_of(numpy_in_c._ARRAY_API, None)
    return ctypes.c_int64.from_address(table + 8 * position).value


@functools.cache
def layout_is_known() -> bool:
    """Whether objects lie in memory as this file says, tried on real ones."""
    if (
        platform.python_implementation() != "CPython"
        or sysconfig.get_config_var("Py_GIL_DISABLED")
        or ctypes.sizeof(ctypes.c_void_p) != 8
        or sys.byteorder != "little"
    ):
        return False
    array = np.arange(6, dtype=np.float64).reshape(2, 3)
    expected: tuple[tuple[int, Any, int], ...] = (
        (_TYPE, ctypes.c_int64, id(np.ndarray)),
        (_DATA, ctypes.c_int64, array.__array_interface__["data"][0]),
        (_RANK, ctypes.c_int32, 2),
        (_DESCR, ctypes.c_int64, id(array.dtype)),
    )
    if any(_peek(array, offset, kind) != value for offset, kind, value in expected):
        return False
    shape = _peek(array, _SHAPE, ctypes.c_int64)
    flags = [_peek(x, _FLAGS, ctypes.c_int32) & _CONTIGUOUS_AND_ALIGNED for x in (array, array.T)]
    return (
        [ctypes.c_int64.from_address(shape + 8 * axis).value for axis in range(2)] == [2, 3]
        and flags == [_CONTIGUOUS_AND_ALIGNED, _CONTIGUOUS_AND_ALIGNED & ~1]
        and _numpy_function(_API_ARRAY_TYPE) == id(np.ndarray)
        and all(np.zeros((), dtype.numpy).dtype is dtype.numpy for dtype in _DTYPES)
        and _peek(1.5, _NUMBER, ctypes.c_double) == 1.5
        and _peek(np.float64(1.5), _NUMBER, ctypes.c_double) == 1.5
        and _peek(np.float32(1.5), _NUMBER, ctypes.c_float) == 1.5
        and _peek(np.int64(-5), _NUMBER, ctypes.c_int64) == -5
        and _peek(np.int32(-5), _NUMBER, ctypes.c_int32) == -5
        and _peek(np.True_, _NUMBER, ctypes.c_uint8) == 1
    )


def _peek(value: object, offset: int, kind: Any) -> Any:
    return kind.from_address(id(value) + offset).value
