"""Before scheduling: composite ops become simple ones, and a statement reduces one axis at most."""

from __future__ import annotations

from gradc_codegen.blas import by_blas
from gradc_codegen.sampling import sample
from gradc_ir import build
from gradc_ir.builder import rebuilt
from gradc_ir.graph import Function, Node, Value
from gradc_ir.matrices import solution_by_lu
from gradc_ir.ops.linalg import condition_of, contracted, parse_spec, print_spec
from gradc_ir.rearrange import scalar_constant
from gradc_ir.sizes import product

_SPELLED_OUT = ("logsumexp", "solve")


def prepare(function: Function, blas: bool = False) -> Function:
    """Return an equal function, to the bit, of ops the schedule knows.

    ``logsumexp``, ``solve`` and the sigmoids of arrays are spelled out, reductions and contractions
    over several axes become chains over one axis each (the last axis first, as the order of
    reduction says), scatters have one index axis, and contractions make no more than is gathered.
    Fences (``stop_gradient``, ``exactly``) have done their work and go. Bodies of control flow are
    prepared when they are scheduled.

    With ``blas`` contractions that are bound by arithmetic go to BLAS, whose bits are its own.
    """
    function = sample(function)
    if not any(_is_composite(node, blas) for node in function.nodes):
        return function

    def make(node: Node, operands: list[Value]) -> list[Value]:
        made = None
        if blas and node.op.name == "contract":
            made = by_blas(function, node, operands)
        return [_expand(node, operands) if made is None else made]

    return rebuilt(function, lambda node: _is_composite(node, blas), make)


def _is_composite(node: Node, blas: bool) -> bool:
    name = node.op.name
    if name in _SPELLED_OUT or node.op.scalar == "identity":
        return True
    if name in ("sigmoid", "sigmoid_derivative"):
        return bool(node.results[0].type.shape)
    if node.op.family == "reduce":
        return len(node.attributes["axes"]) > 1
    if name == "contract":
        return blas or len(contracted(node.attributes["spec"])) > 1
    if name in ("scatter_set", "scatter_add"):
        return node.operands[2].type.rank > 1
    return False


def _expand(node: Node, operands: list[Value]) -> Value:
    name = node.op.name
    if node.op.scalar == "identity":
        return operands[0]
    if name == "logsumexp":
        return _expand_logsumexp(operands[0], node.attributes["axes"])
    if name == "sigmoid":
        return _expand_sigmoid(operands[0])
    if name == "sigmoid_derivative":
        power, below = _of_sigmoid(operands[0])
        return power / (below * below)
    if name == "solve":
        return solution_by_lu(*operands, from_transposed=node.attributes["transposed"])
    if node.op.family == "reduce":
        return _reduce(name, operands[0], node.attributes["axes"])
    if name == "contract":
        return _expand_contract(operands[0], operands[1], node.attributes["spec"])
    return _flatten_scatter(node, operands)


def _reduce(name: str, x: Value, axes: tuple[int, ...]) -> Value:
    for axis in sorted(axes, reverse=True):
        x = build.apply(name, x, axes=(axis,))
    return x


def _expand_logsumexp(x: Value, axes: tuple[int, ...]) -> Value:
    largest = _reduce("reduce_max", x, axes)
    finite = build.select(build.lt(build.abs(largest), float("inf")), largest, 0.0)
    kept = tuple(axis for axis in range(x.type.rank) if axis not in axes)
    shifted = build.exp(x - build.broadcast(finite, x.type.shape, kept))
    return build.log(_reduce("reduce_sum", shifted, axes)) + finite


def _expand_sigmoid(x: Value) -> Value:
    power, below = _of_sigmoid(x)
    return build.select(build.le(0.0, x), 1.0, power) / below


def _of_sigmoid(x: Value) -> tuple[Value, Value]:
    """Return exp(-|x|) and 1 plus it, which the sigmoids of x and -x and their slope share."""
    power = build.exp(-_size(x))
    return power, 1.0 + power


def _size(x: Value) -> Value:
    """Return the absolute value, the same node for a value and its negative."""
    if x.op.name == "neg":
        return build.abs(x.operands[0])
    if x.op.name == "mul":
        factor = scalar_constant(x.operands[1])
        if factor is not None and factor < 0:
            return build.abs(x.operands[0] * -factor)
    return build.abs(x)


def _expand_contract(x: Value, y: Value, spec: str) -> Value:
    """The last label is joined by fma; the labels before it are sums of those, last first."""
    left, right, result = parse_spec(spec)
    outer = contracted(spec)[:-1]
    inner = build.contract(x, y, print_spec(left, right, result + outer, condition_of(spec)))
    return _reduce("reduce_sum", inner, tuple(range(len(result), len(result) + len(outer))))


def _flatten_scatter(node: Node, operands: list[Value]) -> Value:
    x, part, *indices = operands
    shape = indices[0].type.shape
    count = product(shape)
    flat = [build.reshape(index, (count,)) for index in indices]
    rest = part.type.shape[len(shape) :]
    axes = node.attributes["axes"]
    return build.apply(node.op.name, x, build.reshape(part, (count, *rest)), *flat, axes=axes)
