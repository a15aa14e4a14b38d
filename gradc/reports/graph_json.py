"""A graph as data that JSON can hold: its functions, their nodes, types, lines and costs."""

from __future__ import annotations

from typing import Any

from gradc_ir.core.constant import Constant
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.graphs.cost import GREAT, work
from gradc_ir.location import Lines
from gradc_ir.text.printer import VERSION, names_in_text, print_attribute
from gradc_ir.text.variables import is_derived

# Of a longer constant the first elements tell enough.
_MOST_ELEMENTS = 1000


def graph_json(function: Function) -> dict[str, Any]:
    """Return a function, and behind it the bodies that it holds, as nests of plain values."""
    names: dict[int, str] = {}
    waiting: list[Function] = []

    def name_of(body: Function) -> str:
        if id(body) not in names:
            taken = set(names.values())
            name, count = body.name, 1
            while name in taken:
                count += 1
                name = f"{body.name}.{count}"
            names[id(body)] = name
            waiting.append(body)
        return names[id(body)]

    name_of(function)
    functions = []
    while waiting:
        functions.append(_function(waiting.pop(0), names, name_of))
    return {"version": VERSION, "functions": functions}


def _function(function: Function, functions: dict[int, str], name_of: Any) -> dict[str, Any]:
    names = names_in_text(function)
    return {
        "name": functions[id(function)],
        "at": function.location.short if function.location else None,
        "parameters": [
            {"name": names[x], "type": str(x.type)} for x in function.params
        ],
        "nodes": [_node(node, names, function.locations.get(node, ()), name_of)
                  for node in function.body],
        "results": [names[x] for x in function.results],
    }  # fmt: skip


def _node(node: Node, names: dict[Value, str], lines: Lines, name_of: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for key, item in node.attributes.items():
        if isinstance(item, Function):
            attributes[key] = f"@{name_of(item)}"
        elif isinstance(item, Constant):
            attributes[key] = item.array.reshape(-1)[:_MOST_ELEMENTS]
        elif item is None or isinstance(item, (bool, int, float, str)):
            attributes[key] = item
        else:
            attributes[key] = print_attribute(item)
    operations = work(node)
    return {
        "op": node.op.name,
        "results": [{"name": names[x], "type": str(x.type)} for x in node.results],
        "operands": [names[x] for x in node.operands],
        "attributes": attributes,
        "lines": list(dict.fromkeys(line.short for line in lines if line.file)),
        "derived": is_derived(lines),
        "operations": None if operations >= GREAT else operations,
    }
