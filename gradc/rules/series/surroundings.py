"""The graph around a region, which regions of one function share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import users


class Surroundings(NamedTuple):
    """Who reads a value, and the places of nodes."""

    readers: Mapping[Value, Sequence[Node]]
    order: Mapping[Node, int]

    @classmethod
    def of(cls, function: Function) -> Surroundings:
        """Return the graph of a function."""
        return cls(users(function), {node: i for i, node in enumerate(function.nodes)})
