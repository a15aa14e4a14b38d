"""Dtypes as NumPy 2 promotes them, and shapes as NumPy broadcasts them, symbolic sizes included."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from gradc.arguments.as_array import computes_otherwise
from gradc.tracing.core import source
from gradc.tracing.core.signals import SizesMustMatch
from gradc.tracing.core.source import dtype_error, shape_error, trace_error
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.tracer import Tracer
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, dtype_of
from gradc_ir.errors import DTypeError, GradcError, ShapeError

# What an operand contributes to promotion: a dtype, or the type of a Python number, which is weak.
Kind: TypeAlias = DType | type
_Found = TypeVar("_Found")

_of_type: dict[type, Kind] = {
    float: float,
    int: int,
    bool: DType.BOOL,
    SymbolicSize: int,
    np.float64: DType.F64,
    np.float32: DType.F32,
    np.int64: DType.I64,
    np.int32: DType.I32,
    np.bool_: DType.BOOL,
}


def kind(operand: Any) -> Kind:
    """Return what an operand contributes to promotion.

    Raises TraceError for what is no number and no array, DTypeError for dtypes not supported.
    """
    found = type(operand)
    if found is Tracer:
        weak = operand.weak
        if weak is None:
            dtype: DType = operand._type.dtype
            return dtype
        return DType.BOOL if weak is bool else weak
    known = _of_type.get(found)
    if known is not None:
        return known
    if isinstance(operand, np.ndarray | np.generic):
        refuse_other_meaning(operand)
        return supported(operand.dtype)
    if isinstance(operand, float | int):
        # to NumPy a subclass of a number, such as an IntEnum, is no weak number
        return DType.F64 if isinstance(operand, float) else DType.I64
    if isinstance(operand, complex):
        return supported(np.dtype(complex))
    refuse = getattr(operand, "__gradc_refuse__", None)
    if refuse is not None:
        raise refuse()
    raise trace_error(
        f"{_named(operand)} was given where a number or an array is needed",
        help="pass numbers and arrays; what chooses between computations is a Python argument that "
        "the function does not compute with",
    )


def promoted(operands: Sequence[Any], decide: Callable[[tuple[Kind, ...]], _Found]) -> _Found:
    """Return what is decided for operands of their kinds.

    Where it would be something else for arguments that are given in another form, Python's numbers
    for NumPy's, the trace is told. ``decide`` is called several times.
    """
    decided_later = [x for x in operands if type(x) is Tracer and x.forms]
    if not decided_later:
        return decide(tuple([kind(operand) for operand in operands]))
    found = decide(kinds_as_given(operands))
    # a dtype only grows with those of operands: what is in between is the same as both
    for weak in (True, False):
        try:
            other = decide(tuple([_kind_where(x, weak) for x in operands]))
        except GradcError:
            other = None
        if other != found:
            for operand in decided_later:
                operand.weak  # noqa: B018 - who asks says that it counts
            break
    return found


def kinds_as_given(operands: Sequence[Any]) -> tuple[Kind, ...]:
    """Return the kinds of operands, without a word of whether it counts that some are weak."""
    return tuple([_kind_where(x, None) for x in operands])


def _kind_where(operand: Any, weak: bool | None) -> Kind:
    """Return the kind of an operand where all that may be weak are, are not, or are as given."""
    if type(operand) is not Tracer or not operand.forms:
        return kind(operand)
    given = operand._weak is not None if weak is None else weak
    dtype: DType = operand._type.dtype
    return operand.python_type if given and dtype is not DType.BOOL else dtype


def refuse_other_meaning(operand: Any) -> None:
    """Raise DTypeError for an array that computes in its own way, such as a masked one."""
    found: Any = type(operand)
    if found is np.ndarray or not isinstance(operand, np.ndarray) or not computes_otherwise(found):
        return
    raise dtype_error(
        f"{_named(operand)} computes in its own way, which is not recorded",
        help="write np.asarray(x), or x.filled(…) for a masked array",
    )


def _named(operand: Any) -> str:
    if operand is None:
        return "None"
    name = type(operand).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def supported(dtype: Any) -> DType:
    """Return the dtype of the language, or raise DTypeError at the user's line."""
    try:
        return dtype_of(getattr(dtype, "__gradc_original__", dtype))
    except DTypeError as error:
        raise error.located(source.location()) from None


_resolved: dict[tuple[Any, ...], tuple[tuple[DType, ...], DType]] = {}


def resolve(ufunc: np.ufunc, kinds: tuple[Kind, ...]) -> tuple[tuple[DType, ...], DType]:
    """Return the dtypes a ufunc computes in for operands of these kinds, and that of its result."""
    key = (ufunc, kinds)
    found = _resolved.get(key)
    if found is None:
        given = tuple(k.numpy if isinstance(k, DType) else k for k in kinds)
        if int in kinds and not any(isinstance(k, DType) for k in kinds):
            # NumPy compares Python integers, which have no largest one, as objects
            given = tuple(np.asarray(k(0)).dtype for k in kinds if not isinstance(k, DType))
        outputs = (None,) * ufunc.nout
        try:
            dtypes = ufunc.resolve_dtypes((*given, *outputs))
        except TypeError as error:
            names = " and ".join(str(k) if isinstance(k, DType) else k.__name__ for k in kinds)
            raise dtype_error(f"np.{ufunc.__name__} does not take {names}") from error
        wanted = tuple(supported(dtype) for dtype in dtypes)
        found = _resolved[key] = (wanted[: ufunc.nin], wanted[ufunc.nin])
    return found


def common_dtype_of(operands: Sequence[Any], *more: Kind) -> DType:
    """Return the dtype that np.result_type gives for operands, and for ``more`` kinds."""
    return promoted(operands, lambda kinds: common_dtype((*kinds, *more)))


def common_dtype(kinds: Sequence[Kind]) -> DType:
    """Return the dtype that np.result_type gives for operands of these kinds."""
    given = [k.numpy if isinstance(k, DType) else k(0) for k in kinds]
    return supported(np.result_type(*given))


def broadcast_shapes(
    shapes: Sequence[tuple[Size, ...]], error: Callable[[Size, Size], ShapeError]
) -> tuple[Size, ...]:
    """Return the shape to which all of these broadcast.

    Raises ``error(left, right)`` for two numbers that differ, and SizesMustMatch when they would
    have to be equal and are not known to be.
    """
    rank = max(map(len, shapes), default=0)
    result: list[Size] = [1] * rank
    for shape in shapes:
        offset = rank - len(shape)
        for axis, size in enumerate(shape, offset):
            have = result[axis]
            if size == have or size == 1:
                continue
            if have != 1:
                unify(have, size, lambda have=have, size=size: error(have, size))  # type: ignore[misc]
                size = have
            result[axis] = size
    return tuple(result)


def unify(left: Size, right: Size, error: Callable[[], ShapeError]) -> None:
    """Do nothing for equal sizes, raise the error for unequal ones, else ask to unify them."""
    if left == right:
        return
    if isinstance(left, int) and isinstance(right, int):
        raise error()
    raise SizesMustMatch(left, right, error())


def shape_mismatch(name: str, operands: Sequence[Any], reason: str, cure: str = "") -> ShapeError:
    """Return the error for operands that do not fit, with the text the user wrote for them."""
    written = source.expression()
    texts = written.operands if written and len(written.operands) == len(operands) else None
    types = [typed(operand) for operand in operands]
    names = texts or tuple(f"operand {position + 1}" for position in range(len(operands)))
    return shape_error(
        f"{written.text if written and texts else name}: {reason}",
        found="    ".join(f"{text}: {type_}" for text, type_ in zip(names, types)),
        help=cure.format(*names) or None,
    )


def typed(operand: Any) -> str:
    """Return the type of an operand as text."""
    if isinstance(operand, Tracer):
        return str(operand.type)
    array = np.asarray(operand)
    return f"{array.dtype}{list(array.shape) or ''}".replace(" ", "")
