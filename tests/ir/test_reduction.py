"""The defined order of reduction, against a scalar implementation of what the manual says."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradc_ir import ops
from gradc_ir.meaning.fma import fma
from tests.comparing import assert_same_bits

LENGTHS = [0, 1, 2, 7, 31, 32, 33, 40, 63, 64, 65, 100, 4095, 4096, 4097, 4128, 4129, 9000]
# whose chunks join otherwise than from left to right: four to seven, and 65
LONG = [4 * 4096, 4 * 4096 + 1, 4096 * 5 + 1, 4096 * 6, 4096 * 7, 4096 * 64 + 5]
DTYPES = [np.float64, np.float32]


def reduce_by_the_book(
    elements: list[Any],
    join: Callable[[Any, Any], Any],
    lanes: int,
    begin: Callable[[Any], Any] = lambda element: element,
) -> Any:
    """Join elements one at a time; ``begin`` is done to the first of each partial."""

    def in_turn(parts: list[Any]) -> Any:
        total = begin(parts[0])
        for part in parts[1:]:
            total = join(total, part)
        return total

    if len(elements) <= 32:
        return in_turn(elements)
    chunks = []
    for chunk in range(0, len(elements), 4096):
        groups = []
        for start in range(chunk, min(chunk + 4096, len(elements)), 32):
            group = elements[start : min(start + 32, len(elements))]
            partials: list[Any] = [None] * lanes
            for i, element in enumerate(group):
                before = partials[i % lanes]
                partials[i % lanes] = begin(element) if before is None else join(before, element)
            while len(partials) > 1:
                half = len(partials) // 2
                partials = [
                    a if b is None else join(a, b) for a, b in zip(partials[:half], partials[half:])
                ]
            groups.append(partials[0])
        chunks.append(in_turn(groups))
    return in_a_tree(chunks, join)


def in_a_tree(nodes: list[Any], join: Callable[[Any, Any], Any]) -> Any:
    """Join neighbours, level by level; one without a neighbour rises."""
    if len(nodes) == 1:
        return nodes[0]
    pairs = [nodes[i : i + 2] for i in range(0, len(nodes), 2)]
    return in_a_tree([pair[0] if len(pair) == 1 else join(*pair) for pair in pairs], join)


def lanes_of(dtype: type) -> int:
    return 8 if np.dtype(dtype).itemsize == 8 else 16


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [*LENGTHS[1:], *LONG])
def test_sum(length: int, dtype: type) -> None:
    x = (np.random.default_rng(length).normal(size=length) * 10.0 ** (length % 5)).astype(dtype)
    want = reduce_by_the_book(list(x), lambda a, b: a + b, lanes_of(dtype))
    assert_same_bits(ops.reduce_sum.reference(x, axes=(0,)), np.asarray(want))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [*LENGTHS[1:], *LONG])
def test_product(length: int, dtype: type) -> None:
    x = np.random.default_rng(length).uniform(0.9, 1.1, size=length).astype(dtype)
    want = reduce_by_the_book(list(x), lambda a, b: a * b, lanes_of(dtype))
    assert_same_bits(ops.reduce_prod.reference(x, axes=(0,)), np.asarray(want))


def test_of_nothing() -> None:
    empty = np.zeros((0,))
    assert_same_bits(ops.reduce_sum.reference(empty, axes=(0,)), np.asarray(0.0))
    assert_same_bits(ops.reduce_prod.reference(empty, axes=(0,)), np.asarray(1.0))
    assert_same_bits(ops.reduce_max.reference(empty, axes=(0,)), np.asarray(-np.inf))
    assert_same_bits(ops.reduce_min.reference(empty, axes=(0,)), np.asarray(np.inf))


@pytest.mark.parametrize("length", [1, 32, 33, 4097])
def test_negative_zeros_sum_to_negative_zero(length: int) -> None:
    found = ops.reduce_sum.reference(np.full(length, -0.0), axes=(0,))
    assert_same_bits(found, np.asarray(-0.0))


def test_axes_are_reduced_one_at_a_time_last_first() -> None:
    x = np.random.default_rng(0).normal(size=(40, 3, 50))
    last = ops.reduce_sum.reference(x, axes=(2,))
    assert_same_bits(
        ops.reduce_sum.reference(x, axes=(0, 2)), ops.reduce_sum.reference(last, axes=(0,))
    )


def exact_fma(x: Any, y: Any, z: Any) -> Any:
    """Return x * y + z of finite numbers, rounded once, by rational arithmetic."""
    exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
    if exact == 0:
        with np.errstate(all="ignore"):
            # exact zeros have the sign that the plain expression gives them
            plain = float(x) * float(y)
            cancelled = plain + float(z)
            return np.asarray(x).dtype.type(cancelled if cancelled == 0 else 0.0)
    precision, lowest, highest = {
        "float64": (53, -1074, 1024),
        "float32": (24, -149, 128),
    }[str(np.asarray(x).dtype)]
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - precision + 1, lowest)
    rounded = round(size / unit) * unit  # half to even, as round does with a Fraction
    magnitude = np.inf if rounded >= Fraction(2) ** highest else float(rounded)
    return np.asarray(x).dtype.type(-magnitude if exact < 0 else magnitude)


@pytest.mark.parametrize("width", [64, 32])
@settings(max_examples=400, deadline=None)
@given(st.data())
def test_fma_rounds_once(width: int, data: st.DataObject) -> None:
    numbers = st.floats(width=width, allow_nan=False, allow_infinity=False)  # type: ignore[arg-type]
    near = st.floats(-2, 2, width=width)  # type: ignore[arg-type]
    x, y, z = (data.draw(numbers | near) for _ in range(3))
    dtype = np.dtype(f"f{width // 8}").type
    if data.draw(st.booleans()):
        # near cancellation, where a second rounding shows
        with np.errstate(all="ignore"):
            z = float(-dtype(x) * dtype(y))
        if not np.isfinite(z):
            return
    found = fma(np.asarray(dtype(x)), np.asarray(dtype(y)), np.asarray(dtype(z)))
    assert_same_bits(found, np.asarray(exact_fma(dtype(x), dtype(y), dtype(z))))


@pytest.mark.parametrize(
    ("x", "y", "z", "want"),
    [
        (np.inf, 0.0, 1.0, np.nan),
        (np.inf, 1.0, -np.inf, np.nan),
        (np.inf, 2.0, 1.0, np.inf),
        (2.0, 3.0, -np.inf, -np.inf),
        (np.nan, 1.0, 1.0, np.nan),
        (1e38, 10.0, -np.inf, -np.inf),
        (-0.0, 1.0, -0.0, -0.0),
        (-0.0, 1.0, 0.0, 0.0),
    ],
)
def test_fma_of_special_numbers(x: float, y: float, z: float, want: float) -> None:
    for dtype in DTYPES:
        with np.errstate(all="ignore"):
            arrays = [np.asarray(dtype(a)) for a in (x, y, z)]
            assert_same_bits(fma(*arrays), np.asarray(dtype(want)))


def test_fma_of_a_product_beyond_the_largest_number() -> None:
    large, ten = np.asarray(1e308), np.asarray(10.0)
    assert fma(large, ten, np.asarray(-np.inf)) == -np.inf
    assert fma(large, ten, np.asarray(-1e308)) == np.inf
    assert fma(large, np.asarray(2.0), np.asarray(-1e308)) == 1e308


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [*LENGTHS, 4096 * 5 + 1])
def test_contract(length: int, dtype: type) -> None:
    random = np.random.default_rng(length)
    x, y = (random.normal(size=length).astype(dtype) for _ in range(2))
    found = ops.contract.reference(x, y, spec="i,i->")
    assert_same_bits(found, np.asarray(contract_by_the_book(x, y)))


def contract_by_the_book(x: Any, y: Any) -> Any:
    """Join products as sums are joined: the first of a partial is a product, the rest are fmas."""
    if len(x) == 0:
        return x.dtype.type(0)

    class Product(tuple[Any, Any]):
        """A product not yet rounded."""

    def number(a: Any) -> Any:
        return a[0] * a[1] if isinstance(a, Product) else a

    def join(a: Any, b: Any) -> Any:
        return exact_fma(b[0], b[1], a) if isinstance(b, Product) else a + b

    terms = [Product((a, b)) for a, b in zip(x, y)]
    return reduce_by_the_book(terms, join, lanes_of(x.dtype.type), begin=number)


def test_contract_joins_the_last_summed_label_by_fma_first() -> None:
    random = np.random.default_rng(1)
    x, y = random.normal(size=(2, 3, 40)), random.normal(size=(40, 3))
    found = ops.contract.reference(x, y, spec="ijk,kj->i")
    rows = [[contract_by_the_book(x[i, j], y[:, j]) for j in range(3)] for i in range(2)]
    want = [reduce_by_the_book(row, lambda a, b: a + b, 8) for row in rows]
    assert_same_bits(found, np.asarray(want))
