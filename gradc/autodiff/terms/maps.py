"""Loops whose steps know nothing of each other, as what all their rows make at once."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff.batching import batch
from gradc_ir import build
from gradc_ir.core.builder import rebuilt
from gradc_ir.core.graph import Function, Node, Value


def open_maps(function: Function) -> Function:
    """Return the function with scans that hand on nothing as batches of their steps."""
    if not any(map(_is_map, function.nodes)):
        return function
    return rebuilt(function, _is_map, _at_once)


def _is_map(node: Node) -> bool:
    if node.op.name != "scan" or node.attributes["counted"]:
        return False
    return not node.attributes["carries"] and len(node.operands) > int(node.attributes["consts"])


def _at_once(node: Node, operands: list[Value]) -> Sequence[Value]:
    attributes = node.attributes
    body, consts = open_maps(attributes["body"]), attributes["consts"]
    rows = len(operands) - consts
    wide = batch(body, [False] * consts + [True] * rows, attributes["length"])
    return build.active().inline(wide, operands)
