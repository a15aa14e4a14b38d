"""Reads the text of functions; errors underline the place."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.attributes import check_attributes
from gradc_ir.core.constant import Constant
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.op import TABLE, Op
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type, Types
from gradc_ir.errors import ParseError
from gradc_ir.location import Lines, Location
from gradc_ir.text.lexer import Cursor, Token, parse_number
from gradc_ir.text.printer import DERIVED, HEADING, VERSION, literal_dtype
from gradc_ir.text.spec import Nest, parse_spec, print_nest, print_spec
from gradc_ir.text.type_text import DTYPES, parse_type, read_size, read_type, unquoted

__all__ = [
    "Nest",
    "parse_function",
    "parse_module",
    "parse_spec",
    "parse_type",
    "print_nest",
    "print_spec",
]

# Bodies in bodies, deeper than which nobody writes and no pass need go.
_DEEPEST_BODY = 64

_LOCATION = re.compile(r"([^\s,]+):(\d{1,9})(?: (?:in )?([^\s,]+))?")
_NUMBER = re.compile(r"\d{1,9}")
_VERSION = re.compile(rf"{HEADING} (\d+)")


def parse_function(text: str) -> Function:
    """Return the first function of a text; the others are bodies it holds."""
    return next(iter(parse_module(text).values()))


def parse_module(text: str) -> dict[str, Function]:
    """Return the functions of a text by name, in order. Raises ParseError."""
    cursor = Cursor(text)
    _check_version(cursor)
    blocks: dict[str, _Block] = {}
    while cursor.next.kind != "end" or not blocks:
        block = _split_block(cursor)
        if block.name in blocks:
            raise cursor.failure(f"@{block.name} is defined twice", block.token)
        blocks[block.name] = block
    reader = _Reader(cursor, blocks)
    return {name: reader.function(name, block.token) for name, block in blocks.items()}


def _check_version(cursor: Cursor) -> None:
    """Refuse a text that says it is of a version that nobody here knows."""
    found = _VERSION.fullmatch(cursor.comments.get(0, ""))
    if found and found[1] != str(VERSION):
        raise ParseError(
            f"the text is of version {found[1][:20]} of the language",
            found=f"this gradc reads version {VERSION}",
            help="read it with the gradc that wrote it",
        )


# -- functions ------------------------------------------------------------------------------------


class _Block(NamedTuple):
    """Where the text of a function begins: at the token of its name."""

    name: str
    token: Token
    position: int


def _split_block(cursor: Cursor) -> _Block:
    cursor.expect("func")
    token = cursor.expect_kind("function", "a function's name such as @f")
    block = _Block(unquoted(token.text[1:]), token, cursor.position - 1)
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


def _location(found: re.Match[str]) -> Location:
    return Location(found[1], int(found[2]), found[3] or "")


def _lines(comment: str) -> Lines:
    """Return the user's lines of a comment: ``model.py:9, 10``."""
    found: list[Location] = []
    for item in comment.split(","):
        place = _LOCATION.fullmatch(item.strip())
        if place:
            found.append(_location(place))
        elif found and _NUMBER.fullmatch(item.strip()):
            found.append(Location(found[-1].file, int(item)))
    return tuple(dict.fromkeys(found))


def _named(lines: Lines, lefts: Sequence[Token]) -> Lines:
    """Return lines that hold the names of the values, where these are more than numbers."""
    texts = [unquoted(left.text[1:]) for left in lefts]
    names = tuple([None if text.isdecimal() else text for text in texts])
    if not any(names):
        return lines
    known = names[0] if len(names) == 1 and names[0] is not None else names
    return (Location.of_name(known, lines[0] if lines else None), *lines[1:])


def _begins_operand(token: Token) -> bool:
    return token.kind in ("value", "number") or token.text in ("true", "false")


def _nan(bits: str, dtype: DType) -> Any:
    """Return the number of a dtype that has these bits; ValueError when it is not a nan."""
    bytes_ = int(bits, 16).to_bytes(dtype.bytes, "little")
    found = np.frombuffer(bytes_, dtype.numpy.newbyteorder("<")).astype(dtype.numpy)[0]
    if not np.isnan(found):
        raise ValueError(f"{bits} are not the bits of a nan of {dtype}")
    return found


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
        if len(self.open) == _DEEPEST_BODY:
            what = f"{token} stands more than {_DEEPEST_BODY} bodies deep"
            raise self.cursor.failure(what, token, help="functions of a text hold fewer others")
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
            self._enter(values, token, builder.param(len(names), read_type(cursor)))
            names.append(unquoted(token.text[1:]))
        params = tuple(values.values())
        cursor.expect("->")
        returned = cursor.next
        wanted = self._types() if cursor.accept("(") else (read_type(cursor),)
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
        return _location(found) if found else None

    def _types(self) -> Types:
        return tuple(read_type(self.cursor) for _ in self.cursor.sequence(")"))

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
        builder.here = lines = _lines(", ".join(cursor.comments_of_statement()))
        lefts = [cursor.expect_kind("value", "a value such as %0, or return")]
        while cursor.accept(","):
            lefts.append(cursor.expect_kind("value", "a value such as %0"))
        cursor.expect(":")
        first_type = cursor.next
        wanted = [read_type(cursor)]
        while cursor.accept(","):
            wanted.append(read_type(cursor))
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
        builder.note(node, _named(lines, lefts))
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
        with cursor.blaming(first):
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
            with self.cursor.blaming(token):
                return _nan(bits, dtype) if bits else dtype.numpy.type(parse_number(token.text))
        with self.cursor.blaming(token):
            number = parse_number(token.text)
            if not isinstance(number, int):
                raise ValueError(f"expected an integer, found {token}")
            return np.asarray(number, dtype=dtype.numpy)[()]

    def _node(self, op: Op, token: Token, result: Type, values: Mapping[str, Value]) -> Node:
        cursor = self.cursor
        # a number is a token until its type is known
        operands: list[Value | Token] = []
        # what follows an op without operands is the next statement
        while op.operands != 0 and _begins_operand(cursor.next):
            taken = cursor.take()
            operands.append(self._value(values, taken) if taken.kind == "value" else taken)
            if not cursor.accept(","):
                break
        if op.operands is not None and len(operands) != op.operands:
            raise cursor.failure(
                f"{op.name} has {op.operands} operands, not {len(operands)}", token
            )
        attributes = self._attributes(op, token, result)
        resolved = self._resolve(op, operands, result)
        check_attributes(op, attributes)
        return build.active().apply(op, resolved, attributes)

    def _resolve(
        self, op: Op, operands: Sequence[Value | Token], result: Type
    ) -> tuple[Value, ...]:
        """Return the operands with literals made constants of the type the op needs there."""
        named = [operand.type.dtype for operand in operands if isinstance(operand, Value)]
        resolved = []
        for position, operand in enumerate(operands):
            if isinstance(operand, Token):
                dtype = literal_dtype(op, position, result, named)
                if dtype is None:
                    raise self.cursor.failure(
                        f"{op.name} takes no literal here",
                        operand,
                        help="give it a line of its own: %c: f64 = constant 1.0",
                    )
                number = self._number(operand, dtype)
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
                if name.text not in op.attributes + op.options or name.text in derived:
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
        names = (*op.attributes, *(option for option in op.options if option in found))
        return {name: found[name] for name in names}

    def _attribute(self) -> Any:
        cursor = self.cursor
        token = cursor.next
        match token.kind, token.text:
            case "string", _:
                return unquoted(cursor.take().text)
            case "function", _:
                cursor.take()
                return self.function(unquoted(token.text[1:]), token)
            case "name", ("none" | "true" | "false"):
                cursor.take()
                return {"none": None, "true": True, "false": False}[token.text]
            case "mark", "[":
                cursor.take()
                return tuple(self._attribute() for _ in cursor.sequence("]"))
            case "name", text if text in DTYPES:
                type_ = read_type(cursor)
                bracketed = cursor.tokens[cursor.position - 1].text == "]"
                return type_ if bracketed else type_.dtype
            case "number", _ if not re.fullmatch(r"-?\d+", token.text):
                return parse_number(cursor.take().text)
        return read_size(cursor)
