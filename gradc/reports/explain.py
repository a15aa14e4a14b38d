"""What happened to a function: which rule fired at which line, and all about one op."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import groupby
from typing import Any

from gradc.derivatives import TABLE as DERIVATIVES
from gradc.derivatives import jvp
from gradc.pipeline import after, derive
from gradc.reports.on_threads import divided
from gradc.reports.one_line import change
from gradc.requests.request import Request
from gradc.rules import all_rules
from gradc.rules.engine import Kind, Rule, watch_firings
from gradc.rules.final.finish import FAMILIES as LAST
from gradc.tracing import Traced
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function
from gradc_ir.core.op import TABLE, Op
from gradc_ir.core.types import DType, Type
from gradc_ir.core.walk import nested
from gradc_ir.errors import GradcError, RuleError
from gradc_ir.location import Location
from gradc_ir.matching.rewrite import Fired
from gradc_ir.text.printer import print_function


@dataclass(frozen=True)
class Firing:
    """One rule at one line: how often it fired there before and after differentiation.

    ``changes`` are what it made of what, as formulas, each once.
    """

    location: Location | None
    rule: Rule
    stages: tuple[str, ...]
    count: int
    changes: tuple[str, ...] = ()


def firings(function: Function, request: Request) -> list[Firing]:
    """Return which rules fire on the way to what ``request`` names, by line, stable ones first."""
    stage = ["before"]
    found: dict[tuple[Location | None, str], list[tuple[str, Fired]]] = {}

    def note(name: str, fired: Fired) -> None:
        for location in fired.locations or (None,):
            found.setdefault((location, fired.rule), []).append((stage[0], fired))

    def watch(step: str, function: Function) -> None:
        if step == "derivative":
            stage[0] = "after"

    with watch_firings(note):
        final = derive(function, request, watch)
    # parameters of bodies have other names
    names = final.names if all(owner is final for owner, _ in nested(final)) else ()
    last = (rule for family in LAST for rule in family.rules())
    rules = (*last, *all_rules(), *request.options.rules)
    known = _passes(request) | {rule.name: rule for rule in rules}
    made = [
        Firing(
            location,
            known[name],
            tuple(dict.fromkeys(when for when, _ in fired)),
            len(fired),
            _changes(known[name], [one for _, one in fired], names),
        )
        for (location, name), fired in found.items()
    ]
    return sorted(made, key=_order)


def _passes(request: Request) -> dict[str, Rule]:
    """Return the passes that may tell of themselves, as if each were a rule."""
    return {
        each.name: Rule(
            each.name, "", Kind.STABLE, each.summary, apply=lambda value: None, root_ops=None
        )
        for each in after(request.options).passes
    }


def _changes(rule: Rule, fired: Iterable[Fired], names: Sequence[str]) -> tuple[str, ...]:
    if rule.kind is Kind.EXACT:
        return ()
    return tuple(dict.fromkeys(change(one.before, one.after, names) for one in fired))


_RANK = {Kind.STABLE: 0, Kind.FAST: 1, Kind.EXACT: 2}


def _order(firing: Firing) -> tuple[str, int, int]:
    place = firing.location
    return (place.file, place.line, _RANK[firing.rule.kind]) if place else ("", 0, 3)


def explain(traced: Traced, request: Request) -> str:
    """Return the text of ``gradc explain``: rules by line, hidden inputs, what was baked in."""
    function = traced.function
    lines = [f"{function.name}, {request.of}: rules that fired, by line"]
    lines += _rules_by_line(firings(function, request)) or ["  none"]
    lines += _sizes(function, request)
    loops = list(divided(function, request))
    if loops:
        lines += ["", f"loops, where a call has {request.options.calls_on} threads:"]
    for loop in loops:
        place = f", {loop.line}" if loop.line else ""
        how = loop.how if loop.is_divided else f"on the caller: {loop.how}"
        lines.append(f"  {loop.what}{place}: {how}")
    if traced.loops:
        lines += ["", "loops of Python's:", *(f"  {note}" for note in traced.loops)]
    captures = [str(capture.name) for capture in traced.captures]
    if captures:
        lines += ["", "read anew at every call (hidden inputs):"]
        lines += [f"  {name}" for name in captures]
    if traced.log:
        lines += ["", "fixed when the function was traced:"]
        lines += [f"  {entry}" for entry in traced.log]
    return "\n".join(lines)


def explained(traced: Traced, request: Request) -> dict[str, Any]:
    """Return what :func:`explain` tells as nests of plain values."""
    function = traced.function
    return {
        "function": function.name,
        "of": request.of,
        "firings": [
            {
                "line": firing.location.short if firing.location else None,
                "code": firing.location.code if firing.location else None,
                "rule": firing.rule.name,
                "kind": str(firing.rule.kind),
                "equation": firing.rule.text,
                "reason": firing.rule.reason,
                "stages": firing.stages,
                "count": firing.count,
                "changes": firing.changes,
            }
            for firing in firings(function, request)
        ],
        "nodes": {
            name: {"written": before, "final": after}
            for name, before, after in _counts(function, request)
        },
        "captures": [str(capture.name) for capture in traced.captures],
        "fixed": list(traced.log),
        "threads": request.options.calls_on,
        "loops": [
            {"loop": loop.what, "line": loop.line, "divided": loop.is_divided, "how": loop.how}
            for loop in divided(function, request)
        ],
    }


def _sizes(function: Function, request: Request) -> list[str]:
    """Return a line with the nodes of value and gradient, as written and after the rules."""
    parts = [f"{name} {before} -> {after}" for name, before, after in _counts(function, request)]
    return ["", f"nodes, as written and by the rules: {', '.join(parts)}"]


def _counts(function: Function, request: Request) -> Iterator[tuple[str, int, int]]:
    """Yield how many nodes value and gradient have, as written and after the rules."""
    plain = replace(request.options, stable=False, fast=False, rules=())
    kinds = {"value": Request("value", options=request.options)}
    result = function.result_types[0]
    wrt = request.wrt or tuple(
        i for i, type_ in enumerate(function.param_types) if type_.dtype.is_float
    )
    if wrt and result.dtype.is_float:
        of = "vjp" if result.shape else "grad"
        kinds["gradient"] = Request(of, wrt, options=request.options)
    for name, asked in kinds.items():
        try:
            graphs = (derive(function, replace(asked, options=plain)), derive(function, asked))
        except GradcError:
            continue  # it has no gradient
        before, after = (len(list(graph.body)) for graph in graphs)
        yield name, before, after


_MOST_CHANGES = 3


def _rules_by_line(found: Iterable[Firing]) -> list[str]:
    lines: list[str] = []
    for here, firings_here in groupby(found, key=lambda firing: firing.location):
        lines.append(f"  {here if here is not None else 'made by differentiation'}")
        if here is not None and here.code:
            lines.append(f"      {here.code}")
        exact: list[str] = []
        for firing in firings_here:
            rule = firing.rule
            times = f", {firing.count} times" if firing.count > 1 else ""
            if rule.kind is Kind.EXACT:
                exact.append(f"{rule.name}{times}")
                continue
            when = " and ".join(firing.stages)
            equation = f": {rule.text}" if rule.text else ""
            lines.append(
                f"      {rule.name} ({rule.kind}, {when} differentiation{times}){equation}"
            )
            lines += [f"          {text}" for text in firing.changes[:_MOST_CHANGES]]
            if len(firing.changes) > _MOST_CHANGES:
                lines.append(f"          and {len(firing.changes) - _MOST_CHANGES} more")
            lines.append(f"          {rule.reason}")
        if exact:
            lines.append(f"      exact algebra: {', '.join(exact)}")
    return lines


# -- one op ----------------------------------------------------------------------------------------


def find_op(name: str) -> Op:
    """Return an op by its name; RuleError names similar ones when there is none."""
    op = TABLE.get(name)
    if op is None:
        near = get_close_matches(name, TABLE)
        raise RuleError(
            f"no op is called {name!r}",
            help=f"the nearest: {', '.join(near)}" if near else "docs/ops.md lists them",
        )
    return op


def explained_op(name: str) -> dict[str, Any]:
    """Return what :func:`explain_op` tells as nests of plain values."""
    op = find_op(name)
    return {
        "op": op.name,
        "summary": op.summary,
        "family": op.family,
        "operands": op.operands,
        "attributes": [*op.attributes, *op.options],
        "commutative": op.commutative,
        "linear": list(op.linear),
        "lowered": op.scalar,
        "derivative": _derivative(name),
        "rules": [one.name for one in all_rules() if f"{name}(" in one.text],
    }


def explain_op(name: str) -> str:
    """Return what is spread over the rooms about one op: meaning, lowering, derivative, rules.

    Raises RuleError that names similar ops when there is none of that name.
    """
    op = find_op(name)
    count = "any number of operands" if op.operands is None else f"{op.operands} operands"
    if op.operands == 1:
        count = "1 operand"
    lines = [f"{op.name}: {op.summary}", f"  declared in ir/gradc_ir/ops/{op.family}.py, {count}"]
    if op.attributes:
        lines.append(f"  attributes: {', '.join(op.attributes)}")
    if op.options:
        lines.append(f"  optional attributes: {', '.join(op.options)}")
    if op.commutative:
        lines.append("  commutative: its operands may be exchanged without changing a bit")
    if op.linear:
        lines.append(f"  linear in operand {', '.join(map(str, op.linear))}")
    if op.scalar:
        lines.append(f"  lowered as: {op.scalar}")
    lines.append(f"  derivative, in gradc/derivatives/{op.family}.py:")
    lines += [f"    {line}" for line in _derivative(name)]
    mentioned = [one for one in all_rules() if f"{name}(" in one.text]
    lines.append("  rules:" if mentioned else "  no rule mentions it")
    lines += [f"    {one.name} ({one.kind}): {one.text}" for one in mentioned]
    return "\n".join(lines)


def _derivative(name: str) -> list[str]:
    """Return the pushforward of a scalar elementwise op as text."""
    op = TABLE[name]
    if not op.is_elementwise or op.operands is None or op.attributes:
        return ["see the file"]
    try:
        with Builder() as builder:
            params = [builder.param(i, Type(DType.F64)) for i in range(op.operands)]
            value = builder.apply(op, tuple(params), {}).results[0]
            function = builder.function(name, params, [value], names=["x", "y", "z"][: op.operands])
        refused = DERIVATIVES[name].refused
        wrt = [i for i in range(op.operands) if i not in refused]
        lines = print_function(jvp(function, wrt), locations=False, names=False).splitlines()
        return lines + [f"operand {i + 1}: {name} {why}" for i, why in refused.items()]
    except GradcError as error:
        return [error.what]
