"""What passes over the rows a function takes, in words."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.row_sums.plan import Plan
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import evaluate
from gradc_ir.core.types import Type
from gradc_ir.location import Location

_REDUCES = {
    "add": "sum",
    "multiply": "product",
    "maximum": "maximum",
    "minimum": "minimum",
}


def report(plan: Plan) -> str:
    """Return the passes, what each reads, is given and sums up, and the user's lines of that."""
    paths = [each.path for each in plan.arrays]
    count = len(plan.passes)
    lines = [
        f"{plan.traced.function.name}: {count} pass{'es' * (count > 1)} over the rows of "
        f"{', '.join(paths)}"
    ]
    for number, each in enumerate(plan.passes):
        read = ", ".join(paths[plan.rows.index(row)] for row in sorted(each.rows))
        lines.append(
            f"pass {number + 1} reads {read}; is given {_bytes(each.given)}, returns "
            f"{_bytes(each.sums)} a node of the tree"
        )
        rows = [
            (f"{_REDUCES[how]} {value.type}", _line(plan.function, value))
            for how, value in zip(each.joins, each.sums)
        ]
        lines += [
            f"  {_often(rows.count(row))}{' at '.join(filter(None, row))}"
            for row in dict.fromkeys(rows)
        ]
    return "\n".join(lines)


def _often(count: int) -> str:
    return f"{count} times " if count > 1 else ""


def _bytes(values: Sequence[Value]) -> str:
    count = sum(_bytes_of(value.type) for value in values)
    return f"{count} byte{'s' * (count != 1)}"


def _bytes_of(type_: Type) -> int:
    count = type_.dtype.bytes
    for size in type_.shape:
        count *= size if isinstance(size, int) else evaluate(size, {})
    return count


def _line(function: Function, value: Value) -> str:
    places: Sequence[Location] = function.locations.get(value.node, ())
    return f"{places[0].file.rpartition('/')[2]}:{places[0].line}" if places else ""
