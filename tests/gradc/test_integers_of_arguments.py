"""What Python does with an integer, it does with one of the arguments, which is traced at first."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest

import gradc

OF_AN_ARGUMENT: dict[str, Any] = {
    "divmod": lambda x, n: sum(divmod(n, 3)) * x[0] + sum(divmod(20, n)) * x[1],
    "shift": lambda x, n: ((n >> 1) + (n << 2) + (1 << n) + (999 >> n)) * x[0],
    "and": lambda x, n: ((n & 1) + (n & 6) + (5 & n) + (n | 2) + (n ^ 3) + ~n) * x[0],
    "round": lambda x, n: (
        (round(n) + round(n, -1) + math.floor(n) + math.ceil(n) + math.trunc(n)) * x[0]
    ),
    "comb": lambda x, n: (
        (math.comb(n, 2) + math.factorial(n) + math.isqrt(n) + math.gcd(n, 6) + math.perm(n, 2))
        * x[0]
    ),
    "str": lambda x, n: (
        len(f"{n:04d}{n}") * x[0]
        + {"w5": 2.0, "w7": 3.0, "w4": 1.0}.get(f"w{n}", 9.0) * x[1]
        + int(str(n)) * x[0]
    ),
    "bits": lambda x, n: (n.bit_length() + n.real + n.numerator) * x[0],
    "float": lambda x, n: (
        math.sqrt(n) * x[0]
        + np.sqrt(n) * x[1]
        + n**0.5 * x[0]
        + n**-1 * x[1]
        + 2**n * x[0]
        + n**n * x[1]
    ),
    "negpow": lambda x, n: 2**-n * x[0] + n**-n * x[1] + (-1) ** n * x[0] + 2.0**-n * x[1],
    "slice": lambda x, n: np.sum(x[: n >> 1]) + np.sum(x[n & 1 :]) + x[n // 2 - 1],
    "minmax": lambda x, n: (
        (
            max(n, 5)
            + min(n, 5)
            + abs(n - 6)
            + (n == 5)
            + (n != 5)
            + (n > 5)
            + bool(n - 5)
            + (n in (4, 7))
        )
        * x[0]
    ),
    "hash": lambda x, n: {4: 1.0, 5: 2.0}.get(n, 3.0) * x[0],
    "isinst": lambda x, n: (isinstance(n, int) + (type(n) is int)) * x[0],
    "chr": lambda x, n: ord(chr(n + 60)) * x[0] + len(hex(n)) * x[1] + len(bin(n)) * x[0],
    "pow3": lambda x, n: pow(n, 2, 3) * x[0] + pow(n, 2) * x[1],
    "rep": lambda x, n: (
        len(np.zeros(n).tolist()) * x[0] + sum(range(n)) * x[1] + len(list(range(0, n, 2))) * x[0]
    ),
    "list": lambda x, n: (
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0][n] * x[0]
        + "abcdefgh".index("abcdefgh"[n]) * x[1]
        + (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)[-n] * x[0]
    ),
    "enumerate": lambda x, n: sum(i * v for i, v in enumerate(x, n)),
    "mod": lambda x, n: (n % 3 + -n % 3 + n // 2 + -n // 2 + n / 2) * x[0] + math.fmod(n, 3) * x[1],
    "arange": lambda x, n: (
        np.arange(n).sum() * x[0]
        + np.linspace(0, 1, n).sum() * x[1]
        + np.full(n, 2.0).sum() * x[0]
        + np.eye(n).sum() * x[0]
    ),
    "shape": lambda x, n: (
        np.ones((n, 2)).size * x[0]
        + np.reshape(np.arange(2 * n), (n, 2))[1, 1] * x[1]
        + np.roll(x, n)[0]
        + np.diff(x, n=1)[0]
    ),
    "cond": lambda x, n: (x[0] if n % 2 else x[1]) * (2.0 if n > 4 and n < 7 else 3.0),
    "while": lambda x, n: (
        sum(1 for k in iter(lambda s=[n]: s.__setitem__(0, s[0] - 1) or s[0], 0)) * x[0]
    ),
    "index": lambda x, n: operator.index(n) * x[0] + x[n - 4] + int(n) * x[1] + float(n) * x[0],
    "strm": lambda x, n: len("x".rjust(n)) * x[0] + len(f"{n:d}") * x[1] + len(f"{n}") * x[0],
    "boolarg": lambda x, n: (not n) * x[0] + (n and 2.0) * x[0] + (n or 3.0) * x[1],
}


@pytest.mark.parametrize("name", OF_AN_ARGUMENT)
def test_an_argument_is_an_integer(name: str) -> None:
    function = OF_AN_ARGUMENT[name]
    compiled = gradc.compile(function)
    x = np.linspace(0.3, 1, 8)
    for n in (4, 5):
        np.testing.assert_allclose(compiled(x, n), function(x, n), rtol=1e-13)


OF_NUMPYS: dict[str, Any] = {
    "sizes": lambda x, n: (
        np.sum(x[:n])
        + sum(range(n)) * x[2]
        + np.eye(n).sum() * x[0]
        + np.arange(n).sum() * x[1]
        + len([0] * n) * x[0]
        + x.reshape(n, -1)[1, 1]
    ),
    "bits": lambda x, n: ((n >> 1) + (1 << n) + (n & 6) + (5 | n) + (n ^ 3) + ~n) * x[0],
    "keys": lambda x, n: {4: 2.0}.get(n, 3.0) * x[0] + {"w2": 2.0}.get(f"w{n}", 3.0) * x[1],
    "python": lambda x, n: (math.comb(n, 2) + (n in (4, 7)) + operator.index(n)) * x[0] + x[n],
    "axis": lambda x, n: np.sum(x.reshape(2, 1, 1, 1, 4), axis=n)[0][0, 0] * 2**n,
}


@pytest.mark.parametrize("name", OF_NUMPYS)
def test_an_argument_is_an_integer_of_numpys(name: str) -> None:
    function = OF_NUMPYS[name]
    compiled = gradc.compile(function)
    x = np.linspace(0.3, 1, 8)
    given = [np.int64(2), np.int32(4)]
    # a number that is needed is checked at each call; the last ones are new objects
    for n in (*given, np.int64(2), np.int32(4)):
        np.testing.assert_allclose(compiled(x, n), function(x, n), rtol=1e-13)
    seen = {signature.reason for signature in compiled.signatures}
    assert seen == {"first call", "n is np.int32(4)"}


def test_an_integer_of_numpys_is_traced_where_it_can_be() -> None:
    @gradc.compile
    def scaled(p: Any, x: Any) -> Any:
        return x * p["n"] ** 2 if p["n"] > 2 else x

    for n in (1, 3):
        assert scaled({"n": np.int64(n)}, 1.5) == (1.5 if n < 3 else 13.5)
        assert scaled({"n": np.array(n)}, 1.5) == (1.5 if n < 3 else 13.5)
    assert len(scaled.signatures) == 1
    powers = gradc.vmap(lambda x, n: np.sum(x ** np.arange(n)), (0, None))
    np.testing.assert_allclose(powers(np.array([2.0, 3.0]), np.int64(3)), [7.0, 13.0])


def is_one_of(x: Any, n: int) -> Any:
    if n in (4, 7):
        return x
    return 3 * x


def by_text(x: Any, n: int) -> Any:
    if f"{n}" == "4":
        return {"w4": 2.0}.get(f"w{n}", 9.0) * x
    return {4: 1.0, 5: 5.0}[n] * x


def found(x: Any, n: int) -> Any:
    return next(v for v in (1, 2, 3, 4, 5) if v == n) * x + (4, 5, 6).index(n)


@pytest.mark.parametrize("function", [is_one_of, by_text, found])
def test_what_python_decides_by_it(function: Any) -> None:
    compiled = gradc.compile(function)
    for n in (4, 5):
        assert compiled(1.5, n) == function(1.5, n)
        assert compiled.grad(1.5, n) == function(1.0, n) - function(0.0, n)


def test_bits_of_arrays_are_refused_as_they_were() -> None:
    with pytest.raises(gradc.TraceError, match="the operators << and >> are not supported"):
        gradc.compile(lambda x, k: x * (k[0] << 1))(1.0, np.array([1, 2]))
    with pytest.raises(gradc.DTypeError, match="bitwise_and is supported for bool arrays only"):
        gradc.compile(lambda x, k: x * (k[0] & 1))(1.0, np.array([1, 2]))
