"""Whether the rules a user gave agree: with each other, and with differences of the value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradc.arguments import pytree
from gradc.autodiff.open_calls import OpenCalls
from gradc.autodiff.transpose import forward_of, reverse_of
from gradc.tracing import trace
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node
from gradc_ir.core.op import Attributes
from gradc_ir.core.types import Type
from gradc_ir.errors import GradcError, RuleError
from gradc_ir.interpreter.interpret import interpret, numbers, watched

Arrays = list[Any]

# Sizes that only a symbol stands for are so many at random points.
_SIZE = 3
_POINTS = 4
_TOLERANCE = {4: 2e-2, 8: 1e-5}


class _Made(NamedTuple):
    """What is checked: the value, and the directions that there are."""

    name: str
    body: Function
    forward: Function | None
    reverse: Function | None
    arguments: tuple[int, ...]
    given: tuple[str, ...]


def check_rules(attributes: Attributes) -> None:
    """Check the rules of a ``call`` node at random points.

    Raises RuleError when they differ, and when the value is finite at no point that was tried.
    """
    made = _made(attributes)
    random = np.random.default_rng(0)
    checked = [_check(made, arrays, random) for arrays in _points(made.body, random)]
    if not any(checked):
        raise RuleError(
            f"{made.name}: its rules could not be checked, its value is finite at no random point",
            at=made.body.location,
            help=f"call {made.name} with numbers, which checks them there, and trace it without "
            "check=True",
        )


def check_at(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Check the rules of a function, as traced code calls it, at arguments that are numbers."""
    traced = trace(function, args, kwargs)
    seen: dict[Node, Arrays] = {}

    def keep(of: Function, node: Node, operands: Sequence[Any], _: Sequence[Any]) -> None:
        if of is traced.function and node.op.name == "call":
            seen[node] = list(operands)

    leaves = _leaves(args, kwargs)
    captured = [capture.read() for capture in traced.captures]
    with watched(keep), np.errstate(all="ignore"):
        interpret(traced.function, [*leaves, *captured])
    for node, operands in seen.items():
        _check(_made(node.attributes), operands, np.random.default_rng(0))


def _leaves(args: Sequence[Any], kwargs: Mapping[str, Any]) -> Arrays:
    leaves, _ = pytree.flatten((tuple(args), tuple(kwargs.values())))
    numbers = (np.ndarray, np.generic, float, int)
    return [np.asarray(leaf) for leaf in leaves if isinstance(leaf, numbers)]


def _made(attributes: Attributes) -> _Made:
    body: Function = OpenCalls()(attributes["body"])
    unknown = attributes["constants"] or [""] * len(body.params)
    floats = [type_.dtype.is_float for type_ in body.param_types]
    arguments = tuple(i for i, is_float in enumerate(floats) if is_float and not unknown[i])
    found: list[Function | None] = []
    for direction in (forward_of, reverse_of):
        try:
            found.append(OpenCalls()(direction(attributes["name"], attributes)))
        except RuleError:
            found.append(None)  # it serves one direction only
    given = tuple(what for what in ("jvp", "vjp") if attributes[what] is not None)
    return _Made(attributes["name"], body, found[0], found[1], arguments, given)


def _points(body: Function, random: np.random.Generator) -> Iterator[Arrays]:
    symbols = dict.fromkeys(body.size_symbols, _SIZE)
    for number in range(_POINTS):
        low, high = (0.2, 0.8) if number % 2 else (-1.5, 1.5)
        arrays = []
        for type_ in body.param_types:
            shape = numbers(type_.shape, symbols)
            drawn = random.uniform(low, high, shape)
            whole = random.integers(0, 2, shape)
            arrays.append((drawn if type_.dtype.is_float else whole).astype(type_.dtype.numpy))
        yield arrays


def _check(made: _Made, arrays: Arrays, random: np.random.Generator) -> bool:
    """Check the rules at one point; False when the value is not finite there."""
    with np.errstate(all="ignore"):
        try:
            value = interpret(made.body, arrays)
        except GradcError:
            return False
        if not all(_is_finite(result) for result in value):
            return False
        upstream = [_like(result, random) for result in value if result.dtype.kind == "f"]
        for i in made.arguments:
            tangent = _like(arrays[i], random)
            expected, error = _difference(made.body, arrays, i, tangent, upstream)
            pushed = pulled = None
            if made.forward is not None:
                zeros = [np.zeros_like(array) for array in arrays]
                zeros[i] = tangent
                found = interpret(made.forward, [*arrays, *zeros])
                pushed = _product(upstream, [one for one in found if one.dtype.kind == "f"])
            if made.reverse is not None:
                cotangents = iter(upstream)
                given = [next(cotangents) if one.dtype.kind == "f" else one for one in value]
                found = interpret(made.reverse, [*arrays, *given])
                pulled = _product([tangent], [found[i]])
            type_ = made.body.param_types[i]
            scale = abs(expected) + abs(pushed or 0.0) + abs(pulled or 0.0)
            within = _TOLERANCE[type_.dtype.bytes] * (scale + 1e-3) + 10 * error
            if pushed is not None and pulled is not None and not abs(pushed - pulled) <= within:
                raise _differ(made, i, "its forward and its reverse mode differ", pushed, pulled)
            for found_, what in ((pushed, "jvp"), (pulled, "vjp")):
                if found_ is None or what not in made.given:
                    continue  # what is not given is the transpose of the other one
                if not abs(found_ - expected) <= within:
                    reason = f"its {what} differs from central differences"
                    raise _differ(made, i, reason, expected, found_)
    return True


def _difference(
    body: Function, arrays: Arrays, position: int, tangent: Any, upstream: Arrays
) -> tuple[float, float]:
    """Return the derivative along a tangent by central differences, and how far it may be off."""
    x = arrays[position]
    step = float(np.finfo(x.dtype).eps) ** (1 / 3) * max(1.0, float(np.max(np.abs(x), initial=0.0)))

    def quotient(h: float) -> float:
        sides = []
        for sign in (1, -1):
            moved = list(arrays)
            moved[position] = (x + sign * h * tangent).astype(x.dtype)
            sides.append([one for one in interpret(body, moved) if one.dtype.kind == "f"])
        return _product(upstream, [(a - b) / (2 * h) for a, b in zip(*sides)])

    near, far = quotient(step), quotient(2 * step)
    return near, abs(near - far)


def _product(left: Sequence[Any], right: Sequence[Any]) -> float:
    return float(sum(np.sum(np.asarray(a, float) * b) for a, b in zip(left, right, strict=True)))


def _like(array: Any, random: np.random.Generator) -> Any:
    return np.asarray(random.uniform(0.5, 1.5, array.shape), array.dtype)


def _is_finite(array: Any) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


def _differ(made: _Made, position: int, why: str, expected: float, found: float) -> RuleError:
    type_: Type = made.body.param_types[position]
    return RuleError(
        f"{made.name}: {why}",
        at=made.body.location,
        found=[
            f"argument {made.body.names[position]}: {type_}, along a random direction",
            f"expected: {expected}",
            f"found: {found}",
        ],
        help="correct the rule, or leave out check=True if it is meant to differ",
    )
