"""Picks of picks are one pick an axis of their source, to the same elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gradc_ir import build
from gradc_ir.core.builder import Builder
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.types import DType, Type
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.passes import Canonicalize


def _listed(value: Value, axis: int, places: list[int]) -> Value:
    return build.gather(value, [build.constant(np.array(places))], (axis,))


def _without(value: Value, axis: int, place: int) -> Value:
    """Record what ``np.delete`` does: the axis of the list goes back to where it was."""
    kept = [i for i in range(value.type.shape[axis]) if i != place]
    rank = len(value.type.shape)
    back = [*range(1, axis + 1), 0, *range(axis + 1, rank)]
    return build.transpose(_listed(value, axis, kept), tuple(back))


def _function(shape: tuple[int, ...], pick: Callable[[Value], Value]) -> Function:
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, shape))
        return builder.function("f", [x], [pick(x)])


def test_one_minor_made_in_two_ways_is_one_value() -> None:
    """Rows and columns deleted in another order pick the same elements."""
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (4, 4)))
        one = _without(_without(x, 0, 0), 1, 1)
        other = _without(_without(x, 1, 1), 0, 0)
        third = _without(_without(_without(x, 0, 2), 0, 0), 1, 1)
        fourth = _without(_without(_without(x, 1, 1), 0, 0), 0, 1)
        function = builder.function("f", [x], [one, other, third, fourth])
    one, other, third, fourth = Canonicalize()(function).results
    assert one is other
    assert third is fourth


def test_a_large_source_is_left() -> None:
    """What is picked of a large array may be small, and read often."""
    function = _function((5000,), lambda x: build.slice(_listed(x, 0, [3, 1, 2]), (1,), (2,), (1,)))
    assert Canonicalize()(function) is function


@given(st.data())
def test_elements_are_the_same(data: st.DataObject) -> None:
    """Any chain of lists, slices and transposes picks what it picked, bit for bit."""
    rank = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=rank, max_size=rank)))

    def pick(value: Value) -> Value:
        for _ in range(data.draw(st.integers(1, 5))):
            sizes = value.type.shape
            axis = data.draw(st.integers(0, rank - 1))
            kind = data.draw(st.sampled_from(["list", "slice", "transpose"]))
            if kind == "list":
                places = st.lists(st.integers(0, sizes[axis] - 1), min_size=1, max_size=4)
                value = _listed(value, axis, data.draw(places))
            elif kind == "transpose":
                value = build.transpose(value, tuple(data.draw(st.permutations(range(rank)))))
            else:
                size = data.draw(st.integers(1, sizes[axis]))
                start = data.draw(st.integers(0, sizes[axis] - size))
                step = 1
                if data.draw(st.booleans()):
                    start, step = start + size - 1, -1
                starts, steps, whole = [0] * rank, [1] * rank, list(sizes)
                starts[axis], steps[axis], whole[axis] = start, step, size
                value = build.slice(value, tuple(starts), tuple(whole), tuple(steps))
        return value

    function = _function(shape, pick)
    made = Canonicalize()(function)
    x = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    np.testing.assert_array_equal(interpret(made, [x])[0], interpret(function, [x])[0])
    assert Canonicalize()(made) is made
