"""What attributes of ops may hold, by their names: the same name means the same in every op."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.constant import Constant
from gradc_ir.core.foreign import Symbol
from gradc_ir.core.graph import Function
from gradc_ir.core.op import Attributes, Op
from gradc_ir.core.sizes import Expr, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import VerifyError


class Kind(NamedTuple):
    """What one attribute may hold: in words, and as a question."""

    words: str
    holds: Callable[[Any], bool]


def _of(words: str, *types: type) -> Kind:
    return Kind(words, lambda item: type(item) in types)


def _or_none(kind: Kind) -> Kind:
    return Kind(f"{kind.words} or none", lambda item: item is None or kind.holds(item))


def _each(words: str, kind: Kind) -> Kind:
    return Kind(words, lambda item: type(item) is tuple and all(map(kind.holds, item)))


_INTEGER = _of("an integer", int)
_COUNT = Kind("a number of things", lambda item: type(item) is int and item >= 0)
_FLAG = _of("true or false", bool)
_SIZE = _of("a size", int, Expr)
_TEXT = _of("a text", str)
_BODY = Kind("a function", lambda item: isinstance(item, Function))
_DTYPE = _of("a dtype", DType)
_INTEGERS = _each("a list of integers", _INTEGER)
_SIZES = _each("a list of sizes", _SIZE)

KINDS: dict[str, Kind] = {
    "at": _each("a list of integers and none", _or_none(_COUNT)),
    "axes": _INTEGERS,
    "axis": _INTEGER,
    "body": _BODY,
    "body_consts": _COUNT,
    "carries": _COUNT,
    "checkpoint": _or_none(_SIZE),
    "condition": _BODY,
    "condition_consts": _COUNT,
    "constants": _each("a list of texts", _TEXT),
    "consts": _COUNT,
    "counted": _FLAG,
    "dtype": _DTYPE,
    "dtypes": _each("a list of dtypes", _DTYPE),
    "guarded": _each("a list of numbers", _COUNT),
    "guards": _COUNT,
    "index": _COUNT,
    "infinity_wins": _FLAG,
    "jvp": _or_none(_BODY),
    "kernel": _FLAG,
    "length": _or_none(_SIZE),
    "lower": _FLAG,
    "name": _TEXT,
    "numbers": _each("a list of true and false", _FLAG),
    "otherwise": _BODY,
    "permutation": _INTEGERS,
    "result": _COUNT,
    "reverse": _FLAG,
    "shape": _SIZES,
    "shapes": _each("a list of lists of sizes", _SIZES),
    "size": _SIZE,
    "sizes": _or_none(_SIZES),
    "spec": _TEXT,
    "starts": _SIZES,
    "steps": _SIZES,
    "symbol": _of("a text", str, Symbol),
    "then": _BODY,
    "transposed": _FLAG,
    "type": _of("a type", Type),
    "unit": _FLAG,
    "value": _of("a constant", Constant),
    "vjp": _or_none(_BODY),
    "witnesses": _COUNT,
}

_SYMBOL = symbol("n")
# Those that hold sizes: numbers in a kernel of static sizes, expressions in one of symbolic ones.
SIZED = frozenset(
    name
    for name, kind in KINDS.items()
    if any(map(kind.holds, [_SYMBOL, (_SYMBOL,), ((_SYMBOL,),)]))
)


def check_attributes(op: Op, attributes: Attributes) -> None:
    """Raise VerifyError for an attribute that holds what it may not."""
    for name, item in attributes.items():
        kind = KINDS.get(name)  # codegen's own ops have others
        if kind is not None and not kind.holds(item):
            raise VerifyError(f"{op.name}: {name} is {kind.words}, not {_words(item)}")


def _words(item: object) -> str:
    if isinstance(item, Function):
        return f"the function {item.name}"
    return repr(item) if isinstance(item, str) else str(item)
