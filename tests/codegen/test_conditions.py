"""Contractions of which only some products count: the interpreter's bits in every schedule."""

from __future__ import annotations

import numpy as np
import pytest

from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_codegen.lower.lower import lower_nest
from gradc_codegen.schedule.choices import Choices
from gradc_codegen.schedule.schedule import schedule
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size, symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.elements import choice
from gradc_ir.errors import ShapeError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.ops.linalg import condition_of, parse_spec
from tests.codegen.test_lanes import WAYS, results_of
from tests.codegen.test_random_schedules import RandomChoices
from tests.comparing import assert_same_bits

SPECS = [
    "ij,j->i | j<i",
    "ij,j->i | i<j",
    "ji,j->i | j<=i",
    "aij,naj->nai | j<i",
    "aij,nai->naj | j<i",
    "aij,naj->nai | i<=j",
    "ij,jk->ik | j<=i",
    "ij,jk->ik | j<k",
    "ij,ij->i | i<j",
    "ij,ij-> | i<j",
    "i,j->ij | j<=i",
    "nij,nij->n | j<=i",
    "ij,njk->nik | i<=j",
    "ij,njk->nik | j<i",
]
LENGTHS = {"a": 3, "n": 37}


def contraction(spec: str, length: int, dtype: DType, rows: Size = LENGTHS["n"]) -> Function:
    sizes: dict[str, Size] = {**LENGTHS, "n": rows}
    types = [
        Type(dtype, tuple(sizes.get(label, length) for label in labels))
        for labels in parse_spec(spec)[:2]
    ]
    with Builder() as builder:
        x, y = (builder.param(i, type_) for i, type_ in enumerate(types))
        return builder.function("f", [x, y], [build.contract(x, y, spec)])


def factors(function: Function, dtype: DType) -> list[np.ndarray]:
    random = np.random.default_rng(7)
    shapes = [tuple(s if isinstance(s, int) else 37 for s in p.shape) for p in function.param_types]
    return [np.asarray(random.normal(size=shape), dtype.numpy) for shape in shapes]


@pytest.mark.parametrize("length", [1, pytest.param(2, marks=pytest.mark.slow), 10, 35])
@pytest.mark.parametrize("spec", SPECS)
def test_every_schedule_has_the_bits_of_the_interpreter(spec: str, length: int) -> None:
    dtype = DType.F32 if length == 10 else DType.F64
    function = contraction(spec, length, dtype)
    arguments = factors(function, dtype)
    (want,) = interpret(function, arguments)
    others = (*WAYS.values(), RandomChoices(length)) if length > 2 else ()
    for choices in (Choices(), *others):
        for found in results_of(function, arguments, choices):
            assert_same_bits(found, want)


@pytest.mark.slow
@pytest.mark.parametrize("spec", [spec for spec in SPECS if "n" in spec])
def test_symbolic_sizes_around(spec: str) -> None:
    function = contraction(spec, 6, DType.F64, symbol("n"))
    arguments = factors(function, DType.F64)
    (want,) = interpret(function, arguments)
    for choices in WAYS.values():
        for found in results_of(function, arguments, choices):
            assert_same_bits(found, want)


@pytest.mark.slow
@pytest.mark.parametrize("spec", SPECS)
def test_what_does_not_count_may_be_anything(spec: str) -> None:
    """Infinities and nan outside of the triangle change nothing."""
    condition = condition_of(spec)
    assert condition is not None
    function = contraction(spec, 6, DType.F64)
    arguments = factors(function, DType.F64)
    for labels, array in zip(parse_spec(spec), arguments):
        if condition.small in labels and condition.large in labels:
            moved = np.moveaxis(
                array, [labels.index(condition.small), labels.index(condition.large)], [0, 1]
            )
            outside = np.tril_indices(6, -1 if condition.may_be_equal else 0)
            moved[outside] = np.nan
            clean = [np.nan_to_num(other, nan=0.0) for other in arguments]
            want = np.einsum(spec.partition(" ")[0], *clean)
            for choices in WAYS.values():
                (found,) = results_of(function, arguments, choices)
                np.testing.assert_allclose(found, want, rtol=1e-13, atol=1e-13)


def loss(entries: np.ndarray, scales: np.ndarray, x: np.ndarray) -> np.ndarray:
    length = scales.shape[0]
    lower = np.zeros((length, length))
    lower[np.tril_indices(length, -1)] = entries
    lower[np.arange(length), np.arange(length)] = np.exp(scales)
    return np.sum(np.tanh(np.einsum("ij,nj->ni", lower, x)) ** 2)


def test_a_triangle_written_into_zeros_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "_MOST_OPERATIONS", 0)  # no array is taken apart
    types = [Type(DType.F64, shape) for shape in ((45,), (10,), (symbol("n"), 10))]
    traced = trace(loss, types).function
    final = derive(traced, Request("value_and_grad", (0, 1, 2)))
    conditions = [
        str(condition_of(node.attributes["spec"]))
        for node in final.nodes
        if node.op.name == "contract"
    ]
    assert sorted(conditions) == ["None", "j<=i", "k<=j"]
    random = np.random.default_rng(1)
    arguments = [random.normal(size=size) for size in (45, 10, (37, 10))]
    wanted = interpret(final, arguments)
    for choices in WAYS.values():
        for found, want in zip(results_of(final, arguments, choices), wanted):
            np.testing.assert_allclose(found, want, rtol=1e-12)
    np.testing.assert_allclose(wanted[0], loss(*arguments), rtol=1e-13)
    step = 1e-6
    for at, array in enumerate(arguments):
        moved = [*arguments]
        direction = random.normal(size=array.shape)
        moved[at] = array + step * direction
        above = loss(*moved)
        moved[at] = array - step * direction
        slope = (above - loss(*moved)) / (2 * step)
        np.testing.assert_allclose(np.sum(wanted[1 + at] * direction), slope, rtol=1e-7)


def test_a_loop_runs_over_what_counts() -> None:
    """Nothing is chosen inside of the loop."""
    for spec in ("nj,ij->ni | j<i", "nj,ij->ni | i<=j"):
        kernel = schedule(contraction(spec, 10, DType.F64, 4096), choices=WAYS["outside"])
        text = lower_nest(kernel, "f")
        assert "select" not in text


@pytest.mark.parametrize("text", ["j>i", "j<", "jj<i", "j==i", "j<q"])
def test_a_condition_that_is_none(text: str) -> None:
    with pytest.raises(ShapeError, match=r"condition|label no operand has"):
        contraction(f"ij,j->i | {text}", 4, DType.F64)
