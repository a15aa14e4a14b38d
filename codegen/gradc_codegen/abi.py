"""The C signature of a kernel: its arguments, in order, with their C and LLVM types.

``int32 name(sizes..., inputs..., outputs..., void *work)``: the size symbols as ``int64``, in order
of appearance, last ``tape`` where the caller chooses how many steps the tapes of loops have room
for; the inputs in the order of the function's parameters, scalars by value, arrays as pointers to
C-contiguous elements; the outputs as pointers, scalars too, where NULL means not wanted; then
scratch of ``name_worksize(sizes...)`` bytes at any alignment, NULL where that is 0.
"""

from __future__ import annotations

import enum
import functools
import unicodedata
from collections.abc import Collection, Mapping, Sequence

from gradc_codegen.text.module import MEMORY
from gradc_ir.classes.named import NamedTuple
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import VerifyError
from gradc_ir.interpreter.tape import NAME, has_free_tape


class Status(enum.IntEnum):
    """What a kernel returns; anything but OK means that its outputs must not be used."""

    OK = 0
    SIZE = 1
    WORK = 2
    INDEX = 3
    NONFINITE = 4
    TAPE = 5
    LIMIT = 6
    FAILED = 7


STATUS_MEANING: dict[Status, str] = {
    Status.OK: "the outputs are written",
    Status.SIZE: "a size is negative or does not fit the function",
    Status.WORK: "work is NULL although scratch is needed",
    Status.INDEX: "an index lies outside its axis",
    Status.NONFINITE: "a value is nan or infinite, in a kernel built to refuse that",
    Status.TAPE: "a loop took more steps than its tape has room for",
    Status.LIMIT: "a loop took more steps than its limit",
    Status.FAILED: "an assert of the function, or a raise, has failed",
}

# A size is an int64 in every kernel. Larger sizes than this cannot be the length of anything, and
# products of a few of them with an element size must not wrap around.
LARGEST_SIZE = 2**47 - 1

C_TYPES: dict[DType, str] = {
    DType.F64: "double",
    DType.F32: "float",
    DType.I64: "int64_t",
    DType.I32: "int32_t",
    DType.BOOL: "uint8_t",
}


class Role(enum.Enum):
    """What an argument of a kernel is for."""

    SIZE = "size"
    INPUT = "input"
    OUTPUT = "output"
    WORK = "work"


@dataclass(frozen=True)
class Argument:
    """One argument of a kernel.

    Parameters
    ----------
    role: a size, an input, an output or the scratch.
    name: its name in the user's words, such as ``p.w``.
    identifier: its name in C, distinct within the signature.
    type: the type of the value; ``i64`` for a size, None for the scratch.
    """

    role: Role
    name: str
    identifier: str
    type: Type | None

    @property
    def by_value(self) -> bool:
        """Whether the number itself is passed: sizes and scalar inputs."""
        return self.role is Role.SIZE or (
            self.role is Role.INPUT and self.type is not None and self.type.rank == 0
        )

    @property
    def c(self) -> str:
        """The declaration in C, e.g. ``const double *x``."""
        if self.type is None:
            return f"void *{self.identifier}"
        element = C_TYPES[self.type.dtype]
        if self.by_value:
            return f"{element} {self.identifier}"
        const = "const " if self.role is Role.INPUT else ""
        return f"{const}{element} *{self.identifier}"

    @property
    def llvm(self) -> str:
        """The type in LLVM: ``i64``, ``double``, ``ptr`` …"""
        if self.type is None or not self.by_value:
            return "ptr"
        return MEMORY[self.type.dtype]

    @property
    def llvm_attributes(self) -> str:
        """The attributes a parameter of this kind has in LLVM, e.g. ``noalias readonly``."""
        if self.by_value:
            return ""
        # outputs and scratch never overlap anything; inputs may overlap inputs, which noalias
        # allows where nothing writes through them
        return "noalias readonly" if self.role is Role.INPUT else "noalias"


class Order(NamedTuple):
    """In which order C passes the parameters and the results of a function: their positions."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @classmethod
    def of(cls, function: Function) -> Order:
        """Return the function's own order."""
        return cls(
            tuple(range(len(function.param_types))), tuple(range(len(function.result_types)))
        )

    def symbols(self, function: Function) -> tuple[str, ...]:
        """Return the sizes of a function as they appear in its parameters, in this order."""
        known = function.size_symbols
        types = [function.param_types[position] for position in self.inputs]
        found = dict.fromkeys(name for type_ in types for name in type_.symbols if name in known)
        return (*(name for name in found if name != NAME), *(n for n in known if n == NAME))


@dataclass(frozen=True)
class Signature:
    """The arguments of a kernel, by role, each group in the order of the call.

    ``tape`` is the last of the sizes where the caller chooses it: how many steps the tapes of loops
    have room for.
    """

    sizes: tuple[Argument, ...]
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    work: Argument
    tape: Argument | None = None

    @classmethod
    def of(
        cls,
        function: Function,
        outputs: Sequence[str] | None = None,
        symbols: Sequence[str] | None = None,
        order: Order | None = None,
    ) -> Signature:
        """Return the signature of a function's kernel.

        Parameters
        ----------
        function: the function the kernel computes.
        outputs: names of the results; by default ``y``, or ``y0, y1, …`` for several.
        symbols: the sizes; by default those of the function.
        order: of the parameters and the results, whose names are given in the function's own order.

        Raises
        ------
        VerifyError: the shape of a result names a size that no parameter has.
        """
        free = symbols is None and has_free_tape(function)
        if symbols is None:
            symbols = function.size_symbols if order is None else order.symbols(function)
        order = order or Order.of(function)
        for type_ in function.result_types:
            unknown = [name for name in type_.symbols if name not in symbols]
            if unknown:
                raise VerifyError(
                    f"{function.name}: a result is {type_}, but no parameter has a "
                    f"size {unknown[0]}"
                )
        count = len(function.result_types)
        if outputs is None:
            outputs = ("y",) if count == 1 else tuple(f"y{i}" for i in range(count))
        elif len(outputs) != count:
            raise ValueError(f"{len(outputs)} names for {count} results")
        taken: set[str] = set()

        def argument(role: Role, name: str, type_: Type | None) -> Argument:
            identifier = c_identifier(name)
            # each is given once: a name that is taken gets underscores
            while identifier in taken:
                identifier += "_"
            taken.add(identifier)
            return Argument(role, name, identifier, type_)

        # names of the user come first, so that ours make way for them
        named = symbols[:-1] if free else symbols
        sizes = tuple(argument(Role.SIZE, name, Type(DType.I64)) for name in named)
        inputs = tuple(
            argument(Role.INPUT, function.names[i], function.param_types[i]) for i in order.inputs
        )
        results = tuple(
            argument(Role.OUTPUT, outputs[i], function.result_types[i]) for i in order.outputs
        )
        tape = argument(Role.SIZE, NAME, Type(DType.I64)) if free else None
        return cls(
            (*sizes, tape) if tape else sizes,
            inputs,
            results,
            argument(Role.WORK, "work", None),
            tape,
        )

    @functools.cached_property
    def arguments(self) -> tuple[Argument, ...]:
        """All arguments in the order of the call."""
        return (*self.sizes, *self.inputs, *self.outputs, self.work)

    def c_declaration(self, name: str) -> str:
        """Return ``int name(…)`` in C, without the semicolon."""
        return f"int {name}({', '.join(argument.c for argument in self.arguments)})"

    def c_worksize_declaration(self, name: str) -> str:
        """Return ``size_t name_worksize(…)`` in C, without the semicolon."""
        sizes = ", ".join(argument.c for argument in self.sizes) or "void"
        return f"size_t {name}_worksize({sizes})"

    @property
    def llvm_names(self) -> tuple[str, ...]:
        """The names of all arguments in LLVM text: ``%size0``, ``%in0``, ``%out0`` …, ``%work``."""
        return (
            *(f"%size{i}" for i in range(len(self.sizes))),
            *(f"%in{i}" for i in range(len(self.inputs))),
            *(f"%out{i}" for i in range(len(self.outputs))),
            "%work",
        )

    @property
    def llvm_parameters(self) -> str:
        """The parameter list of the kernel's definition in LLVM text."""
        return self.llvm_parameters_of_body({})

    def llvm_parameters_of_body(self, overwrites: Mapping[int, int]) -> str:
        """The parameter list of a loop's or branch's body in LLVM text.

        ``overwrites``: for outputs the inputs in whose memory they are.
        """
        inputs = {f"%in{param}" for param in overwrites.values()}
        return ", ".join(self._llvm_each(inputs | {f"%out{result}" for result in overwrites}))

    def _llvm_each(self, shared: Collection[str] = ()) -> list[str]:
        return [
            " ".join(filter(None, (x.llvm, "" if name in shared else x.llvm_attributes, name)))
            for x, name in zip(self.arguments, self.llvm_names, strict=True)
        ]

    def llvm_parameters_in(self, order: Order, sizes: Sequence[int]) -> str:
        """The parameter list in LLVM text in another order; each keeps its name."""
        count, inputs = len(self.sizes), len(self.inputs)
        positions = [
            *sizes,
            *(count + i for i in order.inputs),
            *(count + inputs + i for i in order.outputs),
            len(self.arguments) - 1,
        ]
        every = self._llvm_each()
        return ", ".join(every[position] for position in positions)

    @property
    def llvm_sizes(self) -> str:
        """The parameter list of the kernel's ``_worksize`` in LLVM text."""
        return ", ".join(f"i64 %size{i}" for i in range(len(self.sizes)))


def c_identifier(name: str) -> str:
    """Return a name as an identifier of C and C++: ``p.w`` becomes ``p_w``, ``λ`` ``lambda``."""
    text = "".join(
        character if character.isascii() and (character.isalnum() or character == "_") else spelled
        for character in unicodedata.normalize("NFC", name)
        for spelled in [_spell(character)]
    )
    text = text.strip("_") or "value"
    if text[0].isdigit():
        text = f"p{text}"
    return f"{text}_" if text in RESERVED else text


def _spell(character: str) -> str:
    if character.isascii():
        return "_"
    words = unicodedata.name(character, "").split()
    if words[:1] == ["GREEK"] and len(words) == 4 and words[2] == "LETTER":
        letter = "lambda" if words[3] == "LAMDA" else words[3].lower()  # as Unicode spells it
        return letter.capitalize() if words[1] == "CAPITAL" else letter
    return f"u{ord(character):04x}"


_WORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class compl complex concept const const_cast consteval constexpr constinit continue
    co_await co_return co_yield decltype default delete do double dynamic_cast else enum explicit
    export extern false float for friend goto if imaginary inline int long mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true try typedef typeid typename typeof union
    unsigned using virtual void volatile wchar_t while xor xor_eq NULL I linux unix errno
    size_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
"""
RESERVED = frozenset(_WORDS.split())
