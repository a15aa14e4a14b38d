"""What Python does with the integer that ``len(x)`` is, it does with a size known by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gradc

OF_A_SIZE: dict[str, Any] = {
    "divmod": lambda x: sum(divmod(len(x), 3)) * x[0],
    "rdivmod": lambda x: sum(divmod(20, len(x))) * x[0],
    "shift": lambda x: ((len(x) >> 1) + (len(x) << 2) + (1 << len(x)) + (999 >> len(x))) * x[0],
    "and": lambda x: (
        ((len(x) & 1) + (len(x) & 6) + (5 & len(x)) + (len(x) | 2) + (len(x) ^ 3) + ~len(x)) * x[0]
    ),
    "round": lambda x: (
        (
            round(len(x))
            + round(len(x), -1)
            + math.floor(len(x))
            + math.ceil(len(x))
            + math.trunc(len(x))
        )
        * x[0]
    ),
    "comb": lambda x: (
        (
            math.comb(len(x), 2)
            + math.factorial(len(x))
            + math.isqrt(len(x))
            + math.gcd(len(x), 6)
            + math.perm(len(x), 2)
        )
        * x[0]
    ),
    "str": lambda x: (
        len(f"{len(x):04d}{len(x)}") * x[0]
        + {"w5": 2.0, "w7": 3.0, "w4": 1.0}.get(f"w{len(x)}", 9.0) * x[1]
        + int(str(len(x))) * x[0]
    ),
    "bits": lambda x: (len(x).bit_length() + len(x).real + len(x).numerator) * x[0],
    "float": lambda x: (
        math.sqrt(len(x)) * x[0]
        + np.sqrt(len(x)) * x[1]
        + len(x) ** 0.5 * x[0]
        + len(x) ** -1 * x[1]
        + 2 ** len(x) * x[0]
        + len(x) ** len(x) * x[1]
    ),
    "shiftslice": lambda x: np.sum(x[: len(x) >> 1]) + np.sum(x[len(x) & 1 :]),
    "minmax": lambda x: (
        (
            max(len(x), 5)
            + min(len(x), 5)
            + abs(len(x) - 6)
            + (len(x) == 5)
            + (len(x) != 5)
            + (len(x) > 5)
            + bool(len(x) - 5)
            + (len(x) in (4, 7))
        )
        * x[0]
    ),
    "hash": lambda x: {4: 1.0, 5: 2.0}.get(len(x), 3.0) * x[0],
    "isinst": lambda x: (
        (isinstance(len(x), int) + isinstance(x.shape[0], int) + (type(len(x)) is int)) * x[0]
    ),
    "chr": lambda x: (
        ord(chr(len(x) + 60)) * x[0] + len(hex(len(x))) * x[1] + len(bin(len(x))) * x[0]
    ),
    "pow3": lambda x: pow(len(x), 2, 3) * x[0] + pow(len(x), 2) * x[1],
    "rep": lambda x: (
        len(np.zeros(len(x)).tolist()) * x[0]
        + sum(range(len(x))) * x[1]
        + len(list(range(0, len(x), 2))) * x[0]
    ),
    "enumerate": lambda x: (
        sum(i * v for i, v in enumerate(x, len(x))) + sum(v for v in reversed(x))
    ),
    "iter": lambda x: (
        sum([x[-i] for i in range(1, len(x) + 1)]) * 1.0 + x[len(x) // 2] + x[-(len(x) // 2)]
    ),
}


@pytest.mark.parametrize("name", OF_A_SIZE)
def test_a_size_known_by_name_is_an_integer(name: str) -> None:
    function = OF_A_SIZE[name]
    compiled = gradc.compile(function)
    for size in (4, 7, 5, 6):  # from the second one on it has a name at first
        x = np.linspace(0.3, 1, size)
        np.testing.assert_allclose(compiled(x), function(x), rtol=1e-13)


def test_what_integers_lack_is_an_error_of_theirs() -> None:
    compiled = gradc.compile(lambda x: x[0] * len(x).magnitude)
    for size in (4, 7):
        with pytest.raises(AttributeError, match="'int' object has no attribute 'magnitude'"):
            compiled(np.ones(size))


def test_powers_below_zero_are_floats() -> None:
    def powers(x: Any, n: int) -> Any:
        return 2**-n * x[0] + n**-n * x[1] + (-1) ** n * x[0] + 3 ** (n - 5) * x[1]

    compiled = gradc.compile(powers)
    x = np.array([0.3, 0.7])
    for n in (4, 7, 5):
        np.testing.assert_allclose(compiled(x, n), powers(x, n), rtol=1e-14)


def test_powers_of_steps() -> None:
    def series(x: Any) -> Any:
        total = 0.0
        for k in range(60):
            total = total + (-1) ** k * x**k / 2**k
        return total

    compiled = gradc.compile(series)
    np.testing.assert_allclose(compiled(0.7), series(0.7), rtol=1e-14)
    assert "scan" in compiled.dump(stage="final")  # the number of a step is not below 0

    def shifted(x: Any, n: int) -> Any:
        for k in range(n):
            x = x + 2 ** (k - 3)
        return x

    for n in (7, 4):
        assert gradc.compile(shifted)(0.5, n) == shifted(0.5, n)  # unrolled, as it must be

    def rolled(x: Any, n: int) -> Any:
        for k in gradc.rolled(range(n)):
            x = x + 2 ** (k - 3)
        return x

    with pytest.raises(gradc.TraceError, match=r"(?s)where Python makes a float.*2 \*\* \(k - 3\)"):
        gradc.compile(rolled)(0.5, 7)
