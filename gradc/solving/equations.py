"""Equations of a user's, recorded once: a residual as a function of one vector of unknowns and of
all else that it reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.api.transforms import grad
from gradc.arguments import pytree
from gradc.control.bodies import name_of
from gradc.control.leaf_types import leaves_of
from gradc.tracing import inline, subtrace, tracer_of, value_of
from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.core.source import dtype_error, shape_error
from gradc.tracing.core.symbolic_size import as_integer
from gradc.tracing.record.primitives import stop_gradient
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type

# Any number of equations.
ANY = -1


class Unknowns:
    """A nest of numbers and arrays, and the vector of their elements; one number is a number.

    Parameters
    ----------
    title: the function of gradc that is called, for messages.
    start: the nest, traced or not; integers count as float64.
    name: what the nest is called in messages.
    """

    def __init__(self, title: str, start: Any, name: str = "z0") -> None:
        given = leaves_of(start, name, "unknowns are numbers and arrays, in any nest")
        self.structure = given.structure
        self.leaves = [_as_float(leaf) for leaf in given.leaves]
        if not self.leaves:
            raise shape_error(f"{title}: {name} holds no unknowns")
        self.types: list[Type] = [leaf.type for leaf in self.leaves]
        kinds = {type_.dtype for type_ in self.types}
        if len(kinds) > 1:
            raise dtype_error(
                f"{title}: the unknowns have several dtypes",
                found=", ".join(str(type_) for type_ in self.types),
                help="let all be of one dtype: x.astype(np.float64)",
            )
        self.dtype = kinds.pop()

    @property
    def size(self) -> Size:
        """How many numbers are unknown."""
        return _count(self.types)

    @property
    def is_number(self) -> bool:
        """Whether one number is unknown, not an array of one."""
        return len(self.types) == 1 and not self.types[0].shape

    @property
    def vector(self) -> Any:
        """The start, as one vector."""
        return joined(self.leaves)

    def nest(self, vector: Any) -> Any:
        """Return the elements of a vector in the nest."""
        parts = []
        place: Size = 0
        for type_ in self.types:
            if len(self.types) == 1:
                parts.append(vector.reshape(_shape(type_)) if type_.rank > 1 else vector)
                continue
            end = place + sizes.product(type_.shape)
            part = vector[as_integer(place) : as_integer(end)]
            parts.append(part.reshape(_shape(type_)) if type_.shape else part[0])
            place = end
        return pytree.unflatten(self.structure, parts)


def _shape(type_: Type) -> tuple[Any, ...]:
    return tuple(as_integer(size) for size in type_.shape)


def _count(types: Sequence[Type]) -> Size:
    total: Size = 0
    for type_ in types:
        total = total + sizes.product(type_.shape)
    return total


def _as_float(leaf: Any) -> Any:
    found = array(leaf)
    return found if found.type.dtype.is_float else found.astype(DType.F64.numpy)


def joined(leaves: Sequence[Any]) -> Any:
    """Return the elements of tracers as one vector; one number alone stays a number."""
    if len(leaves) == 1:
        (only,) = leaves
        return only if only.type.rank < 2 else numpy.ravel(only)
    return numpy.concatenate([numpy.reshape(leaf, (-1,)) for leaf in leaves])


class Equations:
    """A function of unknowns, recorded; what it captures is an operand like its arguments.

    Parameters
    ----------
    title: the function of gradc that is called, for messages.
    fn: takes the nest of the unknowns, then ``theta``.
    unknowns: in the nest of the first argument.
    theta: the other arguments.
    count: how many numbers ``fn`` has to give: by default as many as there are unknowns, ANY for
        any number of them.

    Attributes
    ----------
    operands: what it reads beside the unknowns: the leaves of ``theta``, then what it captures.
    fixed: the same as constants of differentiation.

    Raises ShapeError when it gives another number of them, DTypeError for what is no float.
    """

    def __init__(
        self,
        title: str,
        fn: Callable[..., Any],
        unknowns: Unknowns,
        theta: Sequence[Any],
        count: Size | None = None,
    ) -> None:
        start = pytree.unflatten(unknowns.structure, unknowns.leaves)
        self.unknowns = unknowns
        sub = subtrace(fn, (start, *theta))
        self.function: Function = sub.function
        known = len(unknowns.leaves)
        self.operands = [tracer_of(value) for value in sub.operands[known:] if value is not None]
        self.fixed = [stop_gradient(operand) for operand in self.operands]
        found = self.function.result_types
        self.count = _count(found)
        self.is_square = count is None
        wanted = unknowns.size if count is None else count
        if count != ANY and self.count != wanted:
            raise shape_error(
                f"{title}: {name_of(fn)} gives {self.count} numbers, {wanted} are wanted",
                found=", ".join(str(type_) for type_ in found),
                help="return an equation for each unknown" if count is None else "return a number",
            )
        if not all(type_.dtype.is_float for type_ in found):
            raise dtype_error(
                f"{title}: {name_of(fn)} gives what is no float",
                found=", ".join(str(type_) for type_ in found),
            )

    def leaves(self, vector: Any, operands: Sequence[Any]) -> Sequence[Any]:
        """Build the function; return the leaves of its results."""
        unknown = pytree.flatten(self.unknowns.nest(vector))[0]
        return inline(self.function, [*map(value_of, unknown), *map(value_of, operands)])

    def __call__(self, vector: Any, *operands: Any) -> Any:
        """Build the function; return its results as a vector.

        Those that are as many as the unknowns are a number where one number is unknown.
        """
        found = joined([array(leaf) for leaf in self.leaves(vector, operands)])
        if found.type.dtype is not self.unknowns.dtype:
            found = found.astype(self.unknowns.dtype.numpy)
        wanted = () if self.is_square and self.unknowns.is_number else (-1,)
        return found if found.ndim == len(wanted) else numpy.reshape(found, wanted)

    def slope(self) -> Equations:
        """Return the derivative by a number that is unknown, as equations of the same operands."""
        return _Slope(self)


class _Slope(Equations):
    """The derivative of a function of a number."""

    def __init__(self, of: Equations) -> None:
        self.__dict__.update(vars(of))
        self._of = of

    def __call__(self, vector: Any, *operands: Any) -> Any:
        """Build the derivative."""
        return grad(lambda x: self._of(x, *operands))(vector)
