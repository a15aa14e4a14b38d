"""Terms as Python: NumPy that people read, and that runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gradc.reading.notation import Bound, Notation, Quotient, decimal, joined, within
from gradc.reading.python_functions import place_of
from gradc.reading.terms import Axes, Term
from gradc.reading.values import aligned
from gradc_ir.core.sizes import Size, symbols
from gradc_ir.core.types import Array, DType
from gradc_ir.text.printer import print_array

# How tightly things bind in Python.
_COMPARE, _OR, _XOR, _AND, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(9)
_INFIX = {"&": _AND, "|": _OR, "^": _XOR}


class PythonTerms(Notation):
    """Writes terms as Python, and notes the functions and sizes that they need."""

    SUM, PRODUCT, POWER, ATOM = _SUM, _PRODUCT, _POWER, _ATOM

    def __init__(self, brief: bool = False) -> None:
        self.brief = brief
        self.needed: dict[str, dict[str, None]] = {}
        self.sizes: set[str] = set()

    def use(self, name: str, module: str = "numpy") -> str:
        """Return a name that is to be imported."""
        self.needed.setdefault(module, {})[name] = None
        return name

    def function(self, op: str) -> str:
        """Return what is called for an op, up to its first argument."""
        module, name = place_of(op)
        self.use(name, module)
        return f"op({op!r}, " if name == "op" else f"{name}("

    # -- terms -------------------------------------------------------------------------------------

    def atom(self, term: Term, into: Axes | None = None) -> str:
        """Return a term as what an index can follow."""
        return within(self.bound(term, term.axes if into is None else into), _ATOM, self)

    def bound(self, term: Term, into: Axes = ()) -> Bound:
        """Return a term as Python, broadcast against what has the axes ``into``."""
        match term.head:
            case "number":
                return self._literal(term.detail)
            case "size":
                return self.size(term.detail)
            case "sum":
                return self.sum(term, into), _SUM
            case "product":
                is_minus, text = self.product(term, into)
                return (f"-{within(text, _PRODUCT, self)}", _SIGN) if is_minus else text
            case "power":
                base, exponent = (self.bound(part, into) for part in term.parts)
                power = f"{within(base, _ATOM, self)} ** {within(exponent, _SIGN, self)}"
                return power, _POWER
            case "compare":
                return self._compare(term, into)
            case "call":
                operands = [self.bound(part, into)[0] for part in term.parts]
                if self.brief and place_of(term.detail)[1] == "op":
                    return self._brief(term.detail, operands), _ATOM
                return f"{self.function(term.detail)}{', '.join(operands)})", _ATOM
            case "where":
                inner = ", ".join(self.bound(part, into)[0] for part in term.parts)
                return f"{self.use('where')}({inner})", _ATOM
        spread = aligned(term, into)
        if spread is not term:
            return f"{self.atom(term)}[{keys_text(spread.detail, self)}]", _ATOM
        return self._array(term)

    def _literal(self, value: Any) -> Bound:
        if isinstance(value, bool):
            return str(value), _ATOM
        if isinstance(value, float):
            name = self.use("nan" if np.isnan(value) else "inf")
            return (f"-{name}", _SIGN) if value < 0 else (name, _ATOM)
        return self.number(value)

    def number(self, value: Fraction) -> Bound:
        """Return a number as Python."""
        text = decimal(value)
        if text is None:
            return f"{value.numerator} / {value.denominator}", _PRODUCT
        return text, _SIGN if value < 0 else _ATOM

    def raised(self, base: Bound, power: int) -> Bound:
        """Return a whole power above one."""
        return f"{within(base, _ATOM, self)} ** {power}", _POWER

    def written(self, quotient: Quotient) -> Bound:
        """Return a product with what is divided by behind it."""
        above, below = ([within(x, _PRODUCT + 1, self) for x in part] for part in quotient)
        left = joined(above, " * ")
        if not below:
            return left, _PRODUCT
        right = below[0] if len(below) == 1 else f"({joined(below, ' * ')})"
        return f"{left} / {right}", _PRODUCT

    def size(self, size: Size) -> tuple[str, int]:
        """Return a size, which is a number or an expression of sizes."""
        self.sizes.update(() if isinstance(size, int) else symbols(size))
        text = str(size)
        return text, _ATOM if text.isidentifier() or text.isdecimal() else _SUM

    def _compare(self, term: Term, into: Axes) -> tuple[str, int]:
        tight = _INFIX.get(term.detail, _COMPARE)
        left, right = (within(self.bound(part, into), tight + 1, self) for part in term.parts)
        return f"{left} {term.detail} {right}", tight

    def _array(self, term: Term) -> tuple[str, int]:
        """Return a term that is no formula of elements."""
        detail = term.detail
        match term.head:
            case "name":
                return detail, _ATOM
            case "array":
                if _is_range(detail.array):
                    return f"{self.use('arange')}({len(detail.array)})", _ATOM
                return self._constant(detail.array), _ATOM
            case "index":
                return f"{self.atom(term.parts[0])}[{keys_text(detail, self)}]", _ATOM
            case "reduce":
                return self._reduce(term), _ATOM
            case "contract":
                return self._contract(term)
            case "gather":
                array, *keys = term.parts
                along = tuple(sorted({axis for key in keys for axis in key.axes}))
                inner = ", ".join(self.bound(key, along)[0] for key in keys)
                return f"{self.atom(array)}[{inner}]", _ATOM
            case "op":
                name, attributes = detail
                operands = [self.text(part) for part in term.parts]
                if self.brief:
                    return self._brief(name, operands), _ATOM
                inner = ", ".join(
                    operands + [f"{key}={self._attribute(item)}" for key, item in attributes]
                )
                return f"{self.use('op', 'gradc.reading.plain_ops')}({name!r}, {inner})", _ATOM
        return self._shaped(term), _ATOM

    def _brief(self, name: str, operands: Sequence[str]) -> str:
        inner = ", ".join(operands)
        return f"{name}({inner if len(inner) < 60 else f'{len(operands)} values'})"

    def _shaped(self, term: Term) -> str:
        detail = term.detail
        inner = ", ".join(self.text(part) for part in term.parts)
        match term.head:
            case "expand":
                return f"{self.use('broadcast_to')}({inner}, {self._shape(detail)})"
            case "reshape":
                return f"{self.use('reshape')}({inner}, {self._shape(detail)})"
            case "full":
                return self.full(term.parts[0].detail, *detail)
            case "permute":
                if detail == (1, 0):
                    return f"{self.atom(term.parts[0])}.T"
                return f"{self.use('transpose')}({inner}, {tuple_text(map(str, detail))})"
            case "stack" | "concatenate":
                if term.head == "stack" and all(not part.axes for part in term.parts):
                    return f"{self.use('array')}([{inner}])"
                axis = f", {detail}" if detail else ""
                return f"{self.use(term.head)}([{inner}]{axis})"
            case "arange":
                return f"{self.use('arange')}({self.size(detail)[0]})"
        raise ValueError(f"no term is called {term.head}")

    def full(self, value: Any, shape: Sequence[Size], dtype: DType) -> str:
        """Return an array of one number."""
        kind = "" if dtype.is_float else f", {'bool' if dtype is DType.BOOL else 'int'}"
        if value == 0:
            return f"{self.use('zeros')}({self._shape(shape)}{kind})"
        text = self._literal(value)[0]
        if dtype.is_float and text.lstrip("-").isdecimal():
            text += ".0"
        return f"{self.use('full')}({self._shape(shape)}, {text})"

    def _reduce(self, term: Term) -> str:
        name, places = term.detail
        axis = "" if places is None else f", axis={places[0] if len(places) == 1 else places}"
        (part,) = term.parts
        if name == "norm" and (places is None or len(places) > 2):
            return f"{self.function('sqrt')}{self.function('reduce_sum')}" \
                f"{self.atom(part)} ** 2{axis}))"  # fmt: skip
        return f"{self.function(name)}{self.text(part)}{axis})"

    def _contract(self, term: Term) -> tuple[str, int]:
        left, right, made = term.detail
        x, y = (self.atom(part) for part in term.parts)
        match _pattern(left, right, made):
            case ("a", "a", "") | ("ab", "b", "a") | ("a", "ab", "b") | ("ab", "bc", "ac"):
                return f"{x} @ {y}", _PRODUCT
            case ("ab", "a", "b"):
                return f"{x}.T @ {y}", _PRODUCT
            case ("a", "ba", "b"):
                return f"{y} @ {x}", _PRODUCT
            case ("ab", "cb", "ac"):
                return f"{x} @ {y}.T", _PRODUCT
            case ("ab", "ac", "bc"):
                return f"{x}.T @ {y}", _PRODUCT
            case ("ab", "ac", "cb"):
                return f"{y}.T @ {x}", _PRODUCT
            case ("ab", "bc", "ca"):
                return f"({x} @ {y}).T", _ATOM
        spec = f"{left},{right}->{made}"
        return f"{self.use('einsum')}({spec!r}, {self.text(term.parts[0])}, " \
            f"{self.text(term.parts[1])})", _ATOM  # fmt: skip

    def _constant(self, array: Array) -> str:
        """Return an array of numbers; a long one with few that differ is told by those."""
        usual, others = _usual(array)
        if not others:
            return f"{self.use('array')}({self._numbers(array)})"
        text = self._numbers(usual)
        for place in others:
            where, places = self.use("where"), self.use("arange")
            number = self._numbers(array[place])
            text = f"{where}({places}({len(array)}) == {place}, {number}, {text})"
        return text

    def _numbers(self, array: Array) -> str:
        text = re.sub(r"\btrue\b", "True", print_array(array))
        text = re.sub(r"\bfalse\b", "False", text)
        for name in ("nan", "inf"):
            if name in text:
                self.use(name)
        return re.sub(":0x[0-9a-f]+", "", text)

    def _shape(self, shape: Sequence[Size]) -> str:
        return tuple_text([self.size(size)[0] for size in shape])

    def _attribute(self, item: Any) -> str:
        if isinstance(item, tuple):
            return tuple_text([self._attribute(each) for each in item])
        if isinstance(item, (str, bool)) or item is None:
            return repr(item)
        return self.size(item)[0]


def _is_range(array: Array) -> bool:
    return array.ndim == 1 and len(array) > 2 and np.array_equal(array, np.arange(len(array)))


# Rows of more elements are told by what is not the usual number, where there is no more of it.
_LONG, _FEW = 16, 2


def _usual(array: Array) -> tuple[Array, list[int]]:
    """Return the usual number of a long row and the places of others; none if they are many."""
    if array.ndim != 1 or len(array) <= _LONG:
        return array, []
    bits = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}")
    usual = bits == np.sort(bits)[len(bits) // 2]
    others = np.flatnonzero(~usual)
    if len(others) > _FEW:
        return array, []
    return array[np.argmax(usual)], others.tolist()


def tuple_text(parts: Any) -> str:
    """Return a tuple of texts."""
    texts = list(parts)
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def keys_text(keys: Sequence[Any], writer: PythonTerms) -> str:
    """Return what stands between the brackets of an index."""
    while len(keys) > 1 and keys[-1] == ":":
        keys = keys[:-1]
    return ", ".join(_key(key, writer) for key in keys)


def _key(key: Any, writer: PythonTerms) -> str:
    if key is None or key == ":":
        return str(key)
    if key[0] == "at":
        return key[1] if isinstance(key[1], str) else writer.size(key[1])[0]
    _, start, stop, step, size = key
    first = "" if start == 0 and step > 0 else writer.size(start)[0]
    last = writer.size(stop)[0]
    if step > 0 and stop == size:
        last = ""
    if step < 0:
        if stop == -1:
            last = ""
        if start == size - 1:
            first = ""
    return f"{first}:{last}" + (f":{step}" if step != 1 else "")


def _pattern(left: str, right: str, made: str) -> tuple[str, str, str]:
    """Return the labels of a contraction, renamed in the order in which they appear."""
    names: dict[str, str] = {}
    for label in left + right:
        names.setdefault(label, "abcdefghijklmnopqrstuvwxyz"[len(names)])
    return tuple("".join(names[label] for label in part) for part in (left, right, made))  # type: ignore
