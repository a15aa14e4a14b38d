"""Which axis of a value holds the rows, and whether an op keeps rows apart.

The number of rows is a symbol of its own in a graph, so a type tells the axis. What stays to be
seen is that an op makes row i of its result from row i of its operands alone. A reduction over rows
is where the parts meet again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Expr, Size, product, symbol, symbols
from gradc_ir.core.types import Type
from gradc_ir.errors import TraceError
from gradc_ir.ops.linalg import condition_of, contracted, parse_spec

NAME = "rows"
ROWS = symbol(NAME)

_ORDER = "call the function on all rows in one process, or write it without that"
_CHOSEN = "rows are added one after another, to places that they choose"
_CURES = {_CHOSEN: "sum up products with (labels[:, None] == np.arange(count)) instead"}
_APART = "a sum over rows keeps each row by itself until a reduction over all of them"


def row_axis(type_: Type) -> int | None:
    """Return which axis of a type is as long as there are rows, None for none."""
    return next((axis for axis, size in enumerate(type_.shape) if size == ROWS), None)


def over_rows(node: Node) -> bool:
    """Whether a node reduces its operands over the rows."""
    if node.op.family == "reduce":
        return row_axis(node.operands[0].type) in node.attributes["axes"]
    if node.op.name == "contract":
        return _row_letter(node) in contracted(node.attributes["spec"])
    return False


def check_rows(function: Function) -> None:
    """Raise TraceError, at the user's line, where a value of the function is no sum over rows."""
    numbers: set[Value] = set()
    for node in function.body:
        _check(function, node, numbers, inside=False)
    for result in function.results:
        if row_axis(result.type) is not None:
            raise _refused(
                function, result.node, f"a result has an entry for each row: {result.type}", _APART
            )


def _check(function: Function, node: Node, numbers: set[Value], inside: bool) -> None:
    for result in node.results:
        odd = [size for size in result.type.shape if NAME in _names(size)]
        if odd not in ([], [ROWS]):
            many = "pairs of rows" if len(odd) > 1 else f"an axis of {odd[0]}"
            raise _refused(function, node, f"it makes {many}: {result.type}", _APART)
    reason = _reason(node, numbers, inside)
    if reason:
        raise _refused(function, node, reason, _CURES.get(reason, _ORDER))
    for body in node.attributes.values():
        if isinstance(body, Function) and node.op.family == "control":
            for step in body.body:
                _check(function, step, set(), inside=True)


def _names(size: Size) -> tuple[str, ...]:
    return () if isinstance(size, int) else symbols(size)


def _refused(function: Function, node: Node, reason: str, cure: str) -> TraceError:
    lines = function.locations.get(node, ())
    return TraceError(
        f"this is no sum over rows: {reason}",
        at=lines[0] if lines else function.location,
        help=cure,
    )


def _reason(node: Node, numbers: set[Value], inside: bool) -> str:
    """Return why a node mixes rows, nothing where it does not."""
    name = node.op.name
    if name in ("iota", "size"):
        if inside and NAME in _names(node.attributes["size"]):
            return "a loop or a branch uses the number of rows"
        if name == "iota" and node.attributes["size"] == ROWS:
            numbers.add(node.results[0])
        return ""
    if inside and over_rows(node):
        return "a loop or a branch reduces over the rows"
    of_rows = [row_axis(operand.type) is not None for operand in node.operands]
    makes_rows = [row_axis(result.type) is not None for result in node.results]
    if not any(of_rows) and not any(makes_rows):
        length = node.attributes.get("length")
        return "a loop runs as often as there are rows" if _is_counted(length) else ""
    if is_number_of_row(node, numbers):
        numbers.add(node.results[0])
    if node.op.is_elementwise or (over_rows(node) and not _has_condition(node)):
        return ""
    found = _RULES.get(name) or _BY_FAMILY.get(node.op.family)
    if found is None:
        return f"{name} mixes rows"
    return found(node, numbers)


def _is_counted(length: object) -> bool:
    return isinstance(length, Expr) and NAME in symbols(length)


def is_number_of_row(node: Node, numbers: Container[Value]) -> bool:
    """Whether a value is, in each row, the number of that row."""
    same = node.op.name in ("broadcast", "reshape", "transpose", "cast") or node.op.is_fence
    return same and node.operands[0] in numbers


def _all_rows(node: Node, numbers: set[Value]) -> str:
    return ""


def _same(axis: int, axes: Sequence[int], what: str) -> str:
    return what if axis in axes else ""


def _reshape(node: Node, numbers: set[Value]) -> str:
    old, new = node.operands[0].type, node.results[0].type
    before, after = row_axis(old), row_axis(new)
    if before is None or after is None:
        return "reshape mixes rows with other axes"
    same = product(old.shape[:before]) == product(new.shape[:after])
    return "" if same else "reshape mixes rows with other axes"


def _concatenate(node: Node, numbers: set[Value]) -> str:
    axis = row_axis(node.results[0].type)
    return "rows are put after other rows" if axis == node.attributes["axis"] else ""


def _picked(node: Node, numbers: set[Value]) -> str:
    return "" if row_axis(node.results[0].type) is not None else "one row is read by its number"


def _stack(node: Node, numbers: set[Value]) -> str:
    return _none_new(node, "numbers are laid along the rows")


def _none_new(node: Node, what: str) -> str:
    return "" if all(row_axis(operand.type) is not None for operand in node.operands) else what


def _window(node: Node, numbers: set[Value]) -> str:
    axis = row_axis(node.operands[0].type)
    starts, steps = node.attributes["starts"], node.attributes["steps"]
    if any(NAME in _names(start) for start in starts):
        return "a window begins where the number of rows says"
    if axis is None or row_axis(node.results[0].type) != axis:
        return "some of the rows are taken by their numbers"
    if row_axis(node.operands[-1].type) != axis or (starts[axis], steps[axis]) != (0, 1):
        return "rows are shifted, or some are taken by their numbers"
    return ""


def index_of_rows(node: Node) -> int | None:
    """Return which operand says the rows that a node reads or writes, None for none."""
    if node.op.family != "index":
        return None
    axis, axes = row_axis(node.operands[0].type), list(node.attributes["axes"])
    first = len(node.operands) - len(axes)
    return first + axes.index(axis) if axis in axes else None


def _indexed(node: Node, numbers: set[Value]) -> str:
    own = index_of_rows(node)
    if own is not None:
        return "" if node.operands[own] in numbers else "rows are read or written by their numbers"
    of_rows = [row_axis(operand.type) is not None for operand in node.operands]
    indices = of_rows[-len(node.attributes["axes"]) :]
    if of_rows[0]:
        return "each row reads or writes other rows" if any(indices) else ""
    if node.op.name != "gather":
        return _CHOSEN
    return ""


def _along(node: Node, numbers: set[Value]) -> str:
    along = any(row_axis(operand.type) == node.attributes["axis"] for operand in node.operands)
    return f"{node.op.name} goes from row to row" if along else ""


def _row_letter(node: Node) -> str:
    left, right, _ = parse_spec(node.attributes["spec"])
    for labels, operand in zip((left, right), node.operands):
        axis = row_axis(operand.type)
        if axis is not None:
            return labels[axis]
    return "?"


def _has_condition(node: Node) -> bool:
    if node.op.name != "contract":
        return False
    condition = condition_of(node.attributes["spec"])
    return condition is not None and _row_letter(node) in condition[:2]


def _contract(node: Node, numbers: set[Value]) -> str:
    return "a product takes part of the rows for each row" if _has_condition(node) else ""


def _factor(node: Node, numbers: set[Value]) -> str:
    for operand in node.operands:
        axis = row_axis(operand.type)
        if axis is not None and axis >= operand.type.rank - 2:
            # columns of a right-hand side are solved for one by one
            is_column = node.op.name in ("solve", "triangular_solve") and (
                operand is node.operands[1] and axis == operand.type.rank - 1
            )
            if not is_column:
                return f"{node.op.name} takes a matrix of all rows"
    return ""


def _external(node: Node, numbers: set[Value]) -> str:
    whole = node.attributes["sizes"] is not None
    return "a function of C takes all rows at once" if whole else ""


def _control(node: Node, numbers: set[Value]) -> str:
    if _is_counted(node.attributes.get("length")):
        return "a loop goes from row to row"
    return ""


_RULES: dict[str, Callable[[Node, set[Value]], str]] = {
    "broadcast": _all_rows,
    "transpose": _all_rows,
    "reshape": _reshape,
    "concatenate": _concatenate,
    "element": _picked,
    "stack": _stack,
    "slice": _window,
    "pad": _window,
    "set_slice": _window,
    "gather": _indexed,
    "scatter_set": _indexed,
    "scatter_add": _indexed,
    "argsort": _along,
    "cumsum": _along,
    "recurrence": _along,
    "contract": _contract,
}
_BY_FAMILY: dict[str, Callable[[Node, set[Value]], str]] = {
    "reduce": _all_rows,
    "factor": _factor,
    "foreign": _external,
    "control": _control,
}
