"""A row of the benchmark: a NumPy function, its data, and how other tools write it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Sizes: TypeAlias = Mapping[str, int]
Function: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class Point:
    """A function of one point, and the derivative that is asked for."""

    function: Function
    of: str
    wrt: tuple[int, ...]
    jax: Callable[[Any], Function] | None = None


@dataclass(frozen=True)
class Row:
    """One function and all that is needed to measure it in several tools.

    Parameters
    ----------
    name: how ``--rows`` calls it.
    function: the NumPy function that gradc compiles.
    wrt: by which arguments its derivative is taken; None where the function returns its derivatives
        itself, as a tuple.
    of: what is made of it where there is a ``wrt``: value and gradient, or another request.
    sizes: the sizes it is measured at.
    tiny: sizes at which all tools finish at once, for tests.
    data: from a random generator and sizes to the arguments, f64 and integers.
    flops: the additions, multiplications, divisions and functions, one each, that the value and its
        derivatives take when written by hand.
    by_hand: value and derivatives in NumPy, as a flat tuple: what all tools are checked by.
    dtypes: the dtypes it is measured in.
    numpy: whether ``by_hand`` is short and vectorised, and so a peer.
    jax: from the module ``jax`` to the function; None where the NumPy function's text is JAX's too.
    numba: value and derivatives by hand in loops, as a flat tuple.
    torch: from the module ``torch`` to the function.
    cpp: the name of its C++ in ``peers/cpp``, value and derivatives by hand; none if empty.
    casadi: from the module ``casadi`` to symbols and expressions of the function of one point.
    point: of a row of many points the function of one.
    symbolic: whether the number of points, the first size of all arguments, is not known when the
        row is compiled.
    """

    name: str
    function: Function
    wrt: tuple[int, ...] | None
    sizes: tuple[Sizes, ...]
    tiny: Sizes
    data: Callable[[np.random.Generator, Sizes], tuple[Array, ...]]
    flops: Callable[[Sizes], float]
    by_hand: Function
    dtypes: tuple[str, ...] = ("f64",)
    numpy: bool = False
    jax: Callable[[Any], Function] | None = None
    numba: Function | None = None
    torch: Callable[[Any], Function] | None = None
    of: str = "value_and_grad"
    cpp: str = ""
    casadi: Callable[[Any], tuple[list[Any], list[Any]]] | None = None
    point: Point | None = None
    symbolic: bool = False


@dataclass(frozen=True)
class Case:
    """A row at certain sizes in a dtype, with its arguments and what must come out.

    ``expected`` is computed in f64 from the arguments as they are.
    """

    row: Row
    sizes: Sizes
    dtype: str
    arguments: tuple[Array, ...]
    expected: tuple[Array, ...]

    @property
    def name(self) -> str:
        """The row, its sizes and the dtype."""
        sizes = " ".join(f"{name}={size}" for name, size in self.sizes.items())
        return f"{self.row.name} {sizes} {self.dtype}"

    @property
    def read(self) -> int:
        """The bytes of the arguments."""
        return sum(argument.nbytes for argument in self.arguments)

    @property
    def written(self) -> int:
        """The bytes of the results."""
        return sum(result.size for result in self.expected) * NUMPY_DTYPES[self.dtype].itemsize

    @property
    def flops(self) -> float:
        """The operations that value and derivatives take when written by hand."""
        return self.row.flops(self.sizes)


NUMPY_DTYPES: dict[str, np.dtype[Any]] = {"f64": np.dtype(np.float64), "f32": np.dtype(np.float32)}


def make_case(row: Row, sizes: Sizes, dtype: str) -> Case:
    """Return a case with its data: the same numbers in every run."""
    wide = row.data(np.random.default_rng(7), sizes)
    arguments = tuple(
        np.ascontiguousarray(array, NUMPY_DTYPES[dtype] if array.dtype.kind == "f" else array.dtype)
        for array in wide
    )
    exact = tuple(a.astype(np.float64) if a.dtype.kind == "f" else a for a in arguments)
    expected = tuple(np.asarray(result, np.float64) for result in row.by_hand(*exact))
    return Case(row, sizes, dtype, arguments, expected)


def disagreement(found: Sequence[Any], case: Case) -> str:
    """Return what is wrong with results, flat: shapes, or values; nothing when all is well.

    An array is right when no element is further from the expected one than a tolerance times the
    largest element: 1e-9 in f64, 2e-4 in f32.
    """
    if len(found) != len(case.expected):
        return f"{len(found)} results instead of {len(case.expected)}"
    tolerance = 1e-9 if case.dtype == "f64" else 2e-4
    for position, (one, wanted) in enumerate(zip(found, case.expected, strict=True)):
        array = np.asarray(one, np.float64)
        if array.shape != wanted.shape:
            return f"result {position} has shape {array.shape} instead of {wanted.shape}"
        scale = np.max(np.abs(wanted), initial=0.0)
        error = np.max(np.abs(array - wanted), initial=0.0)
        if not error <= tolerance * scale:
            return f"result {position} is off by {error / (scale or 1.0):.1e}"
    return ""
