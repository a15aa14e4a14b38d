"""A report of a function in one page: source, graph, derivative, rules, loops and assembly, linked.

Pointing at a line anywhere marks what comes from it everywhere else.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable, Iterator
from html import escape

from gradc.costs.cost import print_size
from gradc.costs.operations import Operations, operations
from gradc.pictures.page import SCRIPT, STYLE
from gradc.pictures.svg import svg
from gradc.pipeline import derive
from gradc.reading.python_text import StatementWriter
from gradc.reading.simple import simple
from gradc.reading.statements import Block, Branch, Loop, Statement, statements
from gradc.reports.dump import heading
from gradc.reports.explain import Firing, firings
from gradc.requests.request import Request
from gradc_codegen.compile_function import Compilation
from gradc_ir.core.graph import Function
from gradc_ir.core.walk import nested
from gradc_ir.location import Location
from gradc_ir.text.printer import print_function

_MOST_ASSEMBLY = 4000


def report(traced: Function, request: Request) -> str:
    """Return the page: HTML that loads nothing, light and dark as the reader's system is."""
    plain = simple(traced, request)
    final = derive(traced, request)
    compilation = Compilation(final, final.name, request.options.blas)
    panels = [
        ("derivative" if request.of != "value" else "formulas", _rows(_statements(plain))),
        ("rules", _rules(firings(traced, request))),
        ("graph", _rows((line, ()) for line in print_function(final).splitlines())),
        ("loops", _rows(compilation.nest.lines())),
        ("assembly", _rows((line, ()) for line in _cut(compilation.assembly))),
    ]
    tabs = "".join(
        f'<button data-panel="{name}" aria-selected="{str(not i).lower()}">{name}</button>'
        for i, (name, _) in enumerate(panels)
    )
    shown = "".join(
        f'<div id="{name}"{" hidden" if i else ""}>{panel}</div>'
        for i, (name, panel) in enumerate(panels)
    )
    params = ", ".join(f"{name}: {type_}" for name, type_ in zip(traced.names, traced.param_types))
    counts = f"{len(list(plain.body))} nodes of mathematics, {len(list(final.body))} compiled"
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>{escape(traced.name)}: {escape(request.of)}</title>
<style>{STYLE}</style></head><body>
<header><h1>{escape(traced.name)}({escape(params)})</h1>
<span class="what">{escape(heading(traced, request).rpartition(":")[0])}</span>
<span class="counts">{counts}</span><button id="theme" title="light or dark">◐</button></header>
<main>
<section id="source"><h2>source</h2>{_source(traced, final)}</section>
<section id="picture"><h2>graph <button id="fit">whole</button></h2>
<div class="picture">{svg(plain)}</div></section>
<section id="details"><nav>{tabs}</nav>{shown}</section>
</main><script>{SCRIPT}</script></body></html>
"""


def _rows(lines: Iterable[tuple[str, Iterable[Location]]]) -> str:
    return f'<div class="code">{"".join(_row(text, places) for text, places in lines)}</div>'


def _row(text: str, places: Iterable[Location]) -> str:
    return f'<div class="row"{_marked(places)}>{escape(text) or " "}</div>'


def _marked(places: Iterable[Location]) -> str:
    """Return the attribute that links an element with the user's lines."""
    names = " ".join(dict.fromkeys(place.short for place in places if place.file))
    return f' data-lines="{escape(names)}"' if names else ""


def _cut(text: str) -> list[str]:
    lines = text.splitlines()
    if len(lines) > _MOST_ASSEMBLY:
        left = len(lines) - _MOST_ASSEMBLY
        lines = [*lines[:_MOST_ASSEMBLY], f"… {left} more lines: gradc dump --stage asm"]
    return lines


# -- the source ------------------------------------------------------------------------------------


def _source(traced: Function, final: Function) -> str:
    """Return the functions of the user's that lines come from, with what each line costs."""
    places: dict[str, set[int]] = {}
    for owner, node in nested(traced):
        for place in owner.locations.get(node, ()):
            if place.file:
                places.setdefault(place.file, set()).add(place.line)
    costs: dict[tuple[str, int], Operations] = {}
    for owner, node in nested(final):
        for place in owner.locations.get(node, ())[:1]:
            if node.op.family != "control":
                key = place.file, place.line
                costs[key] = costs.get(key, Operations()) + operations(node)
    parts = []
    for file, numbers in places.items():
        text = linecache.getlines(file)
        parts.append(f'<div class="file">{escape(_short(file))}</div><div class="code">')
        before = None
        for number in _shown(text, numbers):
            if before is not None and number != before + 1:
                parts.append('<div class="row"> </div>')
            before = number
            line = text[number - 1].rstrip() if number <= len(text) else ""
            where = [Location(file, number)] if number in numbers else []
            cost = costs.get((file, number), Operations()).all
            told = f' title="{escape(print_size(cost))} operations"' if cost else ""
            parts.append(
                f'<div class="row"{_marked(where)}{told}><span class="at">{number}</span>'
                f"{escape(line)}</div>"
            )
        parts.append("</div>")
    return "".join(parts) or '<div class="empty">no line of the user\'s is known</div>'


def _short(file: str) -> str:
    return file.replace("\\", "/").rsplit("/", 1)[-1]


def _shown(text: list[str], numbers: set[int]) -> list[int]:
    """Return the lines of the functions that hold these lines, or these lines themselves."""
    found = set(numbers)
    try:
        tree = ast.parse("".join(text))
    except (SyntaxError, ValueError):
        return sorted(found)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            inside = range(first, node.end_lineno + 1)
            if numbers & set(inside):
                found.update(inside)
    return sorted(found)


# -- formulas and rules ----------------------------------------------------------------------------


def _statements(function: Function) -> Iterator[tuple[str, list[Location]]]:
    """Yield the lines of a function as Python, with the lines of the user's."""
    text = statements(function)
    writer = StatementWriter(70)
    for statement in text.block:
        places = [place for lines in _lines_in([statement]) for place in lines]
        for line in writer.statement(statement, 0):
            yield line, places
    for line in writer.line("return ", writer.results(text.results), 0):
        yield line, []


def _lines_in(block: Block) -> Iterator[Iterable[Location]]:
    for statement in block:
        yield statement.lines
        for inner in _inside(statement):
            yield from _lines_in(inner)


def _inside(statement: Statement) -> list[Block]:
    if isinstance(statement, Loop):
        return [statement.before, statement.body]
    return list(statement.blocks) if isinstance(statement, Branch) else []


def _rules(found: list[Firing]) -> str:
    parts = []
    for firing in found:
        rule = firing.rule
        where = [firing.location] if firing.location is not None else []
        times = f", {firing.count} times" if firing.count > 1 else ""
        stages = " and ".join(firing.stages)
        changes = "".join(f'<div class="change">{escape(x)}</div>' for x in firing.changes[:3])
        equation = f'<div class="equation">{escape(rule.text)}</div>' if rule.text else ""
        line = f" {firing.location.short}" if firing.location else ""
        parts.append(
            f'<div class="rule"{_marked(where)}><b>{escape(rule.name)}</b>'
            f'<span class="kind">{rule.kind}, {stages} differentiation{times}{escape(line)}</span>'
            f'{equation}{changes}<div class="why">{escape(rule.reason)}</div></div>'
        )
    return "".join(parts) or '<div class="empty">no rule fired</div>'
