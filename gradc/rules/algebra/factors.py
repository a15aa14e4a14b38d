"""Products and quotients as a number, what stands above the line and what stands below it."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from gradc.rules.algebra.parts import exact_number, is_size, parts
from gradc.rules.algebra.polynomial import ONE, Polynomial, multiplied, number, polynomial
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import active
from gradc_ir.core.graph import Value
from gradc_ir.core.walk import answered

_PRODUCTS = frozenset({"neg", "mul", "div"})
_MOST_FACTORS = 16
_MOST_EXACT = 2**24  # whole numbers up to here, and products of them, are floats


class Product(NamedTuple):
    """``coefficient * above[0] * above[1] … / below[0] / below[1] …``."""

    coefficient: Fraction
    above: tuple[Value, ...] = ()
    below: tuple[Value, ...] = ()

    def __mul__(self, other: Product) -> Product:  # type: ignore[override]
        return Product(
            multiplied(self.coefficient, other.coefficient),
            self.above + other.above,
            self.below + other.below,
        )

    @property
    def reciprocal(self) -> Product:
        """One over the product, whose number must not be zero."""
        one = self.coefficient
        return Product(one if one is ONE else 1 / one, self.below, self.above)

    def times(self, factor: Fraction | int) -> Product:
        """Return the product times a number."""
        number = Fraction(factor) if isinstance(factor, int) else factor
        return Product(multiplied(self.coefficient, number), self.above, self.below)

    @property
    def negated(self) -> Product:
        """Minus the product."""
        return Product(-self.coefficient, self.above, self.below)

    def without(self, common: Product) -> Product:
        """Return the product without factors that it surely has; its number stays."""
        above, below = _without(self.above, common.above), _without(self.below, common.below)
        return Product(self.coefficient, above, below)

    def value(self, like: Value) -> Value:
        """Build the product in the type of a value.

        Factors above and below the line alternate and the number comes last, so that what is of
        moderate size on the whole does not overflow on the way. Sizes that are symbolic are a part
        of the number, which known ones are.
        """
        if any(map(is_size, self.above + self.below)):
            return self._of_sizes(like)
        above, below = list(self.above), list(self.below)
        size = abs(self.coefficient)
        if not above and not below:
            return build.full_like(like, float(self.coefficient))
        if not above:
            made = float(self.coefficient) / below.pop(0)
            return Product(ONE, (made,), tuple(below)).value(like)
        made = above.pop(0)
        while above or below:
            if below:
                made = made / below.pop(0)
            if above:
                made = made * above.pop(0)
        if size != 1:
            made = made * float(size)
        return -made if self.coefficient < 0 else made

    def _of_sizes(self, like: Value) -> Value:
        """Build a product with symbolic sizes, rounded as a known number is: once."""
        above = [value for value in self.above if not is_size(value)]
        below = [value for value in self.below if not is_size(value)]
        size = abs(self.coefficient)
        top, bottom = float(size.numerator), float(size.denominator)
        if max(size.numerator, size.denominator) > _MOST_EXACT:
            top, bottom = float(size), 1.0
        number = _scaled([value for value in self.above if is_size(value)], top, like)
        if bottom != 1 or len(self.below) > len(below):
            number = number / _scaled(
                [value for value in self.below if is_size(value)], bottom, like
            )
        if not above and not below:
            made = number
        elif above:
            made = whole(*above, below=tuple(below)).value(like) * number
        else:
            made = whole(number / below[0], below=tuple(below[1:])).value(like)
        return -made if self.coefficient < 0 else made


def _scaled(sizes: list[Value], factor: float, like: Value) -> Value:
    """Return the product of some sizes and a number."""
    if not sizes:
        return build.full_like(like, factor)
    made = sizes[0]
    for size in sizes[1:]:
        made = made * size
    return made if factor == 1 else made * factor


_UNIT = Product(ONE)


def _without(factors: tuple[Value, ...], taken: tuple[Value, ...]) -> tuple[Value, ...]:
    if not taken:
        return factors
    left = list(factors)
    for factor in taken:
        left.remove(factor)
    return tuple(left)


def whole(*above: Value, below: tuple[Value, ...] = ()) -> Product:
    """Return the product of values that are not taken apart, over the product of others."""
    return Product(ONE, above, below)


def product(value: Value) -> Product:
    """Return a value as a product of values that are none, or of fewer where they are many."""
    known: dict[Value, Product] = active().answers.setdefault(product, {})
    found = known.get(value)
    return answered(value, known, _multiplied, _joined) if found is None else found


def _multiplied(value: Value) -> tuple[Value, ...]:
    """Return the operands of a product, a quotient or a negation; none of anything else."""
    name, operands = parts(value)
    return operands if name in _PRODUCTS else ()


def _joined(value: Value, products: list[Product]) -> Product:
    if not products:
        constant = exact_number(value)
        return whole(value) if constant is None else Product(constant)
    name, operands = parts(value)
    if name == "neg":
        return products[0].negated
    left, right = products
    if len(left.above + left.below) + len(right.above + right.below) > _MOST_FACTORS:
        # the longer of them is taken as it stands
        if len(left.above + left.below) > len(right.above + right.below):
            left = whole(operands[0])
        else:
            right = whole(operands[1])
    if not (left.coefficient and right.coefficient):
        return whole(value)  # no number can be taken out of it
    return left * (right if name == "mul" else right.reciprocal)


def either_way(value: Value, find: Callable[[Product], Product | None]) -> Product | None:
    """Return what is found for a product, or one over what is found for its inverse."""
    entire = product(value)
    if not entire.coefficient:
        return None
    made = find(entire)
    if made is None:
        made = find(entire.reciprocal)
        return None if made is None else made.reciprocal
    return made


def common_factors(first: Product, second: Product) -> Product:
    """Return the values that stand in both products, on the same side of the line."""
    above, below = _shared(first.above, second.above), _shared(first.below, second.below)
    return Product(ONE, above, below) if above or below else _UNIT


def set_apart(first: Product, second: Product) -> tuple[Product, Product, Product]:
    """Return the common factors of two products, and what is left of each."""
    shared = common_factors(first, second)
    if shared is _UNIT:
        return shared, first, second
    return shared, first.without(shared), second.without(shared)


def cancelled(one: Product) -> Product:
    """Return the product without the values that stand both above and below its line."""
    shared = _shared(one.above, one.below)
    return one.without(Product(ONE, shared, shared)) if shared else one


def _shared(first: tuple[Value, ...], second: tuple[Value, ...]) -> tuple[Value, ...]:
    if not (first and second) or frozenset(first).isdisjoint(second):
        return ()
    rest = list(second)
    found = []
    for value in first:
        if value in rest:
            rest.remove(value)
            found.append(value)
    return tuple(found)


def multiplied_out(factors: tuple[Value, ...], coefficient: Fraction) -> Polynomial | None:
    """Return values times a number as one polynomial, None when it is too large."""
    made = number(coefficient)
    for factor in factors:
        made = made * polynomial(factor)
        if not made.is_small():
            return None
    return made
