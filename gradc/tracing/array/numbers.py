"""What Python asks of a number or a sequence: truth, int(), len(), iteration, text."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gradc.tracing.array.operators import numbers, operate
from gradc.tracing.building.decided import decided
from gradc.tracing.building.needed import need_integers, need_number
from gradc.tracing.building.weak_numbers import as_integer
from gradc.tracing.captured.top import state
from gradc.tracing.checks.texts import Written, mark
from gradc.tracing.core import source
from gradc.tracing.core.signals import NeedsConcreteSize
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import settled
from gradc.tracing.core.table import TABLE, AnyFunction
from gradc.tracing.core.tracer import Tracer, read
from gradc.tracing.indexing import indexing


def _number(self: Tracer, what: str, cure: str, why: str = "") -> Any:
    known = decided(self) if self.type.count == 1 else self.known
    if known is not None and known.size == 1:
        return known.item()
    if known is not None or self.type.count != 1:
        raise trace_error(
            f"{what} of an array of {self.type.count} elements",
            found=f"array: {self.type}",
            help=cure,
        )
    need_number(self, what, of_ints=False)
    raise trace_error(
        f"{what} of a traced value is not known while the function is traced",
        found=filter(None, (f"value: {self.type}", why)),
        help=cure,
    )


def _bool(self: Tracer) -> bool:
    known = self.known
    if known is not None and known.size == 1:
        return bool(known.item())
    several = known is not None or self.type.count != 1
    if not several:
        # in a step that is recorded there are other ways to go on, without a kernel for each int
        trace = running()
        need_number(self, "a truth value", of_ints=trace is trace.root)
    from gradc.tracing.advice.suggest_where import (  # only an error needs it
        instead_of_truth,
        why_it_is_asked,
    )

    where = instead_of_truth(several)
    choose = where or "write np.where(condition, x, y), or gradc.cond(condition, f, g)"
    if several:
        raise trace_error(
            "the truth value of an array of several elements is ambiguous",
            found=f"array: {self.type}",
            help=f"{where}\n    or use np.any(x) or np.all(x)" if where else _ONE_TRUTH,
        )
    raise trace_error(
        "the truth value of a traced value is not known while the function is traced",
        found=filter(None, (f"value: {self.type}", why_it_is_asked())),
        help=f"{choose}{_SEPARATORS[bool(where)]}{_STATIC}",
    )


_ONE_TRUTH = "use np.any(x) or np.all(x)"
_SEPARATORS = ("; ", "\n    ")
_STATIC = "an argument that only steers the function can be static: gradc.compile(static=…)"


def _float(self: Tracer) -> float:
    return float(_number(
        self,
        "float()",
        "leave float() out, or write x.astype(np.float64); for functions of math use those of np",
    ))  # fmt: skip


def _int(self: Tracer) -> int:
    need_integers([self], "int()")
    return int(_number(self, "int()", "write x.astype(np.int64), or np.floor(x) to round down"))


def _index(self: Tracer) -> int:
    if not self.type.dtype.is_integer:
        raise trace_error(
            "a traced value that is not an integer was used as one",
            found=f"value: {self.type}",
            help="cast it where an integer is wanted: x.astype(np.int64)",
        )

    if self.known is None:
        need_number(self, "a Python integer")
    return int(_number(self, "a Python integer", _KNOWN_NUMBERS))


def steps_of_range(bound: Any) -> int:
    """Return a bound of a range as Python's; refuse a traced one: that loop is one of gradc's."""
    if type(bound) is not Tracer or bound.known is not None or not bound.type.dtype.is_integer:
        return operator.index(bound)
    from gradc.tracing.advice.suggest_where import (  # only an error needs it
        instead_of_range,
        why_it_is_asked,
    )

    cure = instead_of_range() or _KNOWN_NUMBERS
    return int(_number(bound, "a Python integer", cure, why_it_is_asked()))


_KNOWN_NUMBERS = (
    "range(), list indices and shapes need known numbers: of an argument that is an array pass "
    "int(n); a loop of a traced number of steps is "
    "gradc.fori_loop, an entry of a list np.stack(parts)[i]; an array that is indexed by a traced "
    "value must be an argument, captured by name, or made with np inside the function"
)


def _length(self: Tracer, of_number: str, what: str) -> int:
    """Return the number of rows, a known one, or raise what it means that there is none."""
    shape = self.type.shape
    if not shape:
        raise trace_error(of_number)
    size = settled(shape[0])
    if size is None:
        raise NeedsConcreteSize(shape[0], what, source.location())
    return size


def _len(self: Tracer) -> int:
    return _length(self, "len() of a number", "len()")


def _iterate(self: Tracer) -> Iterator[Any]:
    return _rows(self, _length(self, "iteration over a number", "iteration over an array"))


def _rows(self: Tracer, size: int) -> Iterator[Any]:
    for i in range(size):
        yield indexing.get(self, i)


def _reversed(self: Tracer) -> Iterator[Any]:
    for i in range(_len(self))[::-1]:
        yield indexing.get(self, i)


def _contains(self: Tracer, item: Any) -> bool:
    return bool(TABLE["any"](operate("equal", self, item)))


def _array(self: Tracer, dtype: Any = None, copy: Any = None) -> Any:
    known = self.known
    if known is not None:
        return np.array(known, dtype=dtype)
    from gradc.tracing.advice.refusals import handed_out  # only an error needs it

    written = source.expression()
    cure = handed_out(written.text) if written else None
    raise trace_error(
        "a traced array was handed to code that needs its numbers",
        found=[f"array: {self.type}", *([cure.why] if cure and cure.why else [])],
        help=cure.help
        if cure
        else "inside a traced function use the functions of np; pass others numbers only",
    )


def _hash(self: Tracer) -> int:
    if self.known is None and self.type.dtype.is_integer:
        need_number(self, "hash()")
    raise trace_error(
        "a traced value was used as a key of a dict or an element of a set",
        found=f"value: {self.type}",
        help="use a list, or keys that are known while tracing",
    )


def _round(self: Tracer, digits: int | None = None) -> Any:
    if digits is not None and self.weak is int:
        return numbers(round, self, digits)
    if self.type.shape or (digits is not None and self.weak is not None):
        raise trace_error(
            "round() of an array" if self.type.shape else "round() of a Python number to digits",
            found=f"value: {self.type}",
            help="write np.round(x, digits)",
        )
    rounded = TABLE["round"](self, 0 if digits is None else digits)
    return as_integer(rounded) if digits is None else rounded


def _divmod(x: Any, y: Any) -> Any:
    return operate("floor_divide", x, y), operate("remainder", x, y)


def _shift(shift: Callable[[int, int], int]) -> Callable[[Tracer, Any], Any]:
    def apply(self: Tracer, other: Any) -> Any:
        if self.weak is int and (not isinstance(other, Tracer) or other.weak is int):
            return numbers(shift, self, other)
        need_integers([self, other], "a shift")
        raise trace_error(
            "the operators << and >> are not supported for traced values",
            help="multiply by 2**n, or divide with // by it",
        )

    return apply


def _floor(name: str) -> Callable[[Tracer], Any]:
    return lambda self: as_integer(TABLE[name](self))


def _format(self: Tracer, spec: str) -> str:
    known = self.known
    if known is None:
        return _marked(self, lambda number: format(number, spec))
    return format(known[()] if known.ndim == 0 else known, spec)


def _repr(self: Tracer) -> str:
    known = self.known
    return f"traced {self.type}" if known is None else repr(known)


def _str(self: Tracer) -> str:
    known = self.known
    return _marked(self, str) if known is None else str(known)


def _marked(self: Tracer, write: Callable[[Any], str]) -> str:
    """Return what stands for an unknown number in a text."""
    need_integers([self], "a text")  # texts of integers are keys, and are compared
    trace = state.top
    if trace is None or trace.adopt is None:
        return f"{self!r} (gradc.debug_print shows numbers)"
    return mark(Written(read(self), trace, self.weak, self.scalar, write))


# Special method -> what answers it; attached to the tracer.
NUMBERS: dict[str, AnyFunction] = {
    "__bool__": _bool,
    "__float__": _float,
    "__int__": _int,
    "__index__": _index,
    "__len__": _len,
    "__iter__": _iterate,
    "__reversed__": _reversed,
    "__contains__": _contains,
    "__array__": _array,
    "__hash__": _hash,
    "__round__": _round,
    "__floor__": _floor("floor"),
    "__ceil__": _floor("ceil"),
    "__trunc__": _floor("trunc"),
    "__divmod__": _divmod,
    "__rdivmod__": lambda self, other: _divmod(other, self),
    "__lshift__": _shift(operator.lshift),
    "__rshift__": _shift(operator.rshift),
    "__rlshift__": _shift(lambda x, y: y << x),
    "__rrshift__": _shift(lambda x, y: y >> x),
    "__format__": _format,
    "__repr__": _repr,
    "__str__": _str,
}
