"""The LLVM text of a module: functions, and what they declare, share and refer to."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from gradc_ir.classes.quick import dataclass
from gradc_ir.core.constant import Constant
from gradc_ir.core.types import DType

# the type of a value in a register, and in memory
REGISTER = {
    DType.F64: "double",
    DType.F32: "float",
    DType.I64: "i64",
    DType.I32: "i32",
    DType.BOOL: "i1",
}
MEMORY = {**REGISTER, DType.BOOL: "i8"}

# An attribute of straight code in lanes, which has been written as it is to be: nothing but the
# code generator needs to look at it.
AS_WRITTEN = '"gradc-as-written"'
# A line of modules whose functions keep to registers of 32 bytes, though there are wider ones: all
# of a module or none, since a vector of 64 bytes is handed on in one register or in two.
NARROW = "; registers of 32 bytes"
# … and where none of the registers are used that came along with wider ones
UNMASKED = f"{NARROW}, none of truth values"
# How the mark of a loop ends that is neither unrolled nor vectorised.
PLAIN_LOOP = "!0, !1"

# Of larger arrays the elements are not written as numbers.
_MOST_NUMBERS = 256

T = TypeVar("T")

_SUFFIX = {DType.F64: "f64", DType.F32: "f32", DType.I64: "i64", DType.I32: "i32"}


def suffix(dtype: DType, lanes: int = 1) -> str:
    """Return how the names of LLVM's intrinsics end for a dtype, or for a vector of it."""
    return _SUFFIX[dtype] if lanes == 1 else f"v{lanes}{_SUFFIX[dtype]}"


def vector_type(type_: str, lanes: int) -> str:
    """Return the type of one number, or of one for each of several lanes."""
    return type_ if lanes == 1 else f"<{lanes} x {type_}>"


def literal(value: object, dtype: DType) -> str:
    """Return a number as LLVM writes it; floats by their bits."""
    if dtype is DType.BOOL:
        return "true" if value else "false"
    if dtype.is_integer:
        return str(int(value))  # type: ignore[call-overload]
    number = float(value)  # type: ignore[arg-type]
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


def declaration(result: str, name: str, arguments: Sequence[str]) -> str:
    """Return the declaration of a function; its arguments are given with their types."""
    return f"declare {result} {name}({', '.join(map(_type_in, arguments))})"


def shuffle(type_: str, first: str, second: str, lanes: Sequence[int]) -> str:
    """Return the vector of some lanes of two vectors of a type, counted through both; -1 is any."""
    order = ", ".join(f"i32 {lane}" if lane >= 0 else "i32 poison" for lane in lanes)
    return f"shufflevector {type_} {first}, {type_} {second}, <{len(lanes)} x i32> <{order}>"


@dataclass(frozen=True)
class Machine:
    """What the text of a module depends on.

    Parameters
    ----------
    is_wide: whether there are 32 registers of 64 bytes.
    splits: whether contractions round a product before they add it, to be faster where the machine
        has no fused multiply-add.
    permutes: whether an instruction permutes the numbers of a register of 32 bytes, each by an
        index of its own.
    keeps_to: the line that says which registers code does without, ``NARROW`` or ``UNMASKED``.
    gathers: whether the instruction that loads lanes from anywhere, if there is one, is quicker
        than loads of one lane each.
    pointer_bits: how wide a pointer is, and with it C's ``size_t``.
    is_small: whether its memory is so small that code is short before it is fast.
    """

    is_wide: bool = False
    splits: bool = False
    permutes: bool = False
    pointer_bits: int = 64
    is_small: bool = False
    gathers: bool = True
    keeps_to: str = ""

    @property
    def vector_bytes(self) -> int:
        """How many bytes a register of vectors has."""
        if self.is_wide:
            return 64
        return 32 if self.permutes else 16

    def keeping_to(self, registers: str) -> Machine:
        """Return a machine with wide registers as one whose code does without some of them."""
        return replace(self, is_wide=False, keeps_to=registers)


ANY_MACHINE = Machine()


class Module:
    """The text of a module for a machine: functions, and what they declare, share and refer to.

    ``has_runner``: whether a caller says by what tasks are run; then its functions hand on a
    pointer, which is null in a task.
    """

    def __init__(self, name: str, machine: Machine = ANY_MACHINE, has_runner: bool = False) -> None:
        self.name = name
        self.machine = machine
        self.has_runner = has_runner
        self.functions: list[str] = []
        self._declared: dict[str, None] = {}
        self._helpers: dict[str, str] = {}
        self._constants: dict[Constant, str] = {}
        self._globals: list[str] = []
        self._metadata: list[str] = []
        self._named = 0
        self._at_end: dict[str, Any] = {}

    def keep_plain(self) -> str:
        """Return the mark of a loop that is neither unrolled nor vectorised, to compile faster."""
        return self._loop_mark(PLAIN_LOOP)

    def keep_scalar(self) -> str:
        """Return the mark of a loop that LLVM is to leave as wide as it is."""
        return self._loop_mark("!1")

    def _loop_mark(self, properties: str) -> str:
        if not self._metadata:
            self._metadata += [
                '!0 = !{!"llvm.loop.unroll.disable"}',
                '!1 = !{!"llvm.loop.vectorize.enable", i1 false}',
            ]
        number = len(self._metadata)
        self._metadata.append(f"!{number} = distinct !{{!{number}, {properties}}}")
        return f", !llvm.loop !{number}"

    def fresh(self, kind: str) -> str:
        """Return a name for a further function of a kind."""
        self._named += 1
        return f"{kind}{self._named}"

    def declare(self, line: str) -> None:
        """Declare an external function."""
        self._declared[line] = None

    def call(self, result: str, name: str, *arguments: str) -> str:
        """Return the call of an external function, which is declared.

        ``arguments`` are given with their types, such as ``i64 %t1`` or ``<8 x i1> %v3``.
        """
        self.declare(declaration(result, name, arguments))
        return f"call {result} {name}({', '.join(arguments)})"

    def help(self, name: str, text: Callable[[], str]) -> str:
        """Return the name of an internal function, which is defined once."""
        if name not in self._helpers:
            self._helpers[name] = ""  # it may ask for itself
            self._helpers[name] = text()
        return name

    @property
    def helpers(self) -> Mapping[str, str]:
        """The internal functions by their names."""
        return self._helpers

    def constant(self, constant: Constant) -> str:
        """Return the global that holds an array."""
        found = self._constants.get(constant)
        if found is None:
            found = self._constants[constant] = f"@{self.name}.constant{len(self._constants)}"
            self._globals.append(
                f"{found} = private unnamed_addr constant {_initial(constant)}, align 64"
            )
        return found

    def at_end(self, name: str, make: Callable[[], T]) -> T:
        """Return what becomes a global when the whole is written, which grows until then."""
        if name not in self._at_end:
            self._at_end[name] = make()
        found: T = self._at_end[name]
        return found

    def __str__(self) -> str:
        parts = [
            f"; {self.name}\n{self.machine.keeps_to}".rstrip(),
            "\n".join([*self._globals, *map(str, self._at_end.values())]),
            "\n\n".join(self.functions),
            "\n\n".join(self._helpers.values()),
            "\n".join(self._declared),
            "\n".join(self._metadata),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"


def _initial(constant: Constant) -> str:
    """Return the type and the value of a global that holds an array.

    A large one is told by its bytes, lowest first as in all machines that there is code for: LLVM
    reads these in a tenth of the time of as many numbers.
    """
    flat, dtype = constant.array.reshape(-1), constant.type.dtype
    if flat.size > _MOST_NUMBERS:
        data = flat.astype(flat.dtype.newbyteorder("<"), copy=False).tobytes()
        escaped = "\\" + data.hex("\\")
        return f'[{len(data)} x i8] c"{escaped}"'
    type_ = MEMORY[dtype]
    if flat.dtype == np.bool_:
        elements = [f"i8 {int(x)}" for x in flat]
    else:
        elements = [f"{type_} {literal(x, dtype)}" for x in flat]
    return f"[{len(elements)} x {type_}] [{', '.join(elements)}]"


def _type_in(argument: str) -> str:
    head = argument.find(">") + 1 if argument.startswith("<") else 0
    return argument[:head] or argument.split(" ", 1)[0]
