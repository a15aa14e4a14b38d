"""Large known arrays of running products are computed where they are read, to the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradc_ir import build
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.known.products import ComputeProducts
from tests.codegen.compiled import function_of
from tests.comparing import assert_same_bits

T = np.linspace(-1.5, 1, 6000)
MADE: dict[str, Callable[[], Any]] = {
    "increasing": lambda: np.vander(T, 12, increasing=True),
    "decreasing": lambda: np.vander(T, 12),
    "rows": lambda: np.vander(T, 12).T,
    "products": lambda: np.cumprod(np.broadcast_to(T[:, None], (len(T), 12)), axis=1),
    "floats": lambda: np.vander(np.float32(T), 24),
}


def squares(known: Any) -> Function:
    """Return half the gradient of the sum of the squares of a product with a known matrix."""
    dtype = DType.F32 if known.dtype == np.float32 else DType.F64

    def body(x: Value) -> list[Value]:
        matrix = build.constant(known)
        made = build.contract(matrix, x, "ij,j->i")
        return [build.contract(made, matrix, "i,ij->j")]

    return function_of([Type(dtype, (known.shape[1],))], body)


def sizes_of_constants(function: Function) -> list[int]:
    constants = [node for node in function.nodes if node.op.name == "constant"]
    return [node.attributes["value"].array.size for node in constants]


@pytest.mark.parametrize("how", MADE)
def test_they_are_computed_to_the_same_bits(how: str) -> None:
    known = MADE[how]()
    function = squares(known)
    made = ComputeProducts()(function)
    assert max(sizes_of_constants(made)) == len(T)
    x = np.linspace(1, 2, known.shape[1]).astype(known.dtype)
    assert_same_bits(interpret(made, [x])[0], interpret(function, [x])[0])


def changed(at: tuple[int, int], to: float) -> Any:
    array = np.vander(T, 12)
    array[at] = to
    return array


@pytest.mark.parametrize(
    "known",
    [
        changed((5000, 3), np.nextafter(T[5000] ** 8, 9)),
        changed((5000, 3), np.nan),
        changed((0, 11), -1.0),
        np.vander(T[:4000], 12),
        np.vander(T[:700], 300),
        np.random.default_rng(0).normal(size=(6000, 12)),
    ],
    ids=["a bit", "nan", "sign", "small", "many columns", "random"],
)
def test_other_arrays_stay(known: Any) -> None:
    function = squares(known)
    assert ComputeProducts()(function) is function


def test_what_is_read_once_stays() -> None:
    def body(x: Value) -> list[Value]:
        return [build.contract(build.constant(np.vander(T, 12)), x, "ij,j->i")]

    function = function_of([Type(DType.F64, (12,))], body)
    assert ComputeProducts()(function) is function


def test_products_with_matrices_read_memory() -> None:
    def body(x: Value) -> list[Value]:
        matrix = build.constant(np.vander(T, 12))
        return [
            build.contract(matrix, x, "ij,jk->ik"),
            build.reduce_sum(matrix, [1]),
        ]

    function = function_of([Type(DType.F64, (12, 5))], body)
    assert ComputeProducts()(function) is function
