"""Writes the generated pages of docs/ from the declarations: ``python tools/write_tables.py``."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gradc.rules.engine import Rule
    from gradc.tracing.numpy.coverage import Row

DOCS = Path(__file__).resolve().parent.parent / "docs"
NOTICE = "<!-- Written by tools/write_tables.py from the declarations; `make docs` renews it. -->"

PROMISE = """\
At zeros, subnormal numbers, infinities and nan an exact or stable rule gives the number of the
code as written, or one nearer to the exact real value; where that does not exist, the limit, if
there is but one. Else what was written stands: nan, and infinities and zeros with their signs.

[The gate](decisions/0026-the-gate.md) holds every rule to it. The exceptions:
"""


def table(*heading: str, rows: Iterable[tuple[str, ...]]) -> str:
    """Return a Markdown table; bars inside cells are escaped."""
    lines = [heading, ("---",) * len(heading), *rows]
    escaped = ([cell.replace("|", "\\|") for cell in cells] for cells in lines)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in escaped)


def ops() -> str:
    """Return the page of all ops, a table for each family."""
    from gradc_ir.ops import TABLE

    page = f"# The ops\n\n{NOTICE}\n\nThe closed set of ops, by family: {len(TABLE)} in all.\n"
    for family, members in groupby(TABLE.values(), key=lambda op: op.family):
        rows = (
            (
                f"`{op.name}`",
                "any" if op.operands is None else str(op.operands),
                ", ".join(
                    [f"`{name}`" for name in op.attributes]
                    + [f"`{name}` (optional)" for name in op.options]
                ),
                op.summary,
            )
            for op in members
        )
        page += f"\n## {family}\n\n{table('op', 'operands', 'attributes', 'meaning', rows=rows)}"
    return page


def rules() -> str:
    """Return the page of all rules, a table for each class."""
    import gradc
    from gradc.rules.verify.gate.excuses import EXCUSES

    listed = sorted(gradc.rules(), key=lambda r: ("exact", "stable", "fast").index(str(r.kind)))
    page = (
        f"# The rules\n\n{NOTICE}\n\n[add-a-rule.md](add-a-rule.md) says what a class promises.\n"
        f"\n## At special values\n\n{PROMISE}\n"
    )
    excuses = ((each.name, each.what, each.reason) for each in EXCUSES)
    page += table("exception", "what may differ", "why", rows=excuses)
    for kind, members in groupby(listed, key=lambda rule: str(rule.kind)):
        rows = ((f"`{rule.name}`", f"`{rule.text}`", why(rule)) for rule in members)
        page += f"\n## {kind}\n\n{table('rule', 'equation', 'why', rows=rows)}"
    return page


def why(rule: Rule) -> str:
    """Return the reason of a rule, with what a single point may lose by it."""
    return f"{rule.reason} (a point may lose {rule.loss:g} bits)" if rule.loss else rule.reason


def numpy() -> str:
    """Return the page of NumPy's functions: which a traced function may call."""
    import numpy as np

    from gradc.scipy import coverage as scipy_coverage
    from gradc.tracing.numpy import coverage

    version = ".".join(np.__version__.split(".")[:2])
    everything = [*coverage.rows(), *coverage.rows("linalg.", np.linalg)]
    counts = {state: sum(row.state == state for row in everything) for state in STATES}
    page = (
        f"# NumPy's functions\n\n{NOTICE}\n\n"
        f"The public functions of NumPy {version} and of `numpy.linalg`, and what they do with "
        "traced arrays.\nOn arrays that are known while tracing all of them run as they are; "
        "functions of mathematics, sums\nand "
        "products of matrices with the [numbers of compiled code](math.md).\n\n"
        + table("state", "functions", "meaning", rows=(
            (state, str(counts[state]), meaning) for state, meaning in STATES.items()
        ))
    )  # fmt: skip
    for state in STATES:
        page += f"\n## {state}\n\n{listed(everything, state)}"
    objects = ((f"`np.{name}`", *row) for name, row in coverage.OBJECTS.items())
    page += f"\n## What is no function\n\n{table('name', 'state', 'note', rows=objects)}"
    methods = ((f"`{row.names[0]}`", row.note) for row in coverage.methods_of_ufuncs())
    page += f"\n## Methods of ufuncs\n\n{table('method', 'of', rows=methods)}"
    page += f"\n## Results and options\n\n{OPTIONS}"
    page += "\n## Methods and attributes of arrays\n"
    for state in STATES:
        page += f"\n### {state}\n\n{listed(coverage.members(), state)}"
    operators = (
        (state, ", ".join(f"`{text}`" for text in texts))
        for state, texts in coverage.OPERATORS.items()
    )
    page += f"\n### operators and builtins\n\n{table('state', 'of', rows=operators)}"
    page += f"\n## scipy.special\n\n{of_scipy(scipy_coverage.special())}"
    page += f"\n## scipy.linalg\n\n{of_scipy(scipy_coverage.linalg())}"
    made = ", ".join(f"`{name}`" for name in scipy_coverage.interpolate())
    page += f"\n## scipy.interpolate\n\n{fill(INTERPOLATE.format(made=made), 100)}\n"
    page += (
        "\n## scipy.stats\n\nDistributions with these methods, and summaries of samples.\n\n"
        + table("name", "methods", rows=(
            (f"`{row.names[0]}`", row.note) for row in scipy_coverage.stats()
        ))
    )  # fmt: skip
    return page + f"\n## gradc.special\n\n{special()}"


def listed(rows: Iterable[Row], state: str) -> str:
    """Return the functions of a state: as a text, or by the reason and what to write instead."""
    members = [row for row in rows if row.state == state]
    if not any(row.note for row in members):
        names = ", ".join(f"`{name}`" for row in members for name in row.names)
        return f"{fill(names, 100)}\n"
    grouped: dict[tuple[str, str], list[str]] = {}
    for row in members:
        grouped.setdefault((row.note, row.instead), []).extend(row.names)
    ordered = sorted(grouped.items())
    shown = ((", ".join(f"`{name}`" for name in names), *why) for why, names in ordered)
    return table("function", "why", "instead", rows=shown)


def renamed(row: Row) -> str:
    """Return the name of a function, with the one it is recorded as where that is another."""
    name = row.names[0]
    other = row.note and row.note.strip("`").rpartition(".")[2] != name
    return f"`{name}` as {row.note}" if other else f"`{name}`"


def of_scipy(rows: Iterable[Row]) -> str:
    """Return the functions of a module of SciPy: those there are, and the others by reason."""
    members = list(rows)
    text = ""
    for state in ("both modes", "value only"):
        names = ", ".join(renamed(row) for row in members if row.state == state)
        if names:
            text += f"In {state}:\n\n" if state == "both modes" else "\nFor values only:\n\n"
            text += f"{fill(names, 100, break_on_hyphens=False)}\n"
    grouped: dict[str, list[str]] = {}
    for row in members:
        if row.state == "refused":
            grouped.setdefault(row.note, []).append(f"`{row.names[0]}`")
    refused = ((", ".join(names), why) for why, names in sorted(grouped.items()))
    return f"{text}\nRefused:\n\n{table('function', 'why', rows=refused)}"


def special() -> str:
    """Return the table of gradc.special: each function and the first sentence about it."""
    from gradc import special

    about = {name: getattr(special, name).__doc__ or "" for name in special.__all__}
    rows = ((f"`{name}`", sentence_of(text)) for name, text in about.items())
    return table("function", "does", rows=rows)


def sentence_of(docstring: str) -> str:
    """Return the first paragraph of a docstring on one line."""
    return " ".join(docstring.split("\n\n")[0].split())


OPTIONS = """\
Of `divmod`, `frexp` and `modf` the remainder, the mantissa and the fraction have derivatives.
Of a symmetric matrix `cholesky`, `eigh`, `eigvalsh` and what is built on them read one triangle, as
NumPy's and SciPy's do, and the gradient is by what is read: zero in the other triangle. For the
symmetric gradient of the books, symmetrise in the function, `a = (a + a.T) / 2`. Eigenvectors have
the signs that LAPACK's `syevd` gives for that triangle, as NumPy's; `scipy.linalg.eigh` calls
another routine, whose signs may be others, and so may those of another LAPACK.
`bitwise_and`, `bitwise_or`, `bitwise_xor` and `invert` take truth values, not integers.

`np.hypot` of nan and an infinity is inf, as in C; `np.sqrt(x * x + y * y)` is nan there.

Sums and products of matrices begin with their first term, NumPy's with 0.0: where every term is
-0.0 the result is -0.0 here, and 0.0 there. The smaller of -0.0 and 0.0 is -0.0, the larger 0.0.

Ufuncs take `out=`, also as a last argument, `dtype=`, and `where=` together with `out=`, whose
other elements stay; without `out=` nobody would know what they are, which is an error. Reductions
take `axis=`, `keepdims=`, `dtype=`, `out=`, `initial=` and `where=` as in NumPy. `subok=`,
`device="cpu"`, `casting="same_kind"` and `order=` with `"K"`, `"A"` or `"C"` change nothing.
Other options are errors that name those the function takes.
"""

INTERPOLATE = """\
Made in traced code, of known or traced values: {made}. These and `Akima1DInterpolator`, made
outside of the function, are called at traced points, with `nu` and `extrapolate`, and have
`derivative`. The numbers are SciPy's. Outside of the first and last place they go on, or are nan
and so are their slopes; nothing asks whether places ascend. Others are refused.
"""

STATES = {
    "both modes": "recorded, with derivatives in forward and reverse mode",
    "value only": "recorded; the result has no derivative, or is an integer or a truth value",
    "refused": "an error at the user's line",
}

PACKAGES = {"gradc": "gradc", "gradc_codegen": "codegen/gradc_codegen", "gradc_ir": "ir/gradc_ir"}


def design() -> str:
    """Return the page of the design, with the map of the rooms as they are."""
    page = (DOCS / "design.md").read_text(encoding="utf-8")
    before, begin, rest = page.partition("<!-- The map: written by tools/write_tables.py. -->\n")
    _, end, after = rest.partition("<!-- The end of the map. -->\n")
    sys.path[:0] = [str(DOCS.parent)]
    from tools.import_graph import arrows
    from tools.import_graph import rooms as inside

    places = {name: DOCS.parent / path for name, path in PACKAGES.items()}
    graph = inside(arrows(places))
    maps = [rooms(name, places[name], graph) for name in PACKAGES]
    return "".join([before, begin, *maps, end, after])


def rooms(package: str, folder: Path, graph: Mapping[str, Mapping[str, Mapping[str, str]]]) -> str:
    """Return the map of a package: its rooms from the top to the bottom, a sentence each."""
    from tools.import_graph import floors

    def below(room: str) -> Iterator[str]:
        place = folder.joinpath(*room.split(".")[1:])
        heights = floors(graph.get(room, {}))
        names = sorted(path.parent.name for path in place.glob("*/__init__.py"))
        for name in sorted(names, key=lambda name: -heights.get(name, 0)):
            yield f"{room}.{name}"
            yield from below(f"{room}.{name}")

    rows = []
    for room in below(package):
        place = folder.joinpath(*room.split(".")[1:])
        docstring = ast.get_docstring(ast.parse((place / "__init__.py").read_bytes())) or ""
        name = room.partition(".")[2].replace(".", "/")
        rows.append((f"`{name}/`", sentence_of(docstring).replace("``", "`")))
    return f"\n{table(f'`{PACKAGES[package]}/`', 'what it is for, and what may enter', rows=rows)}"


PAGES = {"ops.md": ops, "rules.md": rules, "numpy.md": numpy, "design.md": design}


def main(names: list[str]) -> None:
    """Print the pages of these names, or write every page when there are none."""
    for name in names:
        print(PAGES[name](), end="")
    if not names:
        for name, page in PAGES.items():
            (DOCS / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
