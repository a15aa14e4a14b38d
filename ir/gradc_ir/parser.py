"""Reads the text of functions, types and specs; errors underline the place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from gradc_ir import build, sizes
from gradc_ir.build import Builder
from gradc_ir.constant import Constant
from gradc_ir.graph import Function, Node, Value
from gradc_ir.lexer import Cursor, Token, parse_number
from gradc_ir.location import Location
from gradc_ir.op import TABLE, Op
from gradc_ir.printer import DERIVED, escape, literal_dtype
from gradc_ir.sizes import Size
from gradc_ir.types import DType, Type

Nest: TypeAlias = "Type | tuple[Nest, ...] | list[Nest] | dict[str | int, Nest] | None"

_DTYPES = {dtype.value: dtype for dtype in DType}
_LOCATION = re.compile(r"([^\s,]+):(\d+)(?: (?:in )?([^\s,]+))?")
_OPEN, _CLOSE = "([{", ")]}"


def parse_function(text: str) -> Function:
    """Return the first function of a text; the others are bodies it holds."""
    return next(iter(parse_module(text).values()))


def parse_module(text: str) -> dict[str, Function]:
    """Return the functions of a text by name, in order. Raises ParseError."""
    cursor = Cursor(text)
    blocks: dict[str, _Block] = {}
    while cursor.next.kind != "end" or not blocks:
        block = _split_block(cursor)
        if block.name in blocks:
            raise cursor.failure(f"@{block.name} is defined twice", block.token)
        blocks[block.name] = block
    reader = _Reader(cursor, blocks)
    return {name: reader.function(name, block.token) for name, block in blocks.items()}


def parse_type(text: str) -> Type:
    """Return the type written in a text, such as ``f64[n,3]``."""
    cursor = Cursor(text)
    found = _type(cursor)
    cursor.expect_end()
    return found


def parse_spec(text: str) -> list[tuple[str, Nest]]:
    """Return names and types of arguments, e.g. of ``x: f64[n,3], p: {w: f64[3]}, t: (f64, i64)``.

    Dicts, tuples and lists are written as in Python, with types as leaves; ``none`` is an empty
    nest.
    """
    cursor = Cursor(text)
    found: dict[str, Nest] = {}
    while cursor.next.kind != "end":
        token = cursor.expect_kind("name", "the name of an argument")
        if token.text in found:
            raise cursor.failure(f"{token} is named twice", token)
        cursor.expect(":")
        found[token.text] = _nest(cursor)
        if not cursor.accept(","):
            cursor.expect_end()
    return list(found.items())


def print_spec(spec: Sequence[tuple[str, Nest]]) -> str:
    """Return the text of names and types that :func:`parse_spec` reads."""
    return ", ".join(f"{name}: {print_nest(nest)}" for name, nest in spec)


def print_nest(nest: Nest) -> str:
    """Return the text of a nest of types."""
    if nest is None:
        return "none"
    if isinstance(nest, Type):
        return str(nest)
    if isinstance(nest, dict):
        return f"{{{', '.join(f'{_key(key)}: {print_nest(item)}' for key, item in nest.items())}}}"
    inner = ", ".join(print_nest(item) for item in nest)
    if isinstance(nest, list):
        return f"[{inner}]"
    return f"({inner},)" if len(nest) == 1 else f"({inner})"


def _key(key: str | int) -> str:
    if isinstance(key, int) or key.isidentifier():
        return str(key)
    return f'"{escape(key)}"'


def _nest(cursor: Cursor) -> Nest:
    token = cursor.next
    if cursor.accept("none"):
        return None
    if cursor.accept("["):
        return [_nest(cursor) for _ in cursor.sequence("]")]
    if cursor.accept("("):
        parts = tuple(_nest(cursor) for _ in cursor.sequence(")"))
        # as in Python, parentheses around one type are only that
        comma = cursor.tokens[cursor.position - 2].text == ","
        return parts if len(parts) != 1 or comma else parts[0]
    if cursor.accept("{"):
        entries: dict[str | int, Nest] = {}
        for _ in cursor.sequence("}"):
            key = cursor.take()
            if key.kind not in ("name", "string", "number"):
                raise cursor.failure(f"expected a key, found {key}", key)
            cursor.expect(":")
            name = _unquoted(key.text) if key.kind != "number" else int(parse_number(key.text))
            entries[name] = _nest(cursor)
        return entries
    if token.text not in _DTYPES:
        help = (
            "write dtypes as f64, f32, i64, i32, bool; nests as {name: type}, (type, type), [type]"
        )
        raise cursor.failure(f"expected a type, found {token}", token, help=help)
    return _type(cursor)


# -- types and sizes ------------------------------------------------------------------------------


def _type(cursor: Cursor) -> Type:
    token = cursor.take()
    dtype = _DTYPES.get(token.text)
    if dtype is None:
        raise cursor.failure(
            f"expected a type, found {token}",
            token,
            help="types are f64, f32, i64, i32, bool, with sizes as in f64[n,3]",
        )
    # a bracket is part of the type only where it follows at once
    if cursor.next.text != "[" or cursor.next.start != token.end:
        return Type(dtype)
    cursor.take()
    return Type(dtype, tuple(_size(cursor) for _ in cursor.sequence("]")))


def _size(cursor: Cursor) -> Size:
    """Read a size up to the comma or bracket behind it."""
    first = cursor.next
    depth = 0
    last = first
    while cursor.next.kind in ("name", "number", "mark"):
        text = cursor.next.text
        if depth == 0 and (text in _CLOSE or text == ","):
            break
        depth += (text in _OPEN) - (text in _CLOSE)
        last = cursor.take()
    written = cursor.text[first.start : last.end]
    try:
        return sizes.parse_size(written)
    except ValueError:
        place = Token("mark", written, first.start, max(last.end, first.end))
        raise cursor.failure(f"expected a size, found {written or first}", place) from None


def _unquoted(text: str) -> str:
    if not text.endswith('"'):
        return text
    body = text[text.index('"') + 1 : -1]
    return re.sub(r"\\(.)", lambda found: {"n": "\n"}.get(found[1], found[1]), body)


# -- functions ------------------------------------------------------------------------------------


class _Block(NamedTuple):
    """Where the text of a function begins: at the token of its name."""

    name: str
    token: Token
    position: int


def _split_block(cursor: Cursor) -> _Block:
    cursor.expect("func")
    token = cursor.expect_kind("function", "a function's name such as @f")
    block = _Block(_unquoted(token.text[1:]), token, cursor.position - 1)
    # parameters, results, and then the body, whose braces are balanced
    while cursor.next.text != "{":
        if cursor.take().kind == "end":
            raise cursor.failure("expected {, found the end of the text", cursor.next)
    depth = 0
    while True:
        taken = cursor.take()
        depth += (taken.text == "{") - (taken.text == "}")
        if taken.kind == "end":
            raise cursor.failure("expected }, found the end of the text", taken)
        if depth == 0:
            return block


def _begins_operand(token: Token) -> bool:
    return token.kind in ("value", "number") or token.text in ("true", "false")


class _Literal(NamedTuple):
    """An operand written as a number, until its type is known."""

    token: Token


class _Reader:
    """Reads the blocks of a text, bodies before the functions that hold them."""

    def __init__(self, cursor: Cursor, blocks: Mapping[str, _Block]) -> None:
        self.cursor = cursor
        self.blocks = blocks
        self.done: dict[str, Function] = {}
        self.open: set[str] = set()

    def function(self, name: str, token: Token) -> Function:
        """Return a function of the text by its name, which stands at ``token``."""
        if name not in self.blocks:
            raise self.cursor.failure(f"no function is called {token}", token)
        if name in self.open:
            raise self.cursor.failure(f"{token} holds itself", token)
        if name not in self.done:
            self.open.add(name)
            before, self.cursor.position = self.cursor.position, self.blocks[name].position
            with Builder() as builder:
                self.done[name] = self._block(name, builder)
            self.cursor.position = before
            self.open.discard(name)
        return self.done[name]

    def _block(self, name: str, builder: Builder) -> Function:
        cursor = self.cursor
        location = self._heading()
        cursor.take()
        values: dict[str, Value] = {}
        names: list[str] = []
        cursor.expect("(")
        for _ in cursor.sequence(")"):
            token = cursor.expect_kind("value", "a parameter such as %x")
            cursor.expect(":")
            self._enter(values, token, builder.param(len(names), _type(cursor)))
            names.append(_unquoted(token.text[1:]))
        params = tuple(values.values())
        cursor.expect("->")
        returned = cursor.next
        wanted = self._types() if cursor.accept("(") else (_type(cursor),)
        cursor.expect("{")
        while not cursor.accept("return"):
            self._statement(values, builder)
        results = []
        while cursor.next.kind == "value":
            results.append(self._value(values, cursor.take()))
            if not cursor.accept(","):
                break
        cursor.expect("}")
        found = tuple(result.type for result in results)
        if found != wanted:
            texts = [f"({', '.join(map(str, types))})" for types in (found, wanted)]
            raise cursor.failure(f"returns {texts[0]}, not {texts[1]}", returned)
        return builder.function(name, params, results, names, location)

    def _heading(self) -> Location | None:
        comment = self.cursor.comments.get(self.cursor.line - 1, "")
        found = _LOCATION.fullmatch(comment)
        return Location(found[1], int(found[2]), found[3] or "") if found else None

    def _types(self) -> tuple[Type, ...]:
        return tuple(_type(self.cursor) for _ in self.cursor.sequence(")"))

    def _enter(self, values: dict[str, Value], token: Token, value: Value) -> None:
        if token.text in values:
            raise self.cursor.failure(f"{token} is defined twice", token)
        values[token.text] = value

    def _value(self, values: Mapping[str, Value], token: Token) -> Value:
        if token.text not in values:
            raise self.cursor.failure(f"{token} is not defined", token)
        return values[token.text]

    def _statement(self, values: dict[str, Value], builder: Builder) -> None:
        cursor = self.cursor
        builder.here = tuple(
            Location(found[1], int(found[2]), found[3] or "")
            for found in _LOCATION.finditer(cursor.comments.get(cursor.line, ""))
        )
        lefts = [cursor.expect_kind("value", "a value such as %0, or return")]
        while cursor.accept(","):
            lefts.append(cursor.expect_kind("value", "a value such as %0"))
        cursor.expect(":")
        first_type = cursor.next
        wanted = [_type(cursor)]
        while cursor.accept(","):
            wanted.append(_type(cursor))
        cursor.expect("=")
        token = cursor.expect_kind("name", "an op")
        op = TABLE.get(token.text)
        if op is None or op.name == "param":
            raise cursor.failure(f"no op is called {token}", token)
        if op.name == "constant":
            node = self._constant(wanted[0])
        else:
            with cursor.blaming(token):
                node = self._node(op, token, wanted[0], values)
        found = [value.type for value in node.results]
        if found != wanted:
            texts = [", ".join(map(str, types)) for types in (found, wanted)]
            raise cursor.failure(f"{op.name} makes {texts[0]}, not {texts[1]}", first_type)
        if len(lefts) != len(found):
            raise cursor.failure(f"{op.name} makes {len(found)} values", lefts[0])
        for left, value in zip(lefts, node.results):
            self._enter(values, left, value)

    def _constant(self, type: Type) -> Node:
        cursor = self.cursor
        first = cursor.next
        elements: list[Any] = []
        self._elements(list(type.shape), elements, type.dtype)
        if not all(isinstance(size, int) for size in type.shape):
            raise cursor.failure("a constant has no symbolic size", first)
        array = np.array(elements, dtype=type.dtype.numpy)
        array = array.reshape(cast(tuple[int, ...], type.shape))
        return build.apply("constant", value=Constant(array)).node

    def _elements(self, shape: list[Size], elements: list[Any], dtype: DType) -> None:
        cursor = self.cursor
        if not shape:
            elements.append(self._number(cursor.take(), dtype))
            return
        opening = cursor.expect("[")
        count = 0
        for _ in cursor.sequence("]"):
            self._elements(shape[1:], elements, dtype)
            count += 1
        if count != shape[0] and 0 not in shape:
            raise cursor.failure(f"expected {shape[0]} elements, found {count}", opening)

    def _number(self, token: Token, dtype: DType) -> Any:
        """Return the NumPy number of a token, bit by bit."""
        if dtype is DType.BOOL and token.text in ("true", "false"):
            return np.bool_(token.text == "true")
        if token.kind == "name" and token.text in ("inf", "nan"):
            token = token._replace(kind="number")
        if token.kind != "number" or dtype is DType.BOOL:
            raise self.cursor.failure(f"expected a number of dtype {dtype}, found {token}", token)
        if dtype.is_float:
            _, _, bits = token.text.partition(":")
            if bits:
                width = dtype.bytes * 8
                return np.asarray(int(bits, 16), f"u{width // 8}").view(dtype.numpy)[()]
            return dtype.numpy.type(parse_number(token.text))
        number = parse_number(token.text)
        with self.cursor.blaming(token):
            if not isinstance(number, int):
                raise ValueError(f"expected an integer, found {token}")
            return np.asarray(number, dtype=dtype.numpy)[()]

    def _node(self, op: Op, token: Token, result: Type, values: Mapping[str, Value]) -> Node:
        cursor = self.cursor
        operands: list[Value | _Literal] = []
        # what follows an op without operands is the next statement
        while op.operands != 0 and _begins_operand(cursor.next):
            taken = cursor.take()
            operands.append(
                self._value(values, taken) if taken.kind == "value" else _Literal(taken)
            )
            if not cursor.accept(","):
                break
        if op.operands is not None and len(operands) != op.operands:
            raise cursor.failure(
                f"{op.name} has {op.operands} operands, not {len(operands)}", token
            )
        attributes = self._attributes(op, token, result)
        resolved = self._resolve(op, operands, result)
        return build.active().apply(op, resolved, attributes)

    def _resolve(
        self, op: Op, operands: Sequence[Value | _Literal], result: Type
    ) -> tuple[Value, ...]:
        """Return the operands with literals made constants of the type the op needs there."""
        named = [operand.type.dtype for operand in operands if isinstance(operand, Value)]
        resolved = []
        for position, operand in enumerate(operands):
            if isinstance(operand, _Literal):
                dtype = literal_dtype(op, position, result, named)
                if dtype is None:
                    raise self.cursor.failure(
                        f"{op.name} takes no literal here",
                        operand.token,
                        help="give it a line of its own: %c: f64 = constant 1.0",
                    )
                number = self._number(operand.token, dtype)
                shape = () if op.name == "broadcast" else result.shape
                operand = build.broadcast(
                    build.apply("constant", value=Constant(number)), shape, ()
                )
            resolved.append(operand)
        return tuple(resolved)

    def _attributes(self, op: Op, token: Token, result: Type) -> dict[str, Any]:
        cursor = self.cursor
        derived = DERIVED.get(op.name, ())
        found: dict[str, Any] = {}
        if cursor.accept("{"):
            for _ in cursor.sequence("}"):
                name = cursor.expect_kind("name", "an attribute")
                if name.text not in op.attributes or name.text in derived:
                    raise cursor.failure(f"{op.name} has no attribute {name} to write", name)
                if name.text in found:
                    raise cursor.failure(f"{name} is given twice", name)
                cursor.expect("=")
                found[name.text] = self._attribute()
        for name_ in derived:
            if name_ == "size" and result.rank != 1:
                raise cursor.failure(f"{op.name} makes a value with one axis", token)
            found[name_] = {
                "shape": result.shape,
                "dtype": result.dtype,
                "size": result.shape[0] if result.shape else 0,
            }[name_]
        for attribute in op.attributes:
            if attribute not in found:
                raise cursor.failure(f"{op.name} needs the attribute {attribute}", token)
        return {attribute: found[attribute] for attribute in op.attributes}

    def _attribute(self) -> Any:
        cursor = self.cursor
        token = cursor.next
        match token.kind, token.text:
            case "string", _:
                return _unquoted(cursor.take().text)
            case "function", _:
                cursor.take()
                return self.function(_unquoted(token.text[1:]), token)
            case "name", ("none" | "true" | "false"):
                cursor.take()
                return {"none": None, "true": True, "false": False}[token.text]
            case "mark", "[":
                cursor.take()
                return tuple(self._attribute() for _ in cursor.sequence("]"))
            case "name", text if text in _DTYPES:
                type_ = _type(cursor)
                bracketed = cursor.tokens[cursor.position - 1].text == "]"
                return type_ if bracketed else type_.dtype
            case "number", _ if not re.fullmatch(r"-?\d+", token.text):
                return parse_number(cursor.take().text)
        return _size(cursor)
