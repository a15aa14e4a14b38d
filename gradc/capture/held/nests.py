"""Values of Python's taken apart into numbers and arrays, and put together again with others.

Beside the nests that functions take and return, objects of the user's classes are nests of their
attributes here: a variable of a loop may be anything.
"""

from __future__ import annotations

import collections
import types
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from gradc.capture.held.uniform import NotUniform
from gradc.tracing import Tracer
from gradc.tracing.core.as_tracer import stacked
from gradc.tracing.core.rows import rows_of, whole
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.lens.captured_containers import is_user_class
from gradc_ir.classes.quick import dataclass

_NUMBERS = (Tracer, float, int, bool, np.ndarray, SymbolicSize)
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
_MOST_DEEP = 32


@dataclass(frozen=True)
class Nest:
    """A value without its leaves: equal for values that differ in numbers and arrays only.

    Parameters
    ----------
    kind: ``"leaf"``, ``"fixed"``, ``"rows"`` for a list or tuple of all the numbers in one array,
        which is the leaf, or what contains the parts.
    what: of a fixed value itself; else what a container is made with.
    parts: the nests in it.
    """

    kind: str
    what: Any = None
    parts: tuple[Nest, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Nest) or self.kind != other.kind:
            return False
        return same_thing(self.what, other.what) and self.parts == other.parts

    __hash__ = None  # type: ignore[assignment]

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return 1 if self.kind in ("leaf", "rows") else sum(part.leaves for part in self.parts)

    @property
    def is_plain(self) -> bool:
        """Whether nothing in it can be changed: numbers, arrays, and tuples of these."""
        if self.kind not in ("leaf", "fixed", "tuple", "named tuple"):
            return False
        return all(part.is_plain for part in self.parts)

    def __str__(self) -> str:
        """What a user calls a value of this kind."""
        if self.kind == "leaf":
            return "a number or an array"
        if self.kind == "rows":
            return f"a {self.what[0].__name__}"
        if self.kind == "fixed":
            return "None" if self.what is None else f"a {self.what.__class__.__name__}"
        return f"a {self.kind}" if self.kind != "object" else f"a {self.what[0].__name__}"


LEAF = Nest("leaf")


def told_apart(one: Nest, other: Nest) -> tuple[str, str]:
    """Return what a user calls two unequal nests, so that it shows what is unequal."""
    first, second = str(one), str(other)
    if first != second:
        return first, second
    if one.kind == "fixed":
        return _short(one.what), _short(other.what)
    if len(one.parts) != len(other.parts):
        return f"{first} of {len(one.parts)}", f"{second} of {len(other.parts)}"
    for part, counterpart in zip(one.parts, other.parts):
        if part != counterpart:
            inner = told_apart(part, counterpart)
            return f"{first} with {inner[0]}", f"{second} with {inner[1]}"
    return f"{first} made with {_short(one.what)}", f"{second} made with {_short(other.what)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


_LONGEST = 40


def same_thing(left: Any, right: Any) -> bool:
    """Whether two values that are no numbers are the same to a program."""
    if left is right:
        return True
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same_thing, left, right))
    return isinstance(left, str | bytes | int | slice | range | np.dtype) and left == right


def is_number(value: Any) -> bool:
    """Whether a value is a number or an array, traced or not."""
    return type(value) in _NUMBERS or isinstance(value, np.generic)


def take_apart(value: Any) -> tuple[Nest, list[Any]]:
    """Return the nest of a value, and its leaves in order.

    Raises NotUniform for one that holds itself.
    """
    leaves: list[Any] = []
    return _nest(value, leaves, 0), leaves


def _nest(value: Any, leaves: list[Any], depth: int) -> Nest:
    if is_number(value):
        leaves.append(value)
        return LEAF
    kind: Any = type(value)
    if depth > _MOST_DEEP:
        raise NotUniform(f"a {kind.__name__} is in itself, or holds very much in each other")
    if kind is list or kind is tuple:
        return Nest(kind.__name__, None, _nests(value, leaves, depth))
    if kind in _DICTS:
        keys = (kind, *value)
        return Nest("dict", keys, _nests(value.values(), leaves, depth))
    if kind is collections.deque:
        return Nest("deque", value.maxlen, _nests(value, leaves, depth))
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        return Nest("named tuple", kind, _nests(value, leaves, depth))
    if has_attributes(value):
        found = attributes(value)
        return Nest("object", (kind, *found), _nests(found.values(), leaves, depth))
    if hasattr(kind, "__gradc_stands_in__"):
        raise NotUniform(f"it gives {value.path} another name")
    return Nest("fixed", value)


def take_together(value: Any, *, stacks: bool = False) -> tuple[Nest, list[Any]]:
    """Return the nest of a value, and its leaves: numbers that are in one array as that array.

    With ``stacks`` many like numbers of a list or tuple are put into an array.

    Raises NotUniform for one that holds itself.
    """
    nest, leaves = take_apart(value)
    return _together(value, nest, leaves, stacks)


def _together(value: Any, nest: Nest, leaves: list[Any], stacks: bool) -> tuple[Nest, list[Any]]:
    if nest.kind not in ("list", "tuple"):
        return nest, leaves
    if leaves and all(part.kind == "leaf" for part in nest.parts):
        stack = _in_one_array(value, stacks)
        if stack is None:
            return nest, leaves
        return Nest("rows", (type(value), len(value), leaves[0].weak)), [stack]
    parts: list[Nest] = []
    found: list[Any] = []
    rest = iter(leaves)
    for part, inner in zip(value, nest.parts):
        made, own = _together(part, inner, [next(rest) for _ in range(inner.leaves)], stacks)
        parts.append(made)
        found += own
    return Nest(nest.kind, nest.what, tuple(parts)), found


def _in_one_array(numbers: Sequence[Any], stacks: bool) -> Tracer | None:
    """Return the array that holds traced numbers, or is to; None for what is no such numbers."""
    first = numbers[0]
    if type(first) is not Tracer or not first.scalar:
        return None
    found = whole(numbers)
    if found is not numbers:
        return found  # type: ignore[no-any-return]
    if not stacks or len(numbers) < _MANY:
        return None
    for each in numbers:
        is_like = type(each) is Tracer and each.scalar and each.weak is first.weak
        if not is_like or each.type != first.type:
            return None
    return stacked(numbers)


# So many numbers are one thing to hand on, rather than one each.
_MANY = 8


def _nests(values: Any, leaves: list[Any], depth: int) -> tuple[Nest, ...]:
    return tuple([_nest(value, leaves, depth + 1) for value in values])


def changeable(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield the lists, dicts and objects in a value whose parts can be others later."""
    kind: Any = type(value)
    if is_number(value) or depth > _MOST_DEEP:
        return
    parts: Any = ()
    if kind is list or kind is collections.deque:
        yield value
        parts = value
    elif kind in _DICTS:
        yield value
        parts = value.values()
    elif isinstance(value, tuple):
        parts = value
    elif has_attributes(value):
        yield value
        parts = attributes(value).values()
    for part in parts:
        yield from changeable(part, depth + 1)


def put_together(nest: Nest, leaves: Iterator[Any]) -> Any:
    """Return a value of a nest, with the next leaves; containers are new ones."""
    if nest.kind == "leaf":
        return next(leaves)
    if nest.kind == "fixed":
        return nest.what
    if nest.kind == "rows":
        kind, count, weak = nest.what
        return kind(rows_of(next(leaves), count, weak, True))
    parts = [put_together(part, leaves) for part in nest.parts]
    match nest.kind:
        case "list":
            return parts
        case "tuple":
            return tuple(parts)
        case "dict":
            kind, *keys = nest.what
            made = collections.defaultdict(None) if kind is collections.defaultdict else kind()
            made.update(zip(keys, parts))
            return made
        case "deque":
            return collections.deque(parts, nest.what)
        case "named tuple":
            return nest.what._make(parts)
    kind, *names = nest.what
    made = kind.__new__(kind) if kind is types.SimpleNamespace else object.__new__(kind)
    set_attributes(made, dict(zip(names, parts)))
    return made


def rebuilt(nest: Nest, leaves: Sequence[Any]) -> Any:
    """Return a value of a nest with these leaves."""
    return put_together(nest, iter(leaves))


# -- objects ---------------------------------------------------------------------------------------


def has_attributes(value: Any) -> bool:
    """Whether a value is an object of the user's whose attributes are data."""
    kind: Any = type(value)
    if kind is types.SimpleNamespace or "__gradc_kind__" in vars(kind):
        return not isinstance(value, type)
    return not isinstance(value, type) and is_user_class(kind)


def attributes(value: Any) -> dict[str, Any]:
    """Return the attributes an object has itself, as they are: nothing is captured by this."""
    try:
        found = dict(object.__getattribute__(value, "__dict__"))
    except AttributeError:
        found = {}
    for name in _slots(type(value)):
        try:
            found[name] = object.__getattribute__(value, name)
        except AttributeError:
            continue
    return found


def set_attributes(value: Any, new: dict[str, Any]) -> None:
    """Give an object these attributes and no others."""
    slots = _slots(type(value))
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    own.clear()
    own.update({name: part for name, part in new.items() if name not in slots})
    for name in slots:
        if name in new:
            object.__setattr__(value, name, new[name])
        else:
            try:
                object.__delattr__(value, name)
            except AttributeError:
                continue


def _slots(kind: type) -> tuple[str, ...]:
    member = types.MemberDescriptorType
    return tuple(
        name
        for base in kind.__mro__
        for name, part in vars(base).items()
        # the attributes of a SimpleNamespace are behind such a member
        if type(part) is member and name != "__dict__"
    )
