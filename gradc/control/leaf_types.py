"""What is known of a number or an array that goes round a loop or comes out of a branch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias

import numpy as np

from gradc.arguments import pytree
from gradc.arguments.pytree import Structure
from gradc.tracing import PythonNumber, Tracer, abstract
from gradc.tracing.captured.top import state
from gradc.tracing.core import source
from gradc.tracing.core.as_tracer import as_tracer
from gradc.tracing.core.promote import common_dtype
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.tracer import as_weak, make, read
from gradc_ir import build
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Value
from gradc_ir.core.types import DType, Type

NumberType: TypeAlias = type

_NUMBERS = (bool, int, float)
_PYTHON_TYPES = {DType.BOOL: bool, DType.I64: int, DType.F64: float}
_INT32 = 1 << 31


@dataclass(frozen=True)
class LeafType:
    """A type, and whether it is that of a Python number, whose dtype yields to those of arrays.

    Parameters
    ----------
    type: dtype and shape.
    weak: int, float or bool for a Python number.
    scalar: whether NumPy would have a number, which is not assigned to, not a 0-d array.
    wide: whether a Python integer may be outside of int32.
    forms: the arguments whose forms decide whether it is one; as of a Tracer.
    """

    type: Type
    weak: NumberType | None = None
    scalar: bool = field(default=True, compare=False)
    wide: bool = field(default=False, compare=False)
    forms: frozenset[int] = field(default=frozenset(), compare=False)

    @property
    def leaf(self) -> Type | PythonNumber:
        """What makes a parameter of this type."""
        return self.type if self.weak is None else PythonNumber(self.type.dtype, self.wide)

    def as_form(self, weak: bool) -> LeafType:
        """Return the type where arguments that decide it are Python's numbers, or are not."""
        if not self.forms:
            return self
        return replace(self, weak=_PYTHON_TYPES[self.type.dtype] if weak else None)

    def __str__(self) -> str:
        return str(self.type) if self.weak is None else f"a Python {self.weak.__name__}"


def is_number_or_array(leaf: Any) -> bool:
    """Whether something is a number or an array, traced or not."""
    return isinstance(leaf, Tracer | SymbolicSize | np.ndarray | np.generic | int | float)


def leaf_type_of(leaf: Any) -> LeafType:
    """Return the type of a number or an array, traced or not.

    Raises DTypeError for a dtype that is not supported.
    """
    if isinstance(leaf, SymbolicSize):
        return LeafType(Type(DType.I64), int)
    if isinstance(leaf, Tracer):
        wide = state.top is not None and leaf._value in state.top.root.wide_integers
        return LeafType(leaf.type, leaf._weak, leaf.scalar, wide, leaf.forms)
    found = abstract(leaf)
    if isinstance(found, PythonNumber):
        wide = type(leaf) is int and not -_INT32 <= leaf < _INT32
        return LeafType(found.type, found.kind, wide=wide)
    assert isinstance(found, Type)
    return LeafType(found, None, not isinstance(leaf, np.ndarray))


def joined(left: LeafType, right: LeafType) -> LeafType | None:
    """Return the type that both can be cast to because a Python number yields; None without one.

    Shapes are not compared; that of ``left`` is kept.
    """
    found = _joined(left, right)
    forms = left.forms | right.forms
    if forms and state.top is not None:
        others = [_joined(left.as_form(weak), right.as_form(weak)) for weak in (True, False)]
        if any(_dtype_of(other) is not _dtype_of(found) for other in others):
            state.top.root.deciding |= forms
    kept = found is not None and found.type.dtype in _PYTHON_TYPES
    return replace(found, forms=forms) if found is not None and kept else found


def _dtype_of(joined: LeafType | None) -> DType | None:
    return None if joined is None else joined.type.dtype


def _joined(left: LeafType, right: LeafType) -> LeafType | None:
    if left.weak is None and right.weak is None:
        return left if left.type.dtype is right.type.dtype else None
    if left.weak is not None and right.weak is not None:
        weak = max(left.weak, right.weak, key=_NUMBERS.index)
        return LeafType(
            left.type.with_dtype(common_dtype([weak])), weak, wide=left.wide or right.wide
        )
    contributed = [one.weak if one.weak is not None else one.type.dtype for one in (left, right)]
    dtype = common_dtype([DType.BOOL if one is bool else one for one in contributed])
    return LeafType(left.type.with_dtype(dtype), None, left.scalar and right.scalar)


@dataclass(frozen=True)
class Leaves:
    """The leaves of a nest, the structure to put them together again, and the name of the nest."""

    leaves: tuple[Any, ...]
    structure: Structure
    root: str = ""

    @property
    def nest(self) -> Any:
        """The nest."""
        return pytree.unflatten(self.structure, self.leaves)

    @property
    def paths(self) -> list[str]:
        """How each leaf is reached."""
        return pytree.paths(self.nest, self.root)

    @property
    def leaf_types(self) -> tuple[LeafType, ...]:
        """The types of the leaves."""
        return tuple(map(leaf_type_of, self.leaves))


def leaves_of(given: Any, root: str, cure: str = "") -> Leaves:
    """Return the leaves of a nest.

    Raises TraceError for a leaf that is no number and no array, with the cure as its help.
    """
    leaves, structure = pytree.flatten(given)
    for position, leaf in enumerate(leaves):
        if isinstance(leaf, Selection):
            raise leaf.refused("be carried or returned here", at=source.location())
        if not is_number_or_array(leaf):
            path = pytree.paths(given, root)[position]
            raise trace_error(
                f"{path} is a {type(leaf).__name__}, not a number or an array",
                found=f"{path} = {leaf!r:.60}",
                help=cure or "return numbers and arrays, in any nest of dict, list and tuple",
            )
    if state.top is not None:
        structure = pytree.normal(structure)  # of the classes that traced code sees
    return Leaves(tuple(leaves), structure, root)


def values_of(leaves: Sequence[Any]) -> list[Value]:
    """Return numbers and arrays as values of the running trace."""
    running()
    return [read(as_tracer(leaf)) for leaf in leaves]


def cast_values(values: Sequence[Value], leaf_types: Sequence[LeafType]) -> list[Value]:
    """Return values in the dtypes of these types; a constant as another one."""
    found = []
    for value, leaf_type in zip(values, leaf_types, strict=True):
        dtype = leaf_type.type.dtype
        if value.op.name == "constant" and value.type.dtype is not dtype:
            array = value.node.attributes["value"].array
            found.append(build.constant(array.astype(dtype.numpy)))
        else:
            found.append(build.cast(value, dtype))
    return found


def tracers_of(values: Sequence[Value], leaf_types: Sequence[LeafType]) -> list[Tracer]:
    """Return tracers of values of the running trace that are of these types."""
    trace = running()
    found = []
    for value, leaf_type in zip(values, leaf_types, strict=True):
        tracer = make(trace, value)
        as_weak(tracer, leaf_type.weak, leaf_type.forms)
        tracer.scalar = leaf_type.scalar and not value.type.shape
        if leaf_type.wide:
            trace.root.wide_integers.add(value)
        found.append(tracer)
    return found


def owned(leaf: Any) -> Any:
    """Return a copy, contiguous, of an array; a number as it is."""
    if isinstance(leaf, Tracer):
        return leaf if leaf.scalar else make(running(), read(leaf))
    return np.array(leaf, order="C") if isinstance(leaf, np.ndarray) else leaf


def converted(leaf: Any, leaf_type: LeafType) -> Any:
    """Return a number or an array of NumPy in the dtype of a type."""
    have = leaf_type_of(leaf)
    if have == leaf_type:
        return leaf
    if leaf_type.weak is not None:
        return leaf_type.weak(leaf)
    if isinstance(leaf, np.ndarray):
        return leaf.astype(leaf_type.type.dtype.numpy)
    return leaf_type.type.dtype.numpy.type(leaf)
