"""Symbolic sizes: one form for equal sizes, the right numbers, and no claim that is not certain."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradc_ir.core import sizes
from gradc_ir.core.sizes import Expr, Size, symbol
from gradc_ir.text.size_text import parse_size, size_text

N, M = symbol("n"), symbol("m")
NAMES = ("n", "m", "rows")

TEXTS = st.recursive(
    st.integers(-4, 9).map(lambda k: f"({k})") | st.sampled_from(NAMES),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.integers(1, 5)).map(lambda t: f"({t[0]} // {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"min({t[0]}, {t[1]})"),
        inner.map(lambda t: f"bits({t})"),
    ),
    max_leaves=6,
)
VALUES = st.fixed_dictionaries({name: st.integers(0, 9) for name in NAMES})


@settings(max_examples=300, deadline=None)
@given(TEXTS, VALUES)
def test_a_size_has_the_value_of_its_text(text: str, values: dict[str, int]) -> None:
    size = parse_size(text)
    want = eval(
        text, {"max": max, "min": min, "bits": lambda n: max(n, 0).bit_length()}, dict(values)
    )
    assert sizes.evaluate(size, values) == want
    assert sizes.evaluate(parse_size(str(size)), values) == want


@settings(max_examples=200, deadline=None)
@given(TEXTS)
def test_text_round_trip(text: str) -> None:
    size = parse_size(text)
    again = parse_size(str(size))
    assert again == size
    assert hash(again) == hash(size)


@settings(max_examples=300, deadline=None)
@given(TEXTS, TEXTS, VALUES)
def test_what_is_certain_is_true(left: str, right: str, values: dict[str, int]) -> None:
    a, b = parse_size(left), parse_size(right)
    if sizes.at_least(a, b):
        assert sizes.evaluate(a, values) >= sizes.evaluate(b, values)
    if a == b:
        assert sizes.evaluate(a, values) == sizes.evaluate(b, values)


LINES = st.recursive(
    st.integers(-9, 9).map(lambda k: f"({k})") | st.integers(-3, 3).map(lambda k: f"({k} * n)"),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        ),
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(LINES, LINES)
def test_sizes_of_one_symbol_are_equal_and_ordered_as_their_numbers_are(
    left: str, right: str
) -> None:
    a, b = parse_size(left), parse_size(right)
    # eight numbers of up to 9: no bend is above 72
    pairs = [[sizes.evaluate(x, {"n": n}) for x in (a, b)] for n in (*range(100), 10**7, 10**8)]
    assert [pair[0] for pair in pairs[:100]] == [eval(left, {"n": n}) for n in range(100)]
    assert (a == b) == all(x == y for x, y in pairs)
    assert sizes.at_least(a, b) == all(x >= y for x, y in pairs)


@settings(max_examples=200, deadline=None)
@given(TEXTS, TEXTS, VALUES)
def test_exact_quotients_are_exact(left: str, right: str, values: dict[str, int]) -> None:
    a, b = parse_size(left), parse_size(right)
    quotient = sizes.exact_quotient(a, b)
    divisor = sizes.evaluate(b, values)
    if quotient is not None and divisor:
        assert sizes.evaluate(quotient, values) * divisor == sizes.evaluate(a, values)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (N + 1 - 1, "n"),
        (N - N, "0"),
        (N * M + M * N, "2 * m * n"),
        (3 - N, "-n + 3"),
        ((N + 1) * (N - 1), "n * n - 1"),
        (2 * N // 2, "n"),
        (N * M // M, "n"),
        (N // 2, "n // 2"),
        (1 + 3 * (N // 2) - (N + 1) // M, "-((n + 1) // m) + 3 * (n // 2) + 1"),
        (-(N // 2), "-(n // 2)"),
        (sizes.maximum(N + 1, N), "n + 1"),
        (sizes.maximum(N, M), "max(m, n)"),
        (sizes.minimum(N, N + 2), "n"),
        (sizes.maximum(0, N - 1), "max(n - 1, 0)"),
        (sizes.minimum(N, 3) + M, "m + min(n, 3)"),
        (sizes.maximum(2 * N, 6), "2 * max(3, n)"),
        (sizes.maximum(2 * N - 3, 0), "max(n - 1, 0) + max(n - 2, 0)"),
        (sizes.maximum(N - 1, 0) + sizes.minimum(1, N), "n"),
        (sizes.maximum(N // 2 - 1, 0) + sizes.minimum(1, N // 2), "n // 2"),
    ],
)
def test_normal_forms(size: Size, text: str) -> None:
    assert str(size) == text


def test_substitution_and_symbols() -> None:
    size = N * M + sizes.maximum(N, M) // 2
    assert sizes.symbols(size) == ("m", "n")
    assert sizes.substitute(size, {"n": 4, "m": 2}) == 10
    assert sizes.substitute(size, {"m": N}) == N * N + N // 2
    assert sizes.product([N, 2, M]) == 2 * M * N
    with pytest.raises(KeyError, match="no value for m"):
        sizes.evaluate(N + M, {"n": 1})


@pytest.mark.parametrize("text", ["n +", "n / 2", "1.5", "f(n)", "True", "n < 2"])
def test_other_text_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        parse_size(text)


def test_a_symbol_is_an_identifier() -> None:
    assert isinstance(symbol("n"), Expr)
    with pytest.raises(ValueError, match="identifier"):
        symbol("2n")


def test_sizes_of_many_terms_are_no_texts() -> None:
    size: Size = symbol("n")
    assert size_text(sizes.maximum(size - 1, 0)) == "max(n - 1, 0)"
    for number in range(12):
        size *= symbol("n") + symbol(f"a{number}")
    with pytest.raises(ValueError, match="not a size"):
        size_text(size)
