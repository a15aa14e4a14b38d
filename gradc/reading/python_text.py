"""The text of a graph as Python: NumPy that people read, and that runs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gradc.reading.python_functions import place_of, reserved
from gradc.reading.statements import Assign, Block, Branch, Loop, Put, Statement, statements
from gradc.reading.terms import Axes, Term
from gradc.reading.values import aligned
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size, symbols
from gradc_ir.core.types import Array, DType
from gradc_ir.text.printer import print_array

# How tightly things bind in Python.
_COMPARE, _OR, _XOR, _AND, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(9)
_INFIX = {"&": _AND, "|": _OR, "^": _XOR}
_WIDTH = 110
_INDENT = "    "


def python_text(function: Function, heading: str = "", width: int = _WIDTH) -> str:
    """Return a function as a Python function, below the imports it needs."""
    text = statements(function, set(reserved(function)))
    writer = _Writer(width)
    body = [line for statement in text.block for line in writer.statement(statement, 1)]
    results = [writer.text(term) for term in text.results]
    body += writer.line("return ", ", ".join(results) or "()", 1)
    sizes = [
        f"{_INDENT}{size} = {name}.shape[{axis}]"
        for size, (name, axis) in text.sizes.items()
        if size in writer.sizes
    ]
    params = ", ".join(name for name, _ in text.params)
    types = ", ".join(f"{name}: {type_}" for name, type_ in text.params)
    lines = [f"# {heading}"] if heading else []
    lines += writer.imports()
    lines += wrapped("# ", types, width, "#     ") if types else []
    lines += wrapped(f"def {_identifier(text.name)}(", f"{params}):", width, _INDENT * 2)
    return "\n".join([*lines, *sizes, *body]) + "\n"


def _identifier(name: str) -> str:
    found = re.sub(r"\W+", "_", name)
    return f"f{found}" if not found or found[0].isdigit() else found


class _Writer:
    """Writes terms and statements; it notes the functions and sizes that they need."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.needed: dict[str, dict[str, None]] = {}
        self.sizes: set[str] = set()

    def imports(self) -> list[str]:
        """Return the lines that import what was written."""
        lines = []
        for module, names in sorted(self.needed.items(), key=lambda item: item[0] != "numpy"):
            lines += wrapped(
                f"from {module} import ", ", ".join(sorted(names)), self.width, _INDENT
            )
        return lines

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

    def text(self, term: Term) -> str:
        """Return a term as Python."""
        return self.bound(term, term.axes)[0]

    def atom(self, term: Term, into: Axes | None = None) -> str:
        """Return a term as what an index can follow."""
        return _within(self.bound(term, term.axes if into is None else into), _ATOM)

    def bound(self, term: Term, into: Axes) -> tuple[str, int]:
        """Return a term beside others with these axes, and how tightly its outermost part binds."""
        match term.head:
            case "number":
                return self._number(term.detail)
            case "size":
                return self.size(term.detail)
            case "sum":
                return self._sum(term, into), _SUM
            case "product":
                return self._product(term, into)
            case "power":
                base, exponent = (self.bound(part, into) for part in term.parts)
                return f"{_within(base, _ATOM)} ** {_within(exponent, _SIGN)}", _POWER
            case "compare":
                return self._compare(term, into)
            case "call":
                inner = ", ".join(self.bound(part, into)[0] for part in term.parts)
                return f"{self.function(term.detail)}{inner})", _ATOM
            case "where":
                inner = ", ".join(self.bound(part, into)[0] for part in term.parts)
                return f"{self.use('where')}({inner})", _ATOM
        spread = aligned(term, into)
        if spread is not term:
            return f"{self.atom(term)}[{_keys(spread.detail, self)}]", _ATOM
        return self._array(term)

    def _number(self, value: Any) -> tuple[str, int]:
        if isinstance(value, bool):
            return str(value), _ATOM
        if isinstance(value, float):
            name = self.use("nan" if np.isnan(value) else "inf")
            return (f"-{name}", _SIGN) if value < 0 else (name, _ATOM)
        text = _decimal(value) or f"{value.numerator} / {value.denominator}"
        if "/" in text:
            return text, _PRODUCT
        return text, _SIGN if value < 0 else _ATOM

    def size(self, size: Size) -> tuple[str, int]:
        """Return a size, which is a number or an expression of sizes."""
        self.sizes.update(() if isinstance(size, int) else symbols(size))
        text = str(size)
        return text, _ATOM if text.isidentifier() or text.isdecimal() else _SUM

    def _sum(self, term: Term, into: Axes) -> str:
        coefficients, constant = term.detail
        parts = [self._scaled(c, part, into) for c, part in zip(coefficients, term.parts)]
        if constant:
            parts.append((constant < 0, self._number(abs(constant))[0]))
        # a sum begins with what is added, where there is something
        first = next((i for i, (is_minus, _) in enumerate(parts) if not is_minus), 0)
        parts.insert(0, parts.pop(first))
        (is_minus, begin), *rest = parts
        signed = "".join(f" {'-' if minus else '+'} {text}" for minus, text in rest)
        return f"{'-' if is_minus else ''}{begin}{signed}"

    def _scaled(self, coefficient: Fraction, part: Term, into: Axes) -> tuple[bool, str]:
        """Return the sign of a summand, and its text without."""
        factor = abs(coefficient)
        own, powers = (part.parts, part.detail[1]) if part.head == "product" else ((part,), (1,))
        if part.head == "product":
            factor *= abs(part.detail[0])
            coefficient *= part.detail[0]
        text = self._fraction(factor, own, powers, into)
        return coefficient < 0, _within(text, _SUM + 1)

    def _product(self, term: Term, into: Axes) -> tuple[str, int]:
        coefficient, powers = term.detail
        text = self._fraction(abs(coefficient), term.parts, powers, into)
        if coefficient < 0:
            return f"-{_within(text, _PRODUCT)}", min(_SIGN, text[1])
        return text

    def _fraction(
        self, coefficient: Fraction, parts: Sequence[Term], powers: Sequence[int], into: Axes
    ) -> tuple[str, int]:
        """Return a product with what is divided by behind it."""
        above, below = split(coefficient)
        over = [above] if above else []
        under = [below] if below else []
        only = None
        for part, power in zip(parts, powers):
            own = self.bound(part, into)
            text = _within(own, _PRODUCT + 1) if abs(power) == 1 else _within(own, _ATOM)
            if abs(power) != 1:
                text = f"{text} ** {abs(power)}"
            (over if power > 0 else under).append(text)
            only = own if power == 1 else (text, _POWER)
        if not under and len(over) == 1 and only is not None:
            return only
        left = " * ".join(over) or "1"
        if not under:
            return left, _PRODUCT
        right = under[0] if len(under) == 1 else f"({' * '.join(under)})"
        return f"{left} / {right}", _PRODUCT

    def _compare(self, term: Term, into: Axes) -> tuple[str, int]:
        tight = _INFIX.get(term.detail, _COMPARE)
        left, right = (_within(self.bound(part, into), tight + 1) for part in term.parts)
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
                text = re.sub(r"\btrue\b", "True", print_array(detail.array))
                text = re.sub(r"\bfalse\b", "False", text)
                for name in ("nan", "inf"):
                    if name in text:
                        self.use(name)
                return f"{self.use('array')}({re.sub(':0x[0-9a-f]+', '', text)})", _ATOM
            case "index":
                return f"{self.atom(term.parts[0])}[{_keys(detail, self)}]", _ATOM
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
                inner = ", ".join(
                    [self.text(part) for part in term.parts]
                    + [f"{key}={self._attribute(item)}" for key, item in attributes]
                )
                return f"{self.use('op', 'gradc.reading.plain_ops')}({name!r}, {inner})", _ATOM
        return self._shaped(term), _ATOM

    def _shaped(self, term: Term) -> str:
        detail = term.detail
        inner = ", ".join(self.text(part) for part in term.parts)
        match term.head:
            case "expand":
                return f"{self.use('broadcast_to')}({inner}, {self._shape(detail)})"
            case "reshape":
                return f"{self.use('reshape')}({inner}, {self._shape(detail)})"
            case "full":
                return self._full(term.parts[0].detail, *detail)
            case "permute":
                if detail == (1, 0):
                    return f"{self.atom(term.parts[0])}.T"
                return f"{self.use('transpose')}({inner}, {_tuple(map(str, detail))})"
            case "stack" | "concatenate":
                if term.head == "stack" and all(not part.axes for part in term.parts):
                    return f"{self.use('array')}([{inner}])"
                axis = f", {detail}" if detail else ""
                return f"{self.use(term.head)}([{inner}]{axis})"
            case "arange":
                return f"{self.use('arange')}({self.size(detail)[0]})"
        raise ValueError(f"no term is called {term.head}")

    def _full(self, value: Any, shape: Sequence[Size], dtype: DType) -> str:
        kind = "" if dtype.is_float else f", {'bool' if dtype is DType.BOOL else 'int'}"
        if value == 0:
            return f"{self.use('zeros')}({self._shape(shape)}{kind})"
        text = self._number(value)[0]
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

    def _shape(self, shape: Sequence[Size]) -> str:
        return _tuple([self.size(size)[0] for size in shape])

    def _attribute(self, item: Any) -> str:
        if isinstance(item, tuple):
            return _tuple([self._attribute(each) for each in item])
        if isinstance(item, (str, bool)) or item is None:
            return repr(item)
        return self.size(item)[0]

    # -- statements --------------------------------------------------------------------------------

    def line(self, start: str, text: str, depth: int) -> list[str]:
        """Return a statement as lines."""
        return wrapped(f"{_INDENT * depth}{start}", text, self.width, _INDENT * (depth + 1))

    def statement(self, statement: Statement, depth: int) -> Iterator[str]:
        """Yield the lines of a statement."""
        match statement:
            case Assign(names, term):
                yield from self.line(f"{', '.join(names)} = ", self.text(term), depth)
            case Put():
                yield from self._put(statement, depth)
            case Loop():
                yield from self._loop(statement, depth)
            case Branch():
                yield from self._branch(statement, depth)

    def _block(self, block: Block, depth: int) -> Iterator[str]:
        for statement in block:
            yield from self.statement(statement, depth)

    def _put(self, put: Put, depth: int) -> Iterator[str]:
        part = self.bound(put.part, tuple(range(put.rank)))[0]
        copy = array = self.text(put.array)
        if put.array.head != "full":
            copy = f"{self.use('array')}({array}{', float' if put.dtype.is_float else ''})"
        yield from self.line(f"{put.name} = ", copy, depth)
        if put.how == "window":
            yield from self.line(f"{put.name}[{_keys(put.keys, self)}] = ", part, depth)
            return
        axes, *indices = put.keys
        keys = {axis: self.text(index) for axis, index in zip(axes, indices)}  # type: ignore
        target, first = put.name, tuple(range(len(keys)))
        if tuple(axes) != first:  # type: ignore
            rest = [i for i in range(len(put.array.axes)) if i not in keys]
            order = _tuple(map(str, (*axes, *rest)))  # type: ignore
            target = f"{self.use('transpose')}({put.name}, {order})"
        index = ", ".join(keys.values())
        if put.how == "add":
            key = f"({index},)" if len(keys) == 1 else f"({index})"
            yield from self.line(
                f"{self.use('add')}.at(", f"{target}, {key}, {part})", depth
            )
        else:
            yield from self.line(f"{target}[{index}] = ", part, depth)

    def _loop(self, loop: Loop, depth: int) -> Iterator[str]:
        for name, start in loop.carries:
            yield from self.line(f"{name} = ", self.text(start), depth)
        listed = [name for name, type_ in loop.stacked if "_tape" in str(type_)]
        for name, type_ in loop.stacked:
            zeros = "[]" if name in listed else self._full(0, type_.shape, type_.dtype)
            yield from self.line(f"{name} = ", zeros, depth)
        inside = depth + 1
        if loop.condition is not None:
            yield f"{_INDENT * depth}{loop.counter} = 0"
            test = self.text(loop.condition)
            if loop.before:
                yield f"{_INDENT * depth}while True:"
                yield from self._block(loop.before, inside)
                yield from self.line("if not ", f"({test}):", inside)
                yield f"{_INDENT * (inside + 1)}break"
            else:
                yield from self.line("while ", f"{test}:", depth)
        else:
            assert loop.count is not None
            steps = f"range({self.text(loop.count)})"
            steps = f"reversed({steps})" if loop.reverse else steps
            yield f"{_INDENT * depth}for {loop.counter} in {steps}:"
        body = list(self._block(loop.body, inside))
        yield from body
        for (name, _), row in zip(loop.stacked, loop.rows):
            text = self.text(row)
            if name in listed:
                yield from self.line(f"{name}.append(", f"{text})", inside)
            else:
                yield from self.line(f"{name}[{loop.counter}] = ", text, inside)
        names = [name for name, _ in loop.carries]
        changed = [
            (name, self.text(term)) for name, term in zip(names, loop.after)
        ]  # fmt: skip
        changed = [(name, text) for name, text in changed if name != text]
        if changed:
            left = ", ".join(name for name, _ in changed)
            yield from self.line(f"{left} = ", ", ".join(text for _, text in changed), inside)
        if loop.condition is not None:
            yield f"{_INDENT * inside}{loop.counter} += 1"
        elif not (body or loop.rows or changed):
            yield f"{_INDENT * inside}pass"
        for name in listed:
            yield f"{_INDENT * depth}{name} = {self.use('array')}({name})"

    def _branch(self, branch: Branch, depth: int) -> Iterator[str]:
        yield from self.line("if ", f"{self.text(branch.condition)}:", depth)
        for number, (block, values) in enumerate(zip(branch.blocks, branch.values)):
            if number:
                yield f"{_INDENT * depth}else:"
            yield from self._block(block, depth + 1)
            yield from self.line(
                f"{', '.join(branch.names)} = ",
                ", ".join(self.text(value) for value in values),
                depth + 1,
            )


def _is_range(array: Array) -> bool:
    return array.ndim == 1 and len(array) > 2 and np.array_equal(array, np.arange(len(array)))


def split(coefficient: Fraction) -> tuple[str, str]:
    """Return what of a positive number stands above a line, and what below; empty is one."""
    if coefficient == 1:
        return "", ""
    if coefficient.numerator == 1 and coefficient.denominator < 10**6:
        return "", str(coefficient.denominator)
    decimal = _decimal(coefficient)
    if decimal is not None:
        return decimal, ""
    above = "" if coefficient.numerator == 1 else str(coefficient.numerator)
    return above, str(coefficient.denominator)


def _decimal(value: Fraction) -> str | None:
    """Return a number as its decimal, None where that is not short."""
    if value.denominator == 1 and abs(value) < 10**15:
        return str(value.numerator)
    try:
        short = repr(float(value))
    except OverflowError:
        return None
    return short.removesuffix(".0") if Fraction(short) == value else None


def _within(part: tuple[str, int], tight: int) -> str:
    text, own = part
    return text if own >= tight else f"({text})"


def _tuple(parts: Any) -> str:
    texts = list(parts)
    return f"({texts[0]},)" if len(texts) == 1 else f"({', '.join(texts)})"


def _keys(keys: Sequence[Any], writer: _Writer) -> str:
    """Return what stands between the brackets of an index."""
    while len(keys) > 1 and keys[-1] == ":":
        keys = keys[:-1]
    return ", ".join(_key(key, writer) for key in keys)


def _key(key: Any, writer: _Writer) -> str:
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


_BREAK = re.compile(r"(?<=,) | (?=(?:[-+*/@|&^]|\*\*|[<=!]=?) )")


def wrapped(start: str, text: str, width: int, indent: str) -> list[str]:
    """Return a statement as lines: cut behind commas and before operators, in brackets."""
    if len(start) + len(text) <= width:
        return [start + text]
    if not _is_bracketed(text) and not start.endswith("("):
        start, text = f"{start}(", f"{text})"
    lines, rest = [start], text
    while len(lines[-1]) + len(rest) > width:
        cut = _cut(rest, width - len(lines[-1]))
        if cut is None:
            break
        lines[-1] += rest[:cut].rstrip()
        rest = rest[cut:].lstrip()
        lines.append(indent)
    lines[-1] += rest
    return lines


def _cut(text: str, room: int) -> int | None:
    """Return where to cut a text: inside as few brackets as can be, and late."""
    places = [found.start() for found in _BREAK.finditer(text)]
    fit = [place for place in places if place <= room] or places[:1]
    late = [place for place in fit if 2 * place > room] or fit
    return min(late, key=lambda place: (_depth(text[:place]), -place), default=None)


def _depth(text: str) -> int:
    return sum(text.count(letter) for letter in "([") - sum(text.count(c) for c in ")]")


def _is_bracketed(text: str) -> bool:
    """Whether all of a text but a name in front stands in one pair of brackets."""
    body = re.sub(r"^[\w.]*", "", text.rstrip(":"))
    if not body.startswith(("(", "[")):
        return False
    depth = 0
    for i, letter in enumerate(body):
        depth += (letter in "([") - (letter in ")]")
        if depth == 0:
            return i == len(body) - 1
    return False
