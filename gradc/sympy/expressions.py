"""SymPy's expressions as values of a graph: each subexpression once, without recursion.

An index of a sum is an axis: what is under a Sum is computed for all its terms at once, as arrays
with an axis for each index around.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy

from gradc.sympy.functions import FUNCTIONS, piecewise
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core import sizes
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType
from gradc_ir.errors import TraceError
from gradc_ir.location import Location


class Index(NamedTuple):
    """An index of a sum: where it begins, and how many values it takes."""

    symbol: Any
    start: Size
    size: Size


class Term(NamedTuple):
    """A value with an axis for each of some indices, in the order in which they were met."""

    value: Value
    indices: tuple[Index, ...] = ()


class Expressions:
    """Builds expressions in the active builder.

    Parameters
    ----------
    symbols: what symbols stand for.
    arrays: what indexed bases, vectors and matrices stand for.
    numbers: sizes that symbols are.
    dtype: of numbers.
    """

    def __init__(
        self,
        symbols: Mapping[Any, Value],
        arrays: Mapping[Any, Value],
        numbers: Mapping[Any, Size],
        dtype: DType,
    ) -> None:
        self.arrays = arrays
        self.numbers = numbers
        self.dtype = dtype
        self.outside: tuple[Index, ...] = ()
        self.known: dict[Any, Term] = {key: Term(value) for key, value in symbols.items()}
        self._constants: dict[float, Term] = {}

    def name(self, symbol: Any, expression: Any) -> None:
        """Let a symbol stand for an expression, as those of ``sympy.cse`` do."""
        term = self.term(expression)
        self.known[symbol] = term
        build.active().note(term.value.node, (Location.of_name(str(symbol)),))

    def value(self, expression: Any) -> Value:
        """Return an expression as a scalar value."""
        return self.term(expression).value

    def term(self, expression: Any) -> Term:
        """Return an expression, its subexpressions first."""
        known = self.known
        stack = [expression]
        while stack:
            top = stack[-1]
            if top in known:
                stack.pop()
                continue
            kind = type(top)
            if kind in _BINDING or isinstance(top, sympy.Indexed):
                known[top] = _BINDING.get(kind, _indexed)(self, top)
                stack.pop()
                continue
            missing = [part for part in _operands(top) if part not in known]
            if missing:
                stack += missing
                continue
            known[top] = self._made(top)
            stack.pop()
        return known[expression]

    # -- one node ----------------------------------------------------------------------------------

    def _made(self, expression: Any) -> Term:
        if expression.is_Number or expression.is_NumberSymbol:
            return self.number(expression)
        if expression.is_Add:
            return self._sum(expression.args)
        if expression.is_Mul:
            return self._product(expression.args)
        if expression.is_Pow:
            return self._power(*expression.args)
        if expression is sympy.true or expression is sympy.false:
            return Term(build.constant(bool(expression), DType.BOOL))
        if isinstance(expression, sympy.Piecewise):
            return self._piecewise(expression)
        if expression.is_Symbol:
            raise self._free(expression)
        parts = [self.known[part] for part in expression.args]
        try:
            return self.together(FUNCTIONS[type(expression).__name__], parts)
        except NotImplementedError as error:
            raise refused(expression, f"gradc has no {error}") from None

    def number(self, expression: Any) -> Term:
        """Return a number, rounded once."""
        if expression is sympy.zoo or expression.is_real is False:
            raise refused(expression, f"{expression} is no real number")
        found = float(expression)
        term = self._constants.get(found)
        if term is None or found == 0:
            term = self._constants[found] = Term(build.constant(found, self.dtype))
        return term

    def together(self, made: Callable[..., Value], parts: Sequence[Term]) -> Term:
        """Return a function of values, broadcast over all their indices."""
        if not any(part.indices for part in parts):
            return Term(made(*[part.value for part in parts]))
        indices = tuple(dict.fromkeys(index for part in parts for index in part.indices))
        indices = tuple(sorted(indices, key=self.outside.index))
        return Term(made(*[_spread(part, indices) for part in parts]), indices)

    def _sum(self, args: Sequence[Any]) -> Term:
        added: list[Term] = []
        taken: list[Term] = []
        for arg in args:
            positive, rest = _sign(arg)
            (added if positive else taken).append(self._scaled(rest) if not positive
                                                  else self.known[arg])  # fmt: skip
        if not added:
            return self.together(build.neg, [self._all(build.add, taken)])
        total = self._all(build.add, added)
        return self.together(build.sub, [total, self._all(build.add, taken)]) if taken else total

    def _scaled(self, expression: Any) -> Term:
        """Return what a minus stands before, which was not met as an expression of its own."""
        known = self.known.get(expression)
        if known is None:
            known = self.known[expression] = self._product(sympy.Mul.make_args(expression))
        return known

    def _all(self, made: Callable[..., Value], parts: Sequence[Term]) -> Term:
        """Return parts joined by halves, so that no chain is long."""
        found = list(parts)
        while len(found) > 1:
            joined = [self.together(made, pair) for pair in zip(found[::2], found[1::2])]
            found = joined + found[len(found) // 2 * 2 :]
        return found[0]

    def _product(self, args: Sequence[Any]) -> Term:
        above: list[Term] = []
        below: list[Term] = []
        minus = False
        for arg in args:
            if arg is sympy.S.NegativeOne:
                minus = not minus
            elif arg.is_Rational and not arg.is_Integer:
                if arg.p < 0:
                    minus = not minus
                self._rational(abs(arg), above, below)
            elif arg.is_Pow and arg.exp.is_Rational and arg.exp.is_negative:
                below.append(self._power(arg.base, -arg.exp))
            else:
                above.append(self.known[arg])
        if above:
            found = self._all(build.mul, above)
        else:
            found = self.number(sympy.S.NegativeOne if minus else sympy.S.One)
            minus = False
        if below:
            found = self.together(build.div, [found, self._all(build.mul, below)])
        return self.together(build.neg, [found]) if minus else found

    def _rational(self, value: Any, above: list[Term], below: list[Term]) -> None:
        """Add a quotient: as one number where that is exact."""
        if value.q & (value.q - 1) == 0:
            above.append(self.number(value))
            return
        if value.p != 1:
            above.append(self.number(sympy.Integer(value.p)))
        below.append(self.number(sympy.Integer(value.q)))

    def _power(self, base: Any, exponent: Any) -> Term:
        if base is sympy.E:
            return self.together(build.exp, [self.term(exponent)])
        term = self.term(base)
        if exponent.is_Rational:
            positive = exponent if exponent > 0 else -exponent
            made = self._positive_power(term, positive)
            if made is not None:
                if exponent > 0:
                    return made
                return self.together(build.div, [self.number(sympy.S.One), made])
        return self.together(build.power, [term, self.term(exponent)])

    def _positive_power(self, term: Term, exponent: Any) -> Term | None:
        if exponent == 1:
            return term
        if exponent == 2:
            return self.together(build.mul, [term, term])
        if exponent == sympy.S.Half:
            return self.together(build.sqrt, [term])
        if exponent.is_Integer:
            return self.together(build.power, [term, self.number(exponent)])
        if exponent.q == 2:  # a root of a power is a power of a root
            root = self.together(build.sqrt, [term])
            return self.together(build.power, [root, self.number(sympy.Integer(exponent.p))])
        return None

    def _piecewise(self, expression: Any) -> Term:
        pieces = [(self.known[value], self.known[condition])
                  for value, condition in expression.args]  # fmt: skip
        otherwise = Term(build.constant(float("nan"), self.dtype))
        if expression.args[-1][1] == sympy.true:
            otherwise = pieces.pop()[0]
        flat = [term for pair in pieces for term in pair]

        def made(last: Value, *parts: Value) -> Value:
            return piecewise(list(zip(parts[::2], parts[1::2])), last)

        return self.together(made, [otherwise, *flat]) if flat else otherwise

    def _free(self, symbol: Any) -> TraceError:
        names = ", ".join(str(each) for each in self.known if getattr(each, "is_Symbol", False))
        return TraceError(
            f"the expression has a symbol {symbol} that is no argument",
            found=f"arguments: {names}",
            help=f"add {symbol} to args, or put a number in: expr.subs({symbol}, 1.0)",
        )

    # -- sums --------------------------------------------------------------------------------------

    def size(self, expression: Any) -> Size | None:
        """Return a bound of an index as a size, None when it is no sum of known sizes."""
        if expression.is_Integer:
            return int(expression)
        if expression in self.numbers:
            return self.numbers[expression]
        parts = [self.size(arg) for arg in expression.args] if expression.args else [None]
        if any(part is None for part in parts):
            return None
        known: list[Size] = [part for part in parts if part is not None]
        if expression.is_Add:
            total: Size = 0
            for part in known:
                total = total + part
            return total
        return sizes.product(known) if expression.is_Mul else None


def refused(expression: Any, what: str) -> TraceError:
    """Return the error for what an expression may not hold."""
    shown = str(expression)
    shown = shown if len(shown) <= 70 else f"{shown[:69]}…"
    return TraceError(
        what,
        found=f"in {shown}",
        help="rewrite it in functions of real numbers that gradc knows: docs/sympy.md lists them",
    )


def _title(expression: Any) -> str:
    name = getattr(expression.func, "__name__", type(expression).__name__)
    return f"{name} of {len(expression.args)} argument{'s' * (len(expression.args) != 1)}"


def _operands(expression: Any) -> Sequence[Any]:
    """Return the subexpressions that are to be known before an expression is."""
    if expression.is_Add:
        return _summands(expression.args)
    if expression.is_Mul:
        return _of_product(expression.args)
    if expression.is_Pow:
        base, exponent = expression.args
        known = exponent.is_Rational and (exponent.is_Integer or exponent.q == 2)
        return [base] if known else [base, exponent] if base is not sympy.E else [exponent]
    if isinstance(expression, sympy.Piecewise):
        return [part for pair in expression.args for part in pair.args]
    if expression is sympy.I:
        raise refused(expression, "I is no real number")
    is_leaf = expression.is_Symbol or expression.is_Number or expression.is_NumberSymbol
    is_truth = expression is sympy.true or expression is sympy.false
    if not (is_leaf or is_truth or type(expression).__name__ in FUNCTIONS):
        raise refused(expression, f"gradc has no function {_title(expression)}")
    return list(expression.args)


def _summands(args: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for arg in args:
        positive, rest = _sign(arg)
        found += [arg] if positive else _factors(rest)
    return found


def _factors(expression: Any) -> list[Any]:
    return _of_product(sympy.Mul.make_args(expression))


def _of_product(args: Sequence[Any]) -> list[Any]:
    found = []
    for arg in args:
        if arg.is_Rational and not arg.is_Integer:
            continue
        if arg is sympy.S.NegativeOne:
            continue
        if arg.is_Pow and arg.exp.is_Rational and arg.exp.is_negative:
            found.append(arg.base)
            continue
        found.append(arg)
    return found


def _sign(arg: Any) -> tuple[bool, Any]:
    """Return whether a summand is added, and what is taken away where it is not."""
    if arg.is_Mul and arg.args[0].is_Number and arg.args[0].is_negative:
        coefficient, *rest = arg.args
        return False, sympy.Mul(-coefficient, *rest, evaluate=False) if coefficient != -1 else (
            rest[0] if len(rest) == 1 else sympy.Mul._from_args(tuple(rest))
        )
    return True, arg


def _spread(term: Term, indices: tuple[Index, ...]) -> Value:
    """Return a value with an axis for each index."""
    if term.indices == indices:
        return term.value
    axes = tuple(indices.index(index) for index in term.indices)
    return build.broadcast(term.value, tuple(index.size for index in indices), axes)


# -- indices ---------------------------------------------------------------------------------------


def _bounded(made: str) -> Callable[[Expressions, Any], Term]:
    """Return what a Sum, or a Product, is: a reduction over axes of its terms."""

    def read(self: Expressions, expression: Any) -> Term:
        body, *limits = expression.args
        before, known = self.outside, self.known
        own: list[Index] = []
        self.known = dict(known)  # what depends on the index is not known outside
        for symbol, low, high in reversed(limits):
            start, end = self.size(low), self.size(high)
            if start is None or end is None:
                raise refused(expression, f"the bounds of {symbol} are no sizes")
            index = Index(symbol, start, end - start + 1)
            own.append(index)
            self.outside = (*self.outside, index)
            places = build.iota(DType.I64, index.size)
            if start != 0:
                places = places + build.full_like(places, start) if isinstance(start, int) else (
                    places + build.broadcast(build.size_value(start), (index.size,), ())
                )  # fmt: skip
            self.known[symbol] = Term(build.cast(places, self.dtype), (index,))
        term = self.term(body)
        self.outside, self.known = before, known
        whole = _spread(term, (*[i for i in term.indices if i not in own], *own))
        kept = tuple([index for index in term.indices if index not in own])
        over = range(len(kept), len(kept) + len(own))
        reduce = build.reduce_sum if made == "sum" else build.reduce_prod
        return Term(reduce(whole, over), kept)

    return read


def _indexed(self: Expressions, expression: Any) -> Term:
    """Return elements of an array: a window where indices run, one element where they stand."""
    base, *places = expression.args
    array = self.arrays.get(base)
    if array is None:
        raise TraceError(
            f"the expression has an array {base} that is no argument",
            help=f"add {base} to args",
        )
    if len(places) != array.type.rank:
        raise refused(expression, f"{base} has {array.type.rank} axes, not {len(places)}")
    running = {index.symbol: index for index in self.outside}
    starts: list[Size] = []
    shape: list[Size] = []
    found: list[Index] = []
    for place in places:
        symbol = next((one for one in place.free_symbols if one in running), None)
        if symbol is None:
            start = self.size(place)
            if start is None:
                return _gathered(self, expression, array, places)
            starts.append(start)
            shape.append(1)
            continue
        offset = self.size(sympy.expand(place - symbol))
        if offset is None or running[symbol] in found:
            return _gathered(self, expression, array, places)
        index = running[symbol]
        starts.append(index.start + offset)
        shape.append(index.size)
        found.append(index)
    window = build.slice(array, tuple(starts), tuple(shape), (1,) * len(shape))
    ordered = tuple(sorted(found, key=self.outside.index))
    value = build.reshape(window, tuple(index.size for index in found))
    if ordered != tuple(found):
        value = build.transpose(value, tuple(found.index(index) for index in ordered))
    return Term(value, ordered)


def _gathered(self: Expressions, expression: Any, array: Value, places: Sequence[Any]) -> Term:
    """Return elements at indices that are computed."""
    parts = [self.term(place) for place in places]

    def made(*indices: Value) -> Value:
        whole = [build.cast(index, DType.I64) for index in indices]
        return build.gather(array, whole, tuple(range(len(whole))))

    return self.together(made, parts)


_BINDING: dict[Any, Callable[[Expressions, Any], Term]] = {
    sympy.Sum: _bounded("sum"),
    sympy.Product: _bounded("product"),
}
