"""Views: how an array that shares memory with another is read from it and written through to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from gradc.tracing.captured.top import state
from gradc.tracing.core.state import running
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Array


class View:
    """One step from an array to a view of it: three functions that must agree.

    ``known`` is the NumPy view itself, for arrays known while tracing. ``why_fixed`` says, for
    views that cannot be written, why; ``certain`` is False where NumPy may have made a copy,
    depending on strides that are not known, so that neither side may be written while the other is
    used; ``cure`` says what to do about that. ``keeps_contiguous`` says that the view of a
    contiguous array is contiguous, ``follows_known`` that the view of a known array is known.
    """

    why_fixed: str | None = None
    certain = True
    cure = "reshape of an array that is not contiguous sometimes copies; say which: .copy()"
    keeps_contiguous = False
    follows_known = True

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def known(self, base: Array) -> Array:
        """Return the view of a known array."""
        raise AssertionError

    def forward(self, base: Value) -> Value:
        """Return the view's elements."""
        raise AssertionError

    def backward(self, base: Value, part: Value) -> Value:
        """Return the base with the view's elements replaced."""
        raise AssertionError


def _is_block(base: tuple[Size, ...], window: tuple[Size, ...], steps: tuple[int, ...]) -> bool:
    """Whether a window cuts only the first of the axes longer than 1, so that it is one block."""
    first = next((axis for axis, size in enumerate(window) if size != 1), len(window))
    return all(step == 1 for step in steps) and base[first + 1 :] == window[first + 1 :]


class Window(View):
    """A slice; axes of size 1 that an integer picked are dropped, None inserts some."""

    def __init__(
        self,
        base: tuple[Size, ...],
        starts: tuple[Size, ...],
        window: tuple[Size, ...],
        steps: tuple[int, ...],
        shape: tuple[Size, ...],
        key: tuple[Any, ...],
    ) -> None:
        self.starts = starts
        self.window = window
        self.steps = steps
        self.shape = shape
        self.key = key
        self.is_whole = shape == base == window and all(step == 1 for step in steps)
        self.keeps_contiguous = _is_block(base, window, steps)

    def known(self, base: Array) -> Array:
        """Return the view of a known array."""
        return base[(*self.key, ...)]

    def forward(self, base: Value) -> Value:
        """Return the view's elements."""
        return build.reshape(build.slice(base, self.starts, self.window, self.steps), self.shape)

    def backward(self, base: Value, part: Value) -> Value:
        """Return the base with the window replaced."""
        return build.set_slice(base, build.reshape(part, self.window), self.starts, self.steps)


class Element(View):
    """What is at traced integers along some axes: ``A[i]`` or ``A[i, :, j]``."""

    follows_known = False

    def __init__(self, indices: tuple[Value, ...], axes: tuple[int, ...]) -> None:
        self._indices = indices
        self._trace = running()
        self.axes = axes
        self.keeps_contiguous = axes == tuple(range(len(axes)))

    def indices(self) -> tuple[Value, ...]:
        """Return the integers, in the running trace."""
        trace = state.top
        if trace is None or trace is self._trace:
            return self._indices
        return tuple(trace.lift(index, self._trace) for index in self._indices)

    def forward(self, base: Value) -> Value:
        """Return the view's elements."""
        return build.gather(base, self.indices(), self.axes)

    def backward(self, base: Value, part: Value) -> Value:
        """Return the base with those elements replaced."""
        return build.scatter_set(base, part, self.indices(), self.axes)


class Permuted(View):
    """A transposed array."""

    def __init__(self, permutation: tuple[int, ...]) -> None:
        self.permutation = permutation
        self.inverse = tuple(int(axis) for axis in np.argsort(permutation))

    def known(self, base: Array) -> Array:
        """Return the view of a known array."""
        return base.transpose(self.permutation)

    def forward(self, base: Value) -> Value:
        """Return the view's elements."""
        return build.transpose(base, self.permutation)

    def backward(self, base: Value, part: Value) -> Value:
        """Return the base replaced."""
        return build.transpose(part, self.inverse)


class Reshaped(View):
    """An array of another shape in the same memory, or perhaps in a copy (``certain`` False)."""

    def __init__(self, shape: tuple[Size, ...], *, certain: bool) -> None:
        self.shape = shape
        self.certain = certain
        self.keeps_contiguous = certain

    def known(self, base: Array) -> Array:
        """Return the view of a known array."""
        return base.reshape(self.shape)

    def forward(self, base: Value) -> Value:
        """Return the view's elements."""
        return build.reshape(base, self.shape)

    def backward(self, base: Value, part: Value) -> Value:
        """Return the base replaced."""
        return build.reshape(part, base.type.shape)


class Repeated(View):
    """A broadcast array, which NumPy makes read-only."""

    why_fixed = "np.broadcast_to returns a read-only view; copy it first: x.copy()"

    def __init__(self, shape: tuple[Size, ...]) -> None:
        self.shape = shape
        self.follows_known = all(isinstance(size, int) for size in shape)

    def known(self, base: Array) -> Array:
        """Return the view of a known array."""
        return np.broadcast_to(base, self.shape)  # type: ignore[arg-type]

    def forward(self, base: Value) -> Value:
        """Return the view's elements."""
        return build.broadcast_to(base, self.shape)


class Returned(View):
    """What a function returned that is an array it was given, or a part of it.

    In NumPy the two share memory; here the function is a node, so neither may be assigned to.
    """

    certain = False
    cure = (
        "what a function, a branch or a loop gives may be part of another array: copy it, x.copy()"
    )
    follows_known = False

    def __init__(self, value: Value) -> None:
        self.value = value

    def forward(self, base: Value) -> Value:
        """Return what the function returned."""
        return self.value


class Overlapping(View):
    """A known array that may share memory with another in a way that is not followed."""

    certain = False
    cure = "known arrays may share memory: copy one of them, x.copy()"

    def __init__(self, array: Array) -> None:
        self.array = array

    def known(self, base: Array) -> Array:
        """Return the array itself."""
        return self.array
