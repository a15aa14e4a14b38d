"""A sparse matrix in traced code: its elements as traced numbers, each with a row and a column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from gradc.scipy.sparse.products import added, picked, product
from gradc.scipy.sparse.structure import Structure
from gradc.tracing.building.by_name import array, numpy
from gradc.tracing.core.source import shape_error, trace_error
from gradc_ir.errors import TraceError

# functions of elements that are zero at zero
_OF_ELEMENTS = {
    "sqrt", "sin", "tan", "arcsin", "arctan", "sinh", "tanh", "arcsinh", "arctanh", "expm1",
    "log1p", "rint", "sign", "floor", "ceil", "trunc", "deg2rad", "rad2deg",
}  # fmt: skip
_TURNED = {"csr": "csc", "csc": "csr"}
_HAS = "@, dot, T, +, -, * and / with numbers, multiply, abs, power, sum, diagonal, trace, toarray"


class SparseMatrix:
    """Stands for a sparse matrix of SciPy.

    Parameters
    ----------
    name: how the program reaches it.
    is_array: whether it is one of SciPy's sparse arrays, whose ``*`` is by elements.
    format: SciPy's word.
    data: the traced numbers.
    structure: where they are.
    is_stored: whether this is how a matrix of this format stores them.
    outside: returns what stands for it if it is one outside of the function, and answers all other
        questions, which are read anew by each call; None for one that the function has made.
    """

    _fields: ClassVar = (
        "name", "is_array", "format", "elements", "structure", "is_stored", "outside",
    )  # fmt: skip
    # for NumPy's arrays and for tracers, which leave their operators to those of this class
    __array_priority__: ClassVar = 1000.0
    __array_ufunc__: ClassVar = None
    __hash__ = None  # type: ignore[assignment]
    ndim: ClassVar = 2

    def __init__(
        self,
        name: str,
        is_array: bool,
        format: str,
        elements: Any,
        structure: Structure,
        is_stored: bool = True,
        outside: Callable[[], Any] | None = None,
    ) -> None:
        self.name = name
        self.is_array = is_array
        self.format = format
        self.elements = elements
        self.structure = structure
        self.is_stored = is_stored
        self.outside = outside

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class of SciPy, which isinstance asks for."""
        return getattr(scipy.sparse, f"{self.format}_{'array' if self.is_array else 'matrix'}")

    @property
    def __gradc_unknown__(self) -> bool:
        """Whether a value of the trace is in it."""
        parts = (self.elements, self.structure.rows, self.structure.columns)
        return any(part.known is None for part in parts)

    @property
    def __gradc_original__(self) -> Any:
        """SciPy's matrix, if all of it is known."""
        if self.__gradc_unknown__:
            raise AttributeError("__gradc_original__")
        places = self.structure.rows.known, self.structure.columns.known
        whole: Any = scipy.sparse.coo_array if self.is_array else scipy.sparse.coo_matrix
        return whole((self.elements.known, places), self.shape).asformat(self.format)

    def __repr__(self) -> str:
        return f"<{self.name}, a sparse matrix of shape {self.shape}>"

    def __gradc_refuse__(self) -> TraceError:
        """Return the error for where an array is needed."""
        return trace_error(
            f"{self.name} is a sparse matrix, and stands where an array is needed",
            found=f"in a traced function sparse matrices have {_HAS}",
            help="write the method, A.sum() for np.sum(A), or A.toarray() for a dense one",
        )

    # -- what it is --------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, int]:
        """Its shape."""
        return self.structure.shape

    @property
    def dtype(self) -> Any:
        """The dtype of its elements."""
        return self.elements.dtype

    @property
    def nnz(self) -> Any:
        """How many elements are stored."""
        if self.outside is not None:
            return self.outside().nnz
        return (self.elements if self.is_stored else self._distinct("nnz")).shape[0]

    size = nnz

    @property
    def data(self) -> Any:
        """The elements."""
        self._check_stored("data")
        return self.elements

    @property
    def indices(self) -> Any:
        """The columns of compressed rows, the rows of compressed columns."""
        self._check_stored("indices", *_TURNED)
        return self.structure.columns if self.format == "csr" else self.structure.rows

    @property
    def indptr(self) -> Any:
        """Where each row, or column, begins."""
        self._check_stored("indptr", *_TURNED)
        starts = self.structure.starts
        return self.__getattr__("indptr") if starts is None else starts

    @property
    def row(self) -> Any:
        """The row of each element."""
        self._check_stored("row", "coo")
        return self.structure.rows

    @property
    def col(self) -> Any:
        """The column of each element."""
        self._check_stored("col", "coo")
        return self.structure.columns

    @property
    def coords(self) -> tuple[Any, Any]:
        """Rows and columns."""
        return self.row, self.col

    def _check_stored(self, name: str, *formats: str) -> None:
        if formats and self.format not in formats:
            raise AttributeError(f"{self.name} in the format {self.format} has no {name}")
        if not self.is_stored:
            raise trace_error(
                f"{self.name}.{name}: the order of elements in the format {self.format} is not "
                "known here",
                help="change the format outside of the function, where the matrix is made",
            )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in _OF_ELEMENTS:
            return lambda: self._of_elements(name)
        if self.outside is not None:
            return getattr(self.outside(), name)
        raise self._unsupported(name)

    def _unsupported(self, what: str) -> TraceError:
        return trace_error(
            f"{self.name}: {what} is not supported for sparse matrices in traced functions",
            found=f"there they have {_HAS}",
            help="compute it outside of the function, or make a dense array: A.toarray()",
        )

    def __getitem__(self, key: Any) -> Any:
        """Return a part of a matrix that is outside of the function."""
        if self.outside is None:
            raise self._unsupported("a part")
        return self.outside()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        raise self._unsupported("assignment into parts")

    def __iter__(self) -> Any:
        raise self._unsupported("iteration over rows")

    def __bool__(self) -> bool:
        raise self._unsupported("the truth value")

    # -- the same elements elsewhere ---------------------------------------------------------------

    @property
    def T(self) -> SparseMatrix:
        """The transposed matrix."""
        outside = self.outside
        return self._like(
            name=f"{self.name}.T",
            format=_TURNED.get(self.format, self.format),
            structure=self.structure.transposed,
            is_stored=self.is_stored and self.format in (*_TURNED, "coo"),
            outside=None if outside is None else lambda: outside().T,
        )

    def transpose(self, axes: Any = None, copy: bool = False) -> SparseMatrix:
        """Return the transposed matrix."""
        if axes is not None:
            raise self._unsupported("transpose with axes")
        return self.T

    def asformat(self, format: str | None, copy: bool = False) -> SparseMatrix:
        """Return it in another format, which in traced code is a word alone."""
        if format is None or format == self.format:
            return self
        kept = format == "coo" and self.is_stored and self.format in _TURNED
        return self._like(format=format, is_stored=kept, outside=None)

    def tocsr(self, copy: bool = False) -> SparseMatrix:
        """Return it in compressed rows."""
        return self.asformat("csr")

    def tocsc(self, copy: bool = False) -> SparseMatrix:
        """Return it in compressed columns."""
        return self.asformat("csc")

    def tocoo(self, copy: bool = False) -> SparseMatrix:
        """Return it by coordinates."""
        return self.asformat("coo")

    def copy(self) -> SparseMatrix:
        """Return it: none is changed."""
        return self

    def _like(self, **changes: Any) -> SparseMatrix:
        """Return it with some fields changed."""
        kept = {name: getattr(self, name) for name in SparseMatrix._fields}
        return SparseMatrix(**(kept | changes))

    def _with(self, data: Any) -> SparseMatrix:
        """Return a matrix with other elements at the same places."""
        return self._like(elements=array(data), outside=None)

    # -- products ----------------------------------------------------------------------------------

    def __matmul__(self, other: Any) -> Any:
        if _is_sparse(other):
            raise self._unsupported("a product with a sparse matrix")
        if np.ndim(other) == 0:
            raise ValueError("Scalar operands are not allowed, use '*' instead")
        parts = self.elements, self.structure.rows, self.structure.columns
        return product(self.name, self.shape, *parts, other)

    def __rmatmul__(self, other: Any) -> Any:
        left = array(other)
        if left.ndim == 1:
            return self.T @ left
        return (self.T @ left.T).T

    def dot(self, other: Any) -> Any:
        """Return the product with a vector, a matrix or a number."""
        return self * other if not _is_sparse(other) and np.ndim(other) == 0 else self @ other

    def __mul__(self, other: Any) -> Any:
        if not self.is_array and (_is_sparse(other) or np.ndim(other)):
            return self @ other
        return self.multiply(other)

    def __rmul__(self, other: Any) -> Any:
        if not self.is_array and np.ndim(other):
            return other @ self
        return self.multiply(other)

    def __truediv__(self, other: Any) -> Any:
        if _is_sparse(other) or np.ndim(other):
            raise self._unsupported("a quotient by elements")
        return self._with(self.elements / other)

    def multiply(self, other: Any) -> SparseMatrix:
        """Return the product by elements with a number, an array or a matrix of its structure."""
        if type(other) is SparseMatrix:
            if other.structure is not self.structure or not self.structure.is_distinct():
                raise self._unsupported("a product by elements with a matrix of another structure")
            return self._with(self.elements * other.elements)
        if _is_sparse(other):
            raise self._unsupported("a product by elements with a matrix of another structure")
        factor = array(other)
        if factor.ndim == 0:
            return self._with(self.elements * other)
        if factor.ndim > 2:
            raise shape_error(f"{self.name} is multiplied with an array of {factor.ndim} axes")
        places = self.structure.rows, self.structure.columns
        own: list[Any] = []
        for size, length, place in zip(
            reversed(factor.shape), reversed(self.shape), reversed(places), strict=False
        ):
            if size != 1 and size != length:
                raise shape_error(
                    f"{self.name} of shape {self.shape} is multiplied by elements with "
                    f"{factor.type}",
                )
            own.insert(0, place if size != 1 else numpy.zeros_like(place))
        return self._with(self.elements * picked(factor, *own))

    # -- elements ----------------------------------------------------------------------------------

    def _of_elements(self, name: str) -> SparseMatrix:
        """Return a function of the elements that is zero at zero."""
        return self._with(getattr(numpy, name)(self._distinct(name)))

    def _distinct(self, what: str) -> Any:
        """Return the elements, of which no two are at the same place."""
        if not self.structure.is_distinct():
            raise trace_error(
                f"{what} of {self.name}: several of its elements may be at the same place",
                help="take it before matrices are added, or of a matrix made outside of the "
                "function after sum_duplicates()",
            )
        return self.elements

    def __abs__(self) -> SparseMatrix:
        return self._of_elements("absolute")

    def __neg__(self) -> SparseMatrix:
        return self._with(-self.elements)

    def power(self, n: Any, dtype: Any = None) -> SparseMatrix:
        """Return powers of the elements, for positive numbers n."""
        if dtype is not None or not isinstance(n, int | float) or not n > 0:
            raise self._unsupported(f"power with n={n!r:.40}")
        return self._with(self._distinct("power") ** n)

    def __pow__(self, n: Any) -> SparseMatrix:
        if not self.is_array:
            raise self._unsupported("a power of a matrix")
        return self.power(n)

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> SparseMatrix:
        """Return it with elements of another dtype."""
        return self._with(self.elements.astype(dtype))

    def conj(self, copy: bool = True) -> SparseMatrix:
        """Return it: its elements are real."""
        return self

    conjugate = conj

    # -- sums --------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        return self._plus(other, 1)

    def __radd__(self, other: Any) -> Any:
        return self._plus(other, 1)

    def __sub__(self, other: Any) -> Any:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> Any:
        return (-self)._plus(other, 1)

    def _plus(self, other: Any, sign: int) -> Any:
        if type(other) in (int, float) and other == 0:
            return self
        if type(other) is SparseMatrix:
            return self._joined(other if sign > 0 else -other)
        if _is_sparse(other) or np.ndim(other) == 0:
            raise self._unsupported(f"a sum with {type(other).__name__}")
        return self.toarray() + other if sign > 0 else self.toarray() - other

    def _joined(self, other: Any) -> SparseMatrix:
        """Return the sum, which has the elements of both."""
        if other.shape != self.shape:
            raise shape_error(f"matrices of shapes {self.shape} and {other.shape} are added")
        if other.structure is self.structure:
            return self._with(self.elements + other.elements)
        one, two = self.structure, other.structure
        structure = Structure(
            self.shape,
            numpy.concatenate([one.rows, two.rows]),
            numpy.concatenate([one.columns, two.columns]),
        )
        return self._like(
            name=f"{self.name} + {other.name}",
            elements=numpy.concatenate([self.elements, other.elements]),
            structure=structure,
            is_stored=False,
            outside=None,
        )

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the sum of all elements, or those of rows or columns."""
        if dtype is not None or out is not None:
            raise self._unsupported("sum with dtype or out")
        if axis is None:
            return numpy.sum(self.elements)
        if axis not in (0, 1, -1, -2):
            raise ValueError(f"axis {axis!r:.40} of a matrix")
        if not self.is_array:
            raise self._unsupported(
                "a np.matrix, as sums of a sparse matrix that is no sparse array are,"
            )
        structure, over_rows = self.structure, axis in (0, -2)
        places = structure.columns if over_rows else structure.rows
        return added(self.elements, [places], [self.shape[1 if over_rows else 0]])

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        """Return the mean of all elements, or those of rows or columns, with zeros."""
        height, width = self.shape
        count = height * width if axis is None else height if axis in (0, -2) else width
        return self.sum(axis, dtype, out) / count

    def diagonal(self, k: int = 0) -> Any:
        """Return the k-th diagonal."""
        height, width = self.shape
        length = min(height + min(k, 0), width - max(k, 0))
        if length <= 0:
            return array(np.empty(0, self.dtype))
        rows, columns = self.structure.rows, self.structure.columns
        here = columns - rows == k
        place = numpy.where(here, rows + min(k, 0), 0)
        return added(numpy.where(here, self.elements, 0), [place], [length])

    def trace(self, offset: int = 0) -> Any:
        """Return the sum of a diagonal."""
        is_there = self.structure.columns - self.structure.rows == offset
        return numpy.sum(numpy.where(is_there, self.elements, 0))

    def toarray(self, order: Any = None, out: Any = None) -> Any:
        """Return the dense array."""
        if out is not None:
            raise self._unsupported("toarray with out")
        return added(self.elements, [self.structure.rows, self.structure.columns], self.shape)

    def todense(self, order: Any = None, out: Any = None) -> Any:
        """Return the dense array; a matrix's is a np.matrix, which there is none of."""
        if not self.is_array:
            raise self._unsupported(
                "a np.matrix, as todense of a sparse matrix that is no sparse array gives,"
            )
        return self.toarray(order, out)


def _is_sparse(value: Any) -> bool:
    return bool(scipy.sparse.issparse(value))
