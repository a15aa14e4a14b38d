"""Values that are all there is to them, numbers, texts and nests of these: equal by their bits."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np

from gradc_ir.core.types import DType, Type


class Unkept(Exception):
    """Something is not known by its content, so that what was made of it is not kept."""


def refuse(why: str) -> None:
    """Raise Unkept where there is a reason, which an empty text is not."""
    if why:
        raise Unkept(why)


_SIMPLE = (int, bool, str, bytes, type(None), type(Ellipsis), type(NotImplemented))


def digest_of(content: Any) -> bytes:
    """Return a hash of plain data."""
    return sha256(repr(content).encode("utf-8", "surrogatepass")).digest()[:16]


def is_plain(value: Any, depth: int = 8) -> bool:
    """Whether a value is numbers and texts, and nests of them, that are all there is to it."""
    kind = type(value)
    if kind in _SIMPLE or kind in (float, complex) or isinstance(value, np.generic):
        return True
    if depth and kind in (tuple, list, set, frozenset):
        return all(is_plain(part, depth - 1) for part in value)
    if depth and kind is dict:
        return all(is_plain(part, depth - 1) for pair in value.items() for part in pair)
    return kind in (slice, range, np.dtype, DType, Type) or isinstance(value, np.dtype)


def plain(value: Any) -> Any:
    """Return the content of a plain value: equal only for the same types and bits."""
    kind = type(value)
    if kind in _SIMPLE:
        return kind.__name__, value
    if kind is float:
        return "float", value.hex()
    if kind is complex:
        return "complex", value.real.hex(), value.imag.hex()
    if isinstance(value, np.generic):
        return value.dtype.str, value.tobytes()
    if kind in (tuple, list):
        return kind.__name__, *map(plain, value)
    if kind in (set, frozenset):
        return kind.__name__, *sorted(map(plain, value), key=repr)
    if kind is dict:
        return "dict", *((plain(key), plain(part)) for key, part in value.items())
    if kind is slice:
        return "slice", plain(value.start), plain(value.stop), plain(value.step)
    if kind is range:
        return "range", value.start, value.stop, value.step
    if isinstance(value, np.dtype):
        return "dtype", repr(value)
    if kind in (DType, Type):
        return "type", str(value)
    raise Unkept(f"a {kind.__name__} is not known by its content")
