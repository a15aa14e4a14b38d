"""A graph in the language of Graphviz, for those who draw with other tools."""

from __future__ import annotations

from collections.abc import Iterator

from gradc.pictures.folding import Box, Diagram, fold
from gradc.pictures.style import cut
from gradc_ir.core.graph import Function

_COLOURS = {
    "input": ("#f1f3f6", "#8a94a3"),
    "result": ("#e6f5ec", "#3f9d6b"),
    "value": ("#eaf2fb", "#5b8fc7"),
    "slope": ("#fdf1e3", "#cf8a33"),
}


def dot(function: Function) -> str:
    """Return a graph in DOT: a box for each line of the user's, a cluster for each loop."""
    lines = [
        f"digraph {_quoted(function.name)} {{",
        '  node [shape=box style="rounded,filled" fontname="monospace" fontsize=10];',
        '  edge [color="#8a94a3" arrowsize=0.7];',
        *_diagram(fold(function), "n", "  "),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _diagram(diagram: Diagram, prefix: str, indent: str) -> Iterator[str]:
    for number, box in enumerate(diagram.boxes):
        name = f"{prefix}{number}"
        yield f"{indent}{name} [label={_label(box)} {_style(box)}];"
        for position, inner in enumerate(box.inner):
            yield f"{indent}subgraph cluster_{name}_{position} {{"
            yield f"{indent}  label={_quoted(cut(box.title, 60))}; style=dashed;"
            yield from _diagram(inner, f"{name}_{position}_", f"{indent}  ")
            yield f"{indent}}}"
    for start, end in diagram.edges:
        yield f"{indent}{prefix}{start} -> {prefix}{end};"


def _label(box: Box) -> str:
    rows = [box.title] if box.title else []
    for row in box.rows:
        sign = " = " if row.name and row.text else ""
        type_ = f": {row.type}" if row.type else ""
        rows.append(f"{row.name}{type_}{sign}{cut(row.text, 60)}")
    return _quoted("\n".join(rows)).replace("\n", "\\l").removesuffix('"') + '\\l"'


def _style(box: Box) -> str:
    kind = box.kind if box.kind in _COLOURS else ("slope" if box.is_shaded else "value")
    fill, edge = _COLOURS[kind]
    tip = f" tooltip={_quoted(f'{box.line}: {box.line.code}')}" if box.line else ""
    return f'fillcolor="{fill}" color="{edge}"{tip}'


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
