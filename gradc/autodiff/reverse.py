"""Reverse mode: a function and the cotangents of its parameters, from partials and transposes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from gradc.autodiff import masks, windows, zeros
from gradc.autodiff.active import active_nodes
from gradc.autodiff.masks import Cotangent
from gradc.autodiff.open_calls import open_ruleless
from gradc.autodiff.windows import Windows
from gradc.derivatives.registry import Site, derivative_of
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.errors import ShapeError
from gradc_ir.graph import Function, Node, Value


def vjp(
    function: Function, wrt: Sequence[int], seeds: Literal["ones", "params"] = "params"
) -> Function:
    """Return the function that also pulls cotangents back.

    Parameters: the function's, then, with ``seeds="params"``, the cotangent of each float result,
    in order. Results: the function's, then the cotangent of each parameter in ``wrt``, of its type.
    ``seeds="ones"`` is for gradients: the first result, a float scalar, has cotangent 1 and the
    others have none.

    Raises DTypeError when a parameter of ``wrt`` is no float, ShapeError when ``seeds="ones"`` and
    the first result is no float scalar, NoGradientError when an op on the way to it has no
    derivative.
    """
    function = open_ruleless(function)
    zeros.check_wrt(function, wrt)
    seeded = _seeded(function, seeds)
    active = active_nodes(function, wrt, seeded)
    builder = Builder()
    with builder:
        params = [builder.param(i, type_) for i, type_ in enumerate(function.param_types)]
        new: dict[Value, Value] = dict(zip(function.params, params))
        for node in function.body:
            builder.copy(node, new, function.locations.get(node, ()))
        builder.here = ()
        cotangents: list[Value] = []
        sums = _Sums(active)
        for i, result in enumerate(seeded):
            if seeds == "ones":
                seed = build.ones_like(result)
            else:
                seed = builder.param(len(params) + i, result.type)
                cotangents.append(seed)
            sums.add(result, Cotangent(seed))
        for node in reversed(function.nodes):
            if node in active and node.op.name != "param":
                builder.here = function.locations.get(node, ())
                _pull(node, function, new, sums)
        builder.here = ()
        wanted = [function.params[position] for position in wrt]
        found = [sums.take(param, new[param]) for param in wanted]
        gradients = [
            zeros.zeros(param.type) if cotangent is None else cotangent.solid()
            for param, cotangent in zip(wanted, found)
        ]
        return builder.function(
            f"{function.name}_{'grad' if seeds == 'ones' else 'vjp'}",
            params + cotangents,
            [new[result] for result in function.results] + gradients,
            (*function.names, *(f"ct{i}" for i in range(len(cotangents)))),
            function.location,
        )


def _seeded(function: Function, seeds: str) -> list[Value]:
    if seeds == "params":
        return [result for result in function.results if result.type.dtype.is_float]
    first = function.results[0]
    if first.type.shape or not first.type.dtype.is_float:
        raise ShapeError(
            f"{function.name}: a gradient is of a float scalar, not of {first.type}",
            at=function.location,
            help="sum it to a scalar, or use gradc.jacobian or gradc.vjp",
        )
    return [first]


class _Sums:
    """The cotangents so far; windows of one value are kept apart, to be joined at the end."""

    def __init__(self, active: set[Node]) -> None:
        self._active = active
        self._sums: dict[Value, Cotangent] = {}
        self._windows: dict[Value, Windows] = {}

    def add(self, value: Value, cotangent: Cotangent | None) -> None:
        if cotangent is not None and self.wants(value):
            total = masks.add(self._sums.get(value), cotangent)
            assert total is not None
            self._sums[value] = total

    def wants(self, value: Value) -> bool:
        """Whether a cotangent of the value leads anywhere."""
        return value.node in self._active and value.type.dtype.is_float

    def add_window(self, node: Node, cotangent: Cotangent) -> None:
        whole = node.operands[0]
        self._windows.setdefault(whole, Windows()).add(node.attributes["starts"], cotangent)

    def take(self, value: Value, new: Value) -> Cotangent | None:
        """Return the sum for a value all of whose readers are done; None is zero."""
        total = self._sums.get(value)
        found = self._windows.get(value)
        return masks.add(total, found.joined(new.type)) if found else total


def _pull(node: Node, function: Function, new: dict[Value, Value], sums: _Sums) -> None:
    """Add what one node contributes to its operands' cotangents."""
    cotangents = [sums.take(result, new[result]) for result in node.results]
    if all(cotangent is None for cotangent in cotangents):
        return
    if windows.is_window(node):
        assert cotangents[0] is not None
        sums.add_window(node, cotangents[0])
        return
    derivative = derivative_of(node, function)
    wanted = tuple(sums.wants(operand) for operand in node.operands)
    operands = tuple(new[operand] for operand in node.operands)
    results = tuple(new[result] for result in node.results)
    site = Site(node.op, results, operands, node.attributes, wanted)
    assert derivative.reverse is not None
    for operand, cotangent in zip(node.operands, derivative.reverse(site, cotangents)):
        sums.add(operand, cotangent)
