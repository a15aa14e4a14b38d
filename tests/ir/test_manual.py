"""The table of ops in docs/language.md is that of the declarations; `make golden` writes it."""

from __future__ import annotations

import re
from pathlib import Path

from gradc_ir.core.op import TABLE, Op
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import GradcError
from gradc_ir.ops import FAMILIES
from tests.golden_runner import REWRITE

MANUAL = Path(__file__).resolve().parents[2] / "docs" / "language.md"
MARKED = re.compile(r"(<!-- ops -->\n).*(<!-- end of ops -->)", re.DOTALL)
NAMES = {
    frozenset(DType): "any",
    frozenset({DType.F64, DType.F32}): "float",
    frozenset({DType.I64, DType.I32}): "integer",
    frozenset({DType.BOOL}): "bool",
    frozenset({DType.F64, DType.F32, DType.I64, DType.I32}): "number",
}
# Ops whose operands differ in dtype, or are too many to try.
TAKES = {
    "select": "bool, any, any",
    "gather": "any, integers",
    "scatter_set": "any twice, integers",
    "scatter_add": "number twice, integers",
    **dict.fromkeys(("cholesky", "lu", "qr", "eigh", "svd"), "float"),
    **dict.fromkeys(("triangular_solve", "solve"), "float"),
    "stack": "any",
    "cond": "bool, as the branches",
    "external": "as it says",
    **dict.fromkeys(("unbounded", "recover"), "float"),
    "call": "as the body",
    "checkpoint": "as the body",
    "scan": "as the body",
    "while": "as the body",
}
ATTRIBUTES = {
    "at": (),
    "axes": (),
    "shape": (),
    "permutation": (),
    "starts": (),
    "steps": (),
    "spec": ",->",
}


def takes(op: Op) -> str:
    """Return which dtypes an op takes, found by asking its type rule."""
    if op.operands == 0:
        return ""
    if op.name in TAKES:
        return TAKES[op.name]
    found = frozenset(dtype for dtype in DType if accepts(op, dtype))
    return NAMES[found]


def accepts(op: Op, dtype: DType) -> bool:
    attributes = {name: ATTRIBUTES.get(name) for name in op.attributes}
    shape: tuple[int, ...] = ()
    if op.name == "cast":
        attributes["dtype"] = DType.F64
    if "axis" in op.attributes:
        attributes["axis"], shape = 0, (1,)
    try:
        op.infer(*[Type(dtype, shape)] * (op.operands or 2), **attributes)
    except GradcError:
        return False
    return True


def table() -> str:
    lines = ["| op | operands | takes | attributes | meaning |", "|---|---|---|---|---|"]
    for family in FAMILIES:
        name = family.__name__.rsplit(".", 1)[-1]
        lines.append(f"| **{name}** | | | | |")
        for op in TABLE.values():
            if op.family == name:
                count = "any" if op.operands is None else str(op.operands)
                attributes = " ".join(
                    [f"`{attribute}`" for attribute in op.attributes]
                    + [f"`{option}` (optional)" for option in op.options]
                )
                cells = [f"`{op.name}`", count, takes(op), attributes, op.summary]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def test_the_table_of_ops() -> None:
    text = MANUAL.read_text(encoding="utf-8")
    wanted = MARKED.sub(lambda found: found[1] + table() + found[2], text)
    if REWRITE:
        MANUAL.write_text(wanted, encoding="utf-8")
    assert REWRITE or text == wanted, "docs/language.md lacks an op; `make golden` rewrites it"


def test_every_op_has_a_family() -> None:
    families = {family.__name__.rsplit(".", 1)[-1] for family in FAMILIES}
    assert {op.family for op in TABLE.values()} <= families
