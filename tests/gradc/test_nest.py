"""Nests: flattened and put together again, with a path for each leaf."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from gradc.arguments import pytree
from gradc_ir.errors import TraceError


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass(frozen=True)
class Layer:
    weight: Any
    bias: Any = None
    name: Any = field(default=1.0)

    def __post_init__(self):
        if self.weight is None:
            raise ValueError("a layer needs a weight")


@dataclass
class Empty:
    pass


NESTS = [
    3.0,
    (),
    None,
    {"p": {"w": 1, "b": 2}, "t": (3, [4, None])},
    Point(1, (2, 3)),
    [Layer(1), Layer(2, 3)],
    {"a": Layer(Point(1, 2))},
    {2: 1, 1: 2},
    OrderedDict(b=1, a=2),
    [Empty()],
    Layer,
]


@pytest.mark.parametrize("value", NESTS, ids=str)
def test_round_trip(value: Any) -> None:
    leaves, structure = pytree.flatten(value)
    assert pytree.unflatten(structure, leaves) == value
    assert structure == pytree.flatten(value)[1]
    assert hash(structure) == hash(pytree.flatten(value)[1])
    assert structure.leaves == len(leaves) == len(pytree.paths(value))


def test_paths() -> None:
    value = {"p": {"w": 1, "b": 2}, "t": (3, [4, None])}
    assert pytree.flatten(value)[0] == [2, 1, 3, 4]
    assert pytree.paths(value) == ["p.b", "p.w", "t[0]", "t[1][0]"]
    assert pytree.paths(Point(1, (2, 3)), "point") == ["point.x", "point.y[0]", "point.y[1]"]
    assert pytree.paths([Layer(1), Layer(2, 3)], "net") == [
        "net[0].weight", "net[0].name", "net[1].weight", "net[1].bias", "net[1].name",
    ]  # fmt: skip
    assert pytree.paths({"a b": 1, "c": 2}) == ["['a b']", "c"]
    assert pytree.paths(5, "x") == ["x"]


def test_a_dataclass_is_not_initialised_again() -> None:
    _, structure = pytree.flatten(Layer(1, 2, 3))
    assert pytree.unflatten(structure, [4, 5, 6]) == Layer(4, 5, 6)


def test_structures_print() -> None:
    assert str(pytree.flatten({"w": 1, "b": (2, None)})[1]) == "{'w': *, 'b': (*, None)}"


def test_the_wrong_number_of_leaves() -> None:
    _, structure = pytree.flatten((1, 2))
    with pytest.raises(TraceError) as caught:
        pytree.unflatten(structure, [1])
    assert str(caught.value) == "a nest with 2 leaves was given 1"
