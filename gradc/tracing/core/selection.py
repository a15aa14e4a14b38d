"""What a traced mask selects: the whole array and the mask, because no shape says how many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc import on_need
from gradc.tracing.core import source
from gradc.tracing.core.signals import NeedsElements
from gradc.tracing.core.tracer import Tracer, read, weak_number
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.errors import TraceError
from gradc_ir.location import Location


class Selection:
    """``x[mask]`` for a mask that is not known while tracing.

    NumPy's array has the axes of ``full`` with those of the mask, which begin at ``place``,
    replaced by one for the selected elements. What is in ``full`` outside of the mask means
    nothing. ``position`` is the axis whose indices these are when ``np.nonzero(mask)`` made it.

    Operators, methods and attributes that keep to shapes which are known are attached in
    :mod:`gradc.tracing.masked.selected`, when the first selection is made.
    """

    __slots__ = ("cure", "full", "made_at", "mask", "place", "position", "text")
    __hash__ = None  # type: ignore[assignment]
    # what functions and operators do with selections, its members too, is attached on need
    __gradc_call__: Callable[..., Any]
    __gradc_elementwise__: Callable[..., Any]
    is_decided: Callable[..., bool]
    # for NumPy's arrays, as for tracers
    __array_priority__ = 1000.0
    scalar = True

    def __init__(
        self, full: Tracer, mask: Tracer, place: int, *, like: Selection | None = None
    ) -> None:
        on_need.load(on_need.SELECTIONS)
        self.full = full
        self.mask = mask
        self.place = place
        self.position: int | None = None
        self.made_at: Location | None = source.location() if like is None else like.made_at
        if like is None:
            self.text, self.cure = _written(full.type.rank - mask.type.rank - place)
        else:
            self.text, self.cure = like.text, like.cure

    def derived(self, full: Tracer, place: int | None = None) -> Selection:
        """Return a selection by the same mask of another array."""
        return Selection(full, self.mask, self.place if place is None else place, like=self)

    @property
    def ndim(self) -> int:
        """The number of axes of NumPy's array."""
        return self.full.type.rank - self.mask.type.rank + 1

    @property
    def after(self) -> int:
        """The number of axes after that of the selected elements."""
        return self.ndim - 1 - self.place

    @property
    def mask_axes(self) -> tuple[int, ...]:
        """The axes of the whole array that the mask covers."""
        return tuple(range(self.place, self.place + self.mask.type.rank))

    def axis_of(self, axis: int) -> tuple[int, ...]:
        """Return the axes of the whole array that one of NumPy's is."""
        if axis == self.place:
            return self.mask_axes
        return (axis if axis < self.place else axis + self.mask.type.rank - 1,)

    def holds(self, shape: tuple[Size, ...] | None = None) -> Value:
        """Return the mask, along its axes of the whole array, or of another of this shape."""
        wanted = self.full.type.shape if shape is None else shape
        return build.broadcast(read(self.mask), wanted, self.mask_axes)

    def count(self) -> Tracer:
        """Return how many elements of the mask hold, as a Python integer that is traced."""
        mask = read(self.mask)
        numbers = build.cast(mask, DType.I64)
        return weak_number(build.reduce_sum(numbers, range(mask.type.rank)), int)

    def same_mask(self, other: Selection) -> bool:
        """Whether both were selected by the same node of the graph."""
        return read(self.mask) is read(other.mask)

    def joins(self, other: Any) -> int | None:
        """Return the axis whose indices the other holds, if they are those of the same mask."""
        if isinstance(other, Selection) and self.same_mask(other):
            return other.position
        return None

    def refused(self, what: str, cure: str = "", at: Location | None = None) -> TraceError:
        """Return the error for what would need to know how many elements are selected.

        Raises NeedsElements, for the trace to begin again, where captured arrays decide that.
        """
        if self.is_decided():
            raise NeedsElements
        return TraceError(
            f"{self.text} cannot {what}: its shape depends on the values of the mask",
            at=at or source.location(),
            help=cure or self.cure,
        )

    def __gradc_refuse__(self) -> TraceError:
        """Return the error for where a number or an array is needed."""
        written = source.expression()
        return self.refused(f"be a part of {written.text}" if written else "be used here")

    def __repr__(self) -> str:
        return f"traced {self.full.type} under {self.mask.type}"


def _written(after: int) -> tuple[str, str]:
    """Return the text of the selection that is being made, and the cure for what it cannot do."""
    written = source.expression()
    text, operands = written if written and written.operands else ("x[mask]", ("x", "mask"))
    if len(operands) == 1:
        # np.nonzero(mask) and its like
        return text, f"use it as an index, or keep the shape: np.where({operands[0]}, x, 0)"
    array, mask = operands[:2] if text.endswith("]") else operands[1::-1]
    for name in ("np.where", "np.nonzero"):
        mask = mask.removeprefix(name)
    if mask.startswith("(") and "," in mask:
        return text, f"keep the shape: np.where(mask, {array}, 0)"
    if after:
        mask = f"{mask if mask.isidentifier() else f'({mask})'}[:, {', '.join(['None'] * after)}]"
    kept = f"np.where({mask}, {array}, 0)"
    location = source.location()
    line = location.code if location else ""
    return text, f"keep the shape: {line.replace(text, kept) if text in line else kept}"
