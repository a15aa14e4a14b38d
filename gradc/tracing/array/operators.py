"""Python's operators on tracers, with Python numbers weak and assignment in place."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from gradc.tracing.building.elementwise import Elementwise, elementwise, weak_kinds
from gradc.tracing.building.integers import refuse_wide_product
from gradc.tracing.building.needed import need_integers, need_number
from gradc.tracing.building.of_known import call_known
from gradc.tracing.core.as_tracer import as_tracer, contains_unknown, lists_as_tracers, plain_nest
from gradc.tracing.core.promote import kind
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.source import dtype_error, trace_error
from gradc.tracing.core.stand_ins import overrides_for
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.table import TABLE, AnyFunction
from gradc.tracing.core.tracer import (
    Tracer,
    as_weak,
    make,
    read,
    refuse_write,
    touch,
    weak_number,
)
from gradc.tracing.indexing.picking import write_out
from gradc.tracing.numpy.math.ufuncs import RULES
from gradc.tracing.registry.dispatch import wrap_known
from gradc_ir import build
from gradc_ir.core.types import DType
from gradc_ir.ranges.knowledge import is_nonnegative

_RESULT_OF_NUMBERS = {float: DType.F64, int: DType.I64, bool: DType.BOOL}
# Operators that soon leave int64 when Python's integers, which have no largest one, are large.
_GROWING = {"multiply", "power"}
# What is done with the bits of Python's integers needs their numbers.
_OF_BITS: dict[str, Callable[..., Any]] = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "invert": operator.invert,
}
# What an integer repeats.
_SEQUENCES = (list, tuple, str, bytes)
_SIMPLER_POWERS = {0.5: "sqrt", -1: "reciprocal", 1: "positive"}
# Operators that treat Python's True and False as 1 and 0.
_ARITHMETIC = {"add", "subtract", "multiply", "floor_divide", "remainder", "power", "negative"}


def operate(name: str, *operands: Any) -> Any:
    """Do what a Python operator does: a ufunc, but Python numbers among themselves stay weak."""
    running()
    rule = RULES[name]
    if name == "multiply" and any([isinstance(operand, _SEQUENCES) for operand in operands]):
        repeated = _repeated(*operands)
        if repeated is not None:
            return repeated
    if Selection in map(type, operands):
        selection = next(x for x in operands if type(x) is Selection)
        return selection.__gradc_elementwise__(functools.partial(operate, name), operands, {})
    if not any([contains_unknown(operand) for operand in operands]):
        return wrap_known(_of_known(rule, *[plain_nest(operand) for operand in operands]), [])
    override = overrides_for(rule.ufunc)
    if override is not None:
        found = override(*operands)
        weak, forms = weak_kinds(operands)
        own = None if weak is None else python_type(found.type.dtype)
        return as_weak(found, own, forms)
    operands = tuple(lists_as_tracers(operands))
    if name == "power":
        special = _simple_power(*operands)
        if special is not None:
            return special
    kinds, forms = weak_kinds(operands)
    if kinds is None:
        if forms and name in _ARITHMETIC:
            _ask_about_truths(operands)
        if name in _OF_BITS:
            need_integers(operands, f"np.{name}")
        return as_weak(elementwise(rule, operands), None, forms)
    if name == "power" and float not in kinds:
        _ask_about_sign(*operands)
    if name in _OF_BITS and int in kinds:
        return numbers(_OF_BITS[name], *operands)
    if name in _GROWING and float not in kinds and running().root.wide_integers:
        refuse_wide_product(operands, running())
    if bool in kinds and name in _ARITHMETIC:
        _ask_about_truths(operands)
        operands = tuple(_as_int(operand) for operand in operands)
    result = elementwise(rule, operands)
    return as_weak(result, python_type(result.type.dtype), forms)


def _repeated(x: Any, y: Any) -> Any:
    """Return a sequence times an integer, None if they are not these: repeated, as Python does.

    How often has to be a number. What is an array, and no number taken from one, multiplies.
    """
    sequence, count = (x, y) if isinstance(x, _SEQUENCES) else (y, x)
    if isinstance(count, Tracer):
        is_count = count.scalar and not count.type.shape and count.type.dtype.is_integer
        if not (is_count or (count.weak is bool and count.type.dtype is DType.BOOL)):
            return None
    elif not isinstance(count, SymbolicSize):
        return None
    return sequence * operator.index(count)


def python_type(dtype: DType) -> type:
    """Return the Python type of numbers that compute in a dtype."""
    return next(kind for kind, own in _RESULT_OF_NUMBERS.items() if own is dtype)


def _ask_about_truths(operands: Sequence[Any]) -> None:
    """Ask whether truths are Python's: the sum of NumPy's is a truth again."""
    for operand in operands:
        if type(operand) is Tracer and operand.forms and operand.type.dtype is DType.BOOL:
            operand.weak  # noqa: B018 - who asks says that it counts


def numbers(function: Callable[..., Any], *operands: Any) -> Any:
    """Return what a function makes of the numbers that Python integers are, which it asks for."""
    return function(*map(operator.index, operands))


def _ask_about_sign(x: Any, exponent: Any) -> None:
    """Ask which number the exponent of Python integers is, unless the power surely is one again.

    Below 0 it is a float.
    """
    if not isinstance(exponent, Tracer) or (isinstance(x, int) and abs(x) == 1):
        return
    if not is_nonnegative(read(exponent)):
        need_number(exponent, "an integer to a power that may be below 0")
        raise trace_error(
            "an integer to the power of one that may be below 0, where Python makes a float",
            help="write the base as a float, as in 2.0**n",
        )


def _as_int(operand: Any) -> Any:
    if isinstance(operand, Tracer) and operand._weak is bool:
        return weak_number(build.cast(read(operand), DType.I64), int)
    return int(operand) if isinstance(operand, bool) else operand


def _of_known(rule: Elementwise, *operands: Any, **options: Any) -> Any:
    """Return what an operator makes of known operands: powers as :func:`_simple_power` has them."""
    if rule.name == "power" and type(operands[1]) in (int, float):
        simpler = _SIMPLER_POWERS.get(operands[1])
        if simpler is not None and operands[0].dtype.kind == "f":
            return RULES[simpler].ufunc(operands[0], **options)
    return call_known(rule, *operands, **options)


def _simple_power(x: Any, exponent: Any) -> Any:
    """Return x ** exponent for the exponents NumPy's operator computes in a simpler way."""
    if type(exponent) not in (int, float) or not isinstance(x, Tracer):
        return None
    if not x.type.dtype.is_float and type(exponent) is int and exponent < 0 and x.weak is not None:
        # a Python integer to a negative power is a float
        return operate("power", weak_number(build.cast(read(x), DType.F64), float), exponent)
    if exponent == 0.5 and x.weak is not None:
        return None  # Python's power of -inf is no nan
    if x.type.dtype.is_integer and type(exponent) is int and exponent < 0:
        raise dtype_error(
            "integers to negative integer powers are not allowed",
            found=f"x: {x.type}",
            help=f"write x ** {float(exponent)}",
        )
    if not x.type.dtype.is_float:
        return None
    simpler = _SIMPLER_POWERS.get(exponent)
    if simpler is not None:
        found = elementwise(RULES[simpler], (x,))
    elif exponent == 0:
        found = make(running(), build.ones_like(read(x)), contiguous=x.contiguous)
    else:
        return None
    return as_weak(found, x._weak, x.forms)


BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
_COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
_UNARY = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}
# Numbers and arrays; for everything else Python asks the other operand, then raises its own error.
_OPERANDS = (
    Tracer, Selection, SymbolicSize, int, float, complex, np.ndarray, np.generic, list, tuple,
)  # fmt: skip


def _binary(name: str) -> tuple[AnyFunction, AnyFunction, AnyFunction]:
    def forward(self: Tracer, other: Any) -> Any:
        if isinstance(other, _OPERANDS):
            return operate(name, self, other)
        return NotImplemented if _computes_itself(other) else _refuse(other)

    def reflected(self: Tracer, other: Any) -> Any:
        return operate(name, other, self) if isinstance(other, _OPERANDS) else _refuse(other)

    def in_place(self: Tracer, other: Any) -> Any:
        if self.scalar:
            return NotImplemented
        if not isinstance(other, _OPERANDS):
            _refuse(other)
        return _assign_in_place(name, self, other)

    return forward, reflected, in_place


def _computes_itself(other: Any) -> bool:
    """Whether an operand wants no function of NumPy to take it, in NumPy's own words."""
    return getattr(type(other), "__array_ufunc__", _refuse) is None


def _refuse(other: Any) -> NoReturn:
    running()
    kind(other)
    raise AssertionError


def _assign_in_place(name: str, target: Tracer, other: Any) -> Tracer:
    running()
    refuse_write(target)
    known = target.known
    if known is not None and not contains_unknown(other):
        _of_known(RULES[name], known, plain_nest(other), out=known)
        touch(target)
        return target
    result = as_tracer(operate(name, target, other))
    return write_out(name, result, target)


def _compare(name: str) -> AnyFunction:
    def compare(self: Tracer, other: Any) -> Any:
        if isinstance(other, _OPERANDS):
            return operate(name, self, other)
        if name not in ("equal", "not_equal"):
            return _refuse(other)
        if self.scalar or not (other is None or isinstance(other, str)):
            return NotImplemented
        # as NumPy: no element of an array equals a text or None
        return make(running(), build.full(self.type.shape, name == "not_equal", DType.BOOL))

    return compare


def _unary(name: str) -> Callable[[Tracer], Any]:
    return lambda self: operate(name, self)


def _power(self: Tracer, other: Any, modulus: Any = None) -> Any:
    return _raised(self, other) if modulus is None else numbers(pow, self, other, modulus)


_raised = _binary("power")[0]


def _matmul(x: Any, y: Any) -> Any:
    return NotImplemented if _computes_itself(y) else TABLE["matmul"](x, y)


def _imatmul(self: Tracer, other: Any) -> Any:
    running()
    return write_out("matmul", as_tracer(_matmul(self, other)), self)


def _operators() -> dict[str, AnyFunction]:
    found: dict[str, AnyFunction] = {
        "__matmul__": _matmul,
        "__rmatmul__": lambda self, other: _matmul(other, self),
        "__imatmul__": _imatmul,
    }
    for short, name in BINARY.items():
        forward, reflected, in_place = _binary(name)
        found |= {f"__{short}__": forward, f"__r{short}__": reflected, f"__i{short}__": in_place}
    found |= {f"__{short}__": _compare(name) for short, name in _COMPARISONS.items()}
    found["__pow__"] = _power
    return found | {f"__{short}__": _unary(name) for short, name in _UNARY.items()}


# Special method -> what does it; attached to the tracer.
OPERATORS = _operators()
