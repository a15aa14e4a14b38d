"""``gradc.from_sympy``: SymPy's expressions as a compiled function with all its derivatives."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterable, Sequence
from typing import Any

import sympy

from gradc.api.compiled import Compiled
from gradc.sympy.expressions import Expressions, refused
from gradc.sympy.matrices import Matrices
from gradc.tracing.record.trace import tracer_of, value_of
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.errors import TraceError


def from_sympy(
    exprs: Any,
    args: Sequence[Any],
    *,
    cse: Iterable[tuple[Any, Any]] = (),
    name: str = "expression",
    **options: Any,
) -> Compiled[..., Any]:
    """Return a compiled function of SymPy's expressions.

    Parameters
    ----------
    exprs: an expression, a condition, a Matrix or an Array, or a nest of these in lists, tuples and
        dicts; the function returns such a nest of numbers and arrays.
    args: the parameters, in order. A Symbol is a number; an IndexedBase, a MatrixSymbol, or a
        list, tuple or Matrix of symbols is an array.
    cse: symbols and what they stand for, as ``sympy.cse`` returns them; they name values in dumps.
        Equal subexpressions are one without it.
    name: what the function is called, in C too.
    options: those of :func:`gradc.compile`, such as ``stable=False``.

    The graph is built from the expressions as they are, each subexpression once; nothing is
    simplified. Raises TraceError for a symbol that is no argument and for functions gradc lacks.
    """
    expression = Expression(exprs, args, tuple(cse), name)
    return Compiled(expression, spec=options.pop("spec", expression.spec), **options)


class Expression:
    """A function of SymPy's expressions; called outside of a trace, it evaluates them.

    Parameters
    ----------
    exprs, args, cse, name: as of :func:`from_sympy`.
    """

    def __init__(
        self, exprs: Any, args: Sequence[Any], cse: Sequence[tuple[Any, Any]], name: str
    ) -> None:
        if isinstance(args, sympy.Basic) and not isinstance(args, sympy.Tuple):
            args = [args]
        self.exprs = exprs
        self.args = tuple(args)
        self.cse = cse
        self.__name__ = self.__qualname__ = name
        self.parameters = _names(self.args)
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(one, inspect.Parameter.POSITIONAL_OR_KEYWORD)
                for one in self.parameters
            ]
        )

    @property
    def spec(self) -> str:
        """The arguments' types: doubles, with the shapes that the symbols have."""
        parts = []
        for name, arg in zip(self.parameters, self.args):
            shape = ",".join(str(size) for size in _shape_of(arg))
            parts.append(f"{name}: f64[{shape}]" if shape else f"{name}: f64")
        return ", ".join(parts)

    def __call__(self, *args: Any) -> Any:
        """Evaluate the expressions, by a graph of their own."""
        return Compiled(self)(*args)

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the graph in the trace that calls it."""
        bound = self.__signature__.bind(*args, **kwargs)
        return self._build(list(bound.arguments.values()))

    def _build(self, given: Sequence[Any]) -> Any:
        values = [value_of(x) for x in given]
        build.active().here = ()  # no line of the user's wrote what follows
        dtype = _dtype(values)
        symbols: dict[Any, Value] = {}
        arrays: dict[Any, Value] = {}
        numbers: dict[Any, Size] = {}
        for arg, value in zip(self.args, values):
            _bind(arg, value, dtype, symbols, arrays, numbers)
        made = Expressions(symbols, arrays, numbers, dtype)
        matrices = Matrices(made)
        for symbol, expression in self.cse:
            made.name(symbol, sympy.sympify(expression))
        return _nested(self.exprs, made, matrices)


def _names(args: Sequence[Any]) -> list[str]:
    found: list[str] = []
    for number, arg in enumerate(args):
        name = getattr(arg, "name", None) or getattr(getattr(arg, "label", None), "name", None)
        text = str(name) if name is not None else f"x{number}"
        if not text.isidentifier() or keyword.iskeyword(text):
            text = f"x{number}"
        while text in found:
            text += "_"
        found.append(text)
    return found


def _is_vector(arg: Any) -> bool:
    return isinstance(arg, list | tuple | sympy.MatrixBase | sympy.NDimArray | sympy.Tuple)


def _shape_of(arg: Any) -> tuple[Any, ...]:
    if isinstance(arg, sympy.IndexedBase):
        if arg.shape is None:
            return (f"{arg.label}_size",)
        return tuple(arg.shape)
    if isinstance(arg, sympy.MatrixSymbol):
        return tuple(arg.shape)
    if isinstance(arg, sympy.NDimArray):
        return tuple(arg.shape)
    if isinstance(arg, sympy.MatrixBase):
        rows, columns = arg.shape
        return (rows * columns,) if 1 in (rows, columns) else (rows, columns)
    if _is_vector(arg):
        return (len(arg),)
    return ()


def _dtype(values: Sequence[Value]) -> DType:
    floats = {value.type.dtype for value in values if value.type.dtype.is_float}
    return DType.F32 if floats == {DType.F32} else DType.F64


def _bind(
    arg: Any,
    value: Value,
    dtype: DType,
    symbols: dict[Any, Value],
    arrays: dict[Any, Value],
    numbers: dict[Any, Size],
) -> None:
    """Enter what an argument stands for."""
    shape = _shape_of(arg)
    if value.type.rank != len(shape):
        raise TraceError(
            f"the argument {arg} has {value.type.rank} axes, not {len(shape)}",
            found=f"it is {value.type}",
        )
    value = build.cast(value, dtype) if value.type.dtype is not DType.BOOL else value
    if isinstance(arg, sympy.IndexedBase | sympy.MatrixSymbol):
        arrays[arg] = value
        for size, axis in zip(shape, value.type.shape):
            if isinstance(size, sympy.Symbol):
                numbers[size] = axis
            elif isinstance(size, sympy.Integer | int) and int(size) != axis:
                raise TraceError(
                    f"the argument {arg} has shape {shape}, not {value.type.shape}",
                )
        return
    if not _is_vector(arg):
        symbols[_symbol(arg)] = value
        return
    flat = list(sympy.flatten(arg)) if not isinstance(arg, sympy.NDimArray) else list(arg)
    count = sizes.product(value.type.shape)
    if count != len(flat):
        raise TraceError(f"the argument has {count} elements for {len(flat)} symbols")
    whole = build.reshape(value, (len(flat),))
    for i, symbol in enumerate(flat):
        element = build.slice(whole, (i,), (1,), (1,))
        symbols[_symbol(symbol)] = build.reshape(element, ())


def _symbol(arg: Any) -> Any:
    arg = sympy.sympify(arg)
    if not (arg.is_Symbol or isinstance(arg, sympy.core.function.AppliedUndef | sympy.Derivative)):
        raise TraceError(
            f"{arg} cannot be an argument",
            help="args are symbols, indexed bases, matrix symbols, or lists of symbols",
        )
    return arg


def _nested(exprs: Any, made: Expressions, matrices: Matrices) -> Any:
    """Return expressions in their nest as tracers."""
    if isinstance(exprs, dict):
        return {key: _nested(each, made, matrices) for key, each in exprs.items()}
    if isinstance(exprs, list | tuple):
        return type(exprs)([_nested(each, made, matrices) for each in exprs])
    exprs = sympy.sympify(exprs)
    if isinstance(exprs, sympy.MatrixBase | sympy.NDimArray):
        return tracer_of(_stacked(exprs, made))
    if isinstance(exprs, sympy.MatrixExpr):
        return tracer_of(matrices.value(exprs))
    if not isinstance(exprs, sympy.Basic):
        raise refused(exprs, f"a {type(exprs).__name__} is no expression")
    return tracer_of(made.value(exprs))


def _stacked(array: Any, made: Expressions) -> Value:
    """Return a Matrix or an Array as one value."""
    elements = [made.value(one) for one in sympy.flatten(array)]
    shape = tuple(int(size) for size in array.shape)
    if not elements:
        return build.full(shape, 0.0, made.dtype)
    rows = [build.reshape(build.cast(one, made.dtype), (1,)) for one in elements]
    return build.reshape(build.concatenate(rows, 0), shape)
