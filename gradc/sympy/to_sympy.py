"""``gradc.to_sympy``: a function, or a derivative, as expressions of SymPy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from gradc.api.compile import compiled
from gradc.calls.signature import Wrt
from gradc.reading.terms import number
from gradc.sympy.from_sympy import Expression
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import DType
from gradc_ir.errors import TraceError
from gradc_ir.graphs.control_flow import Roles

# Loops of more steps than this make expressions that nobody reads.
_MOST_STEPS = 1000


def to_sympy(
    fn: Callable[..., Any],
    *specs_or_args: Any,
    of: str = "value",
    wrt: Wrt = 0,
    **assumptions: bool,
) -> Any:
    """Return what ``of`` names of a function as SymPy's expressions.

    Parameters
    ----------
    fn: a function of numbers and of arrays of known sizes, compiled or not.
    specs_or_args: a spec, arguments, or nothing where the function has a spec or was called.
    of: ``"value"``, ``"grad"``, ``"value_and_grad"``, ``"jacobian"``, ``"hessian"`` and so on.
    wrt: by which arguments.
    assumptions: of the symbols, such as ``real=True``.

    A number is an expression, an array of one axis or more an Array of SymPy's; several results are
    a tuple of these. Symbols are called as the parameters are, and elements ``x_0``, ``x_1_2``; a
    function made by :func:`gradc.from_sympy` has its own. It is the mathematics: what only rescues
    digits is not there. Raises TraceError where a size or a number of steps is not known, and for
    ops that SymPy has no name for.
    """
    of_expressions = compiled(fn)
    function = of_expressions.ir(*specs_or_args, of=of, wrt=wrt, simple=True)
    wrapped = of_expressions.__wrapped__
    own = wrapped.args if isinstance(wrapped, Expression) else ()
    given = _symbols(function, own, assumptions)
    results = _run(function, given)
    found = [_shown(result) for result in results]
    return found[0] if len(found) == 1 else tuple(found)


def _shown(result: Any) -> Any:
    array = np.asarray(result, dtype=object)
    return array[()] if array.ndim == 0 else sympy.Array(array.ravel().tolist(), array.shape)


def _symbols(function: Function, own: Sequence[Any], assumptions: Mapping[str, bool]) -> list[Any]:
    """Return a symbol for each number of the parameters, the user's own where there are."""
    found: list[Any] = []
    for place, (name, type_) in enumerate(zip(function.names, function.param_types)):
        shape = tuple([size for size in type_.shape if isinstance(size, int)])
        if len(shape) < type_.rank:
            raise TraceError(
                f"{function.name}: {name} has a size that is no number",
                found=f"{name}: {type_}",
                help="give a spec of known sizes, such as x: f64[3]",
            )
        kind = {} if type_.dtype.is_float else {"integer": True}
        if type_.dtype is DType.BOOL:
            kind = {}
        arg = own[place] if place < len(own) else None
        array: Any = np.empty(shape, dtype=object)
        flat = _own_symbols(arg, array.size)
        for i, index in enumerate(np.ndindex(*shape)):
            text = "_".join([_plain(name), *map(str, index)])
            array[index] = flat[i] if flat else sympy.Symbol(text, **{**kind, **assumptions})
        found.append(array)
    return found


def _own_symbols(arg: Any, count: int) -> list[Any]:
    if arg is None or isinstance(arg, sympy.IndexedBase | sympy.MatrixSymbol):
        return []
    flat = list(sympy.flatten([arg])) if not isinstance(arg, sympy.NDimArray) else list(arg)
    return flat if len(flat) == count else []


def _plain(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in name)


def _run(function: Function, given: Sequence[Any]) -> list[Any]:
    """Return the results of a function of arrays of expressions."""
    known: dict[Value, Any] = dict(zip(function.params, given))
    for node in function.body:
        made = _node(node, [known[operand] for operand in node.operands])
        for value, array in zip(node.results, made, strict=True):
            known[value] = array
    return [known[result] for result in function.results]


def _node(node: Node, x: list[Any]) -> Sequence[Any]:
    name, attributes = node.op.name, node.attributes
    if node.op.family == "control":
        return _control(node, x)
    if name in _ARRAYS:
        return [_object(_ARRAYS[name](node, *x))]
    if name == "constant":
        array = attributes["value"].array
        return [_object(np.vectorize(_number, otypes=[object])(array) if array.size else array)]
    of_truths = bool(node.operands) and node.operands[-1].type.dtype is DType.BOOL
    element = (_OF_TRUTHS if of_truths else {}).get(name) or _ELEMENTS.get(name)
    if node.op.is_elementwise and element is not None:
        shape = np.broadcast_shapes(*[np.shape(one) for one in x])
        made = np.empty(shape, dtype=object)
        arrays = [np.broadcast_to(one, shape) for one in x]
        for index in np.ndindex(*shape):
            made[index] = element(*[array[index] for array in arrays])
        return [made]
    raise TraceError(
        f"SymPy has no name for the op {name}",
        at=None,
        help="gradc.to_sympy is for numbers, and for arrays of arithmetic, functions and sums",
    )


def _object(array: Any) -> Any:
    return np.asarray(array, dtype=object)


def _number(value: Any) -> Any:
    """Return a number: a quotient where people would write one, else a Float of all its digits."""
    if isinstance(value, bool | np.bool_):
        return sympy.true if value else sympy.false
    if not np.isfinite(value):
        return sympy.nan if np.isnan(value) else sympy.oo if value > 0 else -sympy.oo
    exact = number(value).detail
    assert isinstance(exact, Fraction)
    if exact.denominator <= 1000:
        return sympy.Rational(exact.numerator, exact.denominator)
    return sympy.Float(repr(float(value)), 17)


def _power(x: Any, y: Any) -> Any:
    return x**y


def _select(condition: Any, x: Any, y: Any) -> Any:
    if condition in (sympy.true, True):
        return x
    if condition in (sympy.false, False):
        return y
    return sympy.Piecewise((x, condition), (y, True))


def _as_number(x: Any) -> Any:
    return _select(x, sympy.Integer(1), sympy.Integer(0))


# What ops are whose last operand is a truth value, as a symbol may be too.
_OF_TRUTHS: dict[str, Callable[..., Any]] = {
    "eq": sympy.Equivalent,
    "ne": sympy.Xor,
    "select": sympy.ITE,
    "cast": _as_number,
}


_S = sympy
_ELEMENTS: dict[str, Callable[..., Any]] = {
    "neg": lambda x: -x, "add": lambda x, y: x + y, "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y, "div": lambda x, y: x / y, "power": _power,
    "floor_divide": lambda x, y: _S.floor(x / y), "remainder": _S.Mod,
    "abs": _S.Abs, "sign": _S.sign, "floor": _S.floor, "maximum": _S.Max, "minimum": _S.Min,
    "sqrt": _S.sqrt, "cbrt": lambda x: _S.sign(x) * _S.Abs(x) ** _S.Rational(1, 3),
    "exp": _S.exp, "exp2": lambda x: 2**x, "expm1": lambda x: _S.exp(x) - 1,
    "exp_product": lambda x, y: _S.exp(x * y),
    "log": _S.log, "log2": lambda x: _S.log(x) / _S.log(2), "log10": lambda x: _S.log(x, 10),
    "log1p": lambda x: _S.log(1 + x), "hypot": lambda x, y: _S.sqrt(x**2 + y**2),
    "sin": _S.sin, "cos": _S.cos, "tan": _S.tan, "arcsin": _S.asin, "arccos": _S.acos,
    "arctan": _S.atan, "arctan2": _S.atan2, "sinh": _S.sinh, "cosh": _S.cosh, "tanh": _S.tanh,
    "arcsinh": _S.asinh, "arccosh": _S.acosh, "arctanh": _S.atanh,
    "erf": _S.erf, "erfc": _S.erfc, "erfinv": _S.erfinv,
    "softplus": lambda x: _S.log(1 + _S.exp(x)), "sigmoid": lambda x: 1 / (1 + _S.exp(-x)),
    "sigmoid_derivative": lambda x: _S.exp(-x) / (1 + _S.exp(-x)) ** 2,
    "logaddexp": lambda x, y: _S.log(_S.exp(x) + _S.exp(y)),
    "log1mexp": lambda x: _S.log(1 - _S.exp(x)),
    "direction_cosine": lambda x, y: x / _S.sqrt(x**2 + y**2),
    "eq": _S.Eq, "ne": _S.Ne,
    "lt": lambda x, y: x < y, "le": lambda x, y: x <= y,
    "logical_not": _S.Not, "logical_and": _S.And, "logical_or": _S.Or, "logical_xor": _S.Xor,
    "select": _select, "cast": lambda x: x,
    "stop_gradient": lambda x: x, "exactly": lambda x: x, "fence": lambda x: x,
    "lgamma": lambda x: _S.log(_S.Abs(_S.gamma(x))), "gamma": _S.gamma,
    "rgamma": lambda x: 1 / _S.gamma(x), "digamma": _S.digamma,
    "zeta": lambda s, q: _S.zeta(s, q), "beta": _S.beta,
    "betaln": lambda a, b: _S.log(_S.Abs(_S.beta(a, b))), "binom": _S.binomial,
    "poch": _S.RisingFactorial,
    "gammainc": lambda a, x: _S.lowergamma(a, x) / _S.gamma(a),
    "gammaincc": lambda a, x: _S.uppergamma(a, x) / _S.gamma(a),
    "erfcx": lambda x: _S.exp(x**2) * _S.erfc(x),
    "ndtr": lambda x: _S.erfc(-x / _S.sqrt(2)) / 2,
    "log_ndtr": lambda x: _S.log(_S.erfc(-x / _S.sqrt(2)) / 2),
    "ndtri": lambda p: _S.sqrt(2) * _S.erfinv(2 * p - 1),
    "dawsn": lambda x: _S.sqrt(_S.pi) / 2 * _S.exp(-(x**2)) * _S.erfi(x),
    "expi": _S.Ei, "exp1": lambda x: _S.expint(1, x),
    "sine_integral": _S.Si, "cosine_integral": _S.Ci,
    "fresnel_sine": _S.fresnels, "fresnel_cosine": _S.fresnelc,
    "bessel_j": _S.besselj, "bessel_y": _S.bessely, "bessel_i": _S.besseli,
    "bessel_k": _S.besselk,
    "bessel_i_scaled": lambda n, x: _S.exp(-_S.Abs(x)) * _S.besseli(n, x),
    "bessel_k_scaled": lambda n, x: _S.exp(x) * _S.besselk(n, x),
}  # fmt: skip


# -- arrays ----------------------------------------------------------------------------------------


def _broadcast(node: Node, x: Any) -> Any:
    shape, axes = node.attributes["shape"], node.attributes["axes"]
    spread = [1] * len(shape)
    for axis, size in zip(axes, np.shape(x)):
        spread[axis] = size
    return np.broadcast_to(np.reshape(x, spread), shape)


def _slice(node: Node, x: Any) -> Any:
    return x[_window(node.attributes["starts"], node.attributes["shape"], node.attributes["steps"])]


def _window(starts: Any, shape: Any, steps: Any) -> tuple[Any, ...]:
    return np.ix_(*[np.arange(size) * step + start
                    for start, size, step in zip(starts, shape, steps)])  # fmt: skip


def _pad(node: Node, x: Any) -> Any:
    made = np.full(node.attributes["shape"], sympy.Integer(0), dtype=object)
    made[_window(node.attributes["starts"], np.shape(x), node.attributes["steps"])] = x
    return made


def _set_slice(node: Node, x: Any, part: Any) -> Any:
    made = np.array(x, dtype=object)
    made[_window(node.attributes["starts"], np.shape(part), node.attributes["steps"])] = part
    return made


def _reduce(
    join: Callable[[list[Any]], Any], of_truths: Callable[..., Any] | None = None
) -> Callable[..., Any]:
    def reduced(node: Node, x: Any) -> Any:
        axes = node.attributes["axes"]
        rest = [axis for axis in range(np.ndim(x)) if axis not in axes]
        moved = np.transpose(x, (*rest, *axes))
        shape = moved.shape[: len(rest)]
        flat = moved.reshape((*shape, -1))
        made = np.empty(shape, dtype=object)
        for index in np.ndindex(*shape):
            parts = list(flat[index])
            is_truth = of_truths is not None and node.operands[0].type.dtype is DType.BOOL
            made[index] = of_truths(*parts) if is_truth and of_truths else join(parts)
        return made

    return reduced


def _norm(parts: list[Any]) -> Any:
    return sympy.sqrt(sympy.Add(*[part**2 for part in parts]))


def _contract(node: Node, x: Any, y: Any) -> Any:
    spec = node.attributes["spec"]
    if "|" in spec:
        raise TraceError(f"SymPy has no name for the contraction {spec}")
    return np.einsum(spec, x, y)


def _gather(node: Node, x: Any, *indices: Any) -> Any:
    try:
        places = [np.asarray(index, dtype=np.int64) for index in indices]
    except (TypeError, ValueError):
        raise TraceError(
            "an index depends on arguments", help="SymPy's expressions have known elements"
        ) from None
    return np.moveaxis(x, node.attributes["axes"], range(len(places)))[tuple(places)]


def _scatter(node: Node, x: Any, part: Any, *indices: Any) -> Any:
    try:
        places = [np.asarray(index, dtype=np.int64) for index in indices]
    except (TypeError, ValueError):
        raise TraceError(
            "an index depends on arguments", help="SymPy's expressions have known elements"
        ) from None
    made = np.array(x, dtype=object)
    view = np.moveaxis(made, node.attributes["axes"], range(len(places)))
    adds = node.op.name == "scatter_add"
    for where in np.ndindex(*places[0].shape):
        key = tuple(int(place[where]) for place in places)
        view[key] = view[key] + part[where] if adds else part[where]
    return made


def _cumsum(node: Node, x: Any) -> Any:
    axis = node.attributes["axis"]
    if node.attributes["reverse"]:
        return np.flip(np.cumsum(np.flip(x, axis), axis), axis)
    return np.cumsum(x, axis)


_ARRAYS: dict[str, Callable[..., Any]] = {
    "iota": lambda node: [sympy.Integer(i) for i in range(node.attributes["size"])],
    "broadcast": _broadcast,
    "reshape": lambda node, x: np.reshape(x, node.attributes["shape"]),
    "transpose": lambda node, x: np.transpose(x, node.attributes["permutation"]),
    "concatenate": lambda node, *x: np.concatenate(x, node.attributes["axis"]),
    "slice": _slice, "pad": _pad, "set_slice": _set_slice,
    "reduce_sum": _reduce(lambda parts: sympy.Add(*parts)),
    "reduce_prod": _reduce(lambda parts: sympy.Mul(*parts)),
    "reduce_max": _reduce(lambda parts: sympy.Max(*parts), sympy.Or),
    "reduce_min": _reduce(lambda parts: sympy.Min(*parts), sympy.And),
    "logsumexp": _reduce(lambda parts: sympy.log(sympy.Add(*map(sympy.exp, parts)))),
    "norm": _reduce(_norm),
    "contract": _contract, "gather": _gather, "scatter_add": _scatter, "scatter_set": _scatter,
    "cumsum": _cumsum,
}  # fmt: skip


# -- control flow ----------------------------------------------------------------------------------


def _control(node: Node, x: list[Any]) -> Sequence[Any]:
    attributes = node.attributes
    match node.op.name:
        case "call" | "checkpoint":
            return _run(attributes["body"], x)
        case "cond":
            condition = np.asarray(x[0], dtype=object)[()]
            then, otherwise = (_run(attributes[name], x[1:]) for name in ("then", "otherwise"))
            choose = np.vectorize(lambda a, b: _select(condition, a, b), otypes=[object])
            return [_object(choose(a, b)) for a, b in zip(then, otherwise)]
        case "scan" if not attributes["counted"]:
            return _scan(node, x)
    raise TraceError(
        f"the number of steps of a {node.op.name} is not known",
        help="SymPy's expressions have a known number of terms: use a loop of known length",
    )


def _scan(node: Node, x: list[Any]) -> list[Any]:
    roles = Roles.of(node)
    assert roles is not None
    length = node.attributes["length"]
    if not isinstance(length, int) or length > _MOST_STEPS:
        raise TraceError(
            f"a loop of {length} steps makes too long an expression",
            help=f"write out at most {_MOST_STEPS} steps",
        )
    consts, carries = x[: roles.consts], x[roles.consts : roles.end]
    arrays = x[roles.end :]
    count = len(node.results) - roles.carries
    rows: list[list[Any]] = [[None] * length for _ in range(count)]
    for i in range(length)[:: -1 if node.attributes["reverse"] else 1]:
        found = _run(roles.bodies[0], [*consts, *carries, *[array[i] for array in arrays]])
        carries = found[: roles.carries]
        for row, made in zip(rows, found[roles.carries :]):
            row[i] = made
    stacked = []
    for row, value in zip(rows, node.results[roles.carries :]):
        array: Any = np.empty(value.type.shape, dtype=object)
        for i, made in enumerate(row):
            array[i] = np.asarray(made, dtype=object)[()]
        stacked.append(array)
    return [*carries, *stacked]
