"""Each place that has facts about ops has those of every op, or says here why not.

docs/add-an-op.md names the places, and no others have any.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gradc.autodiff.batching.batch import rule_of
from gradc.derivatives import TABLE as DERIVATIVES
from gradc.rules.series import numbers
from gradc.rules.verify.meaning import real_functions
from gradc_ir import build
from gradc_ir.core.op import TABLE
from gradc_ir.interpreter import composed
from gradc_ir.ranges import arithmetic, arrays, functions
from gradc_ir.wide_exponents import functions as wide_functions

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "add-an-op.md").read_text(encoding="utf-8")


class Place(NamedTuple):
    """A place, the ops of which it has facts, and why it has none of some: names or families."""

    path: str
    known: Collection[str]
    unknown: dict[str, str]


FORMULAS = {"unbounded": "made last, of other ops"}
PLACES = [
    Place(
        "ir/gradc_ir/ops/",
        {name for name, op in TABLE.items() if op.reference is not None or name in composed.BODIES},
        {"control": "the interpreter runs the bodies", "param": "is given"},
    ),
    Place(
        "ir/gradc_ir/build.py",
        {name for name in TABLE if hasattr(build, name)},
        {
            **{"param": "made by the builder", "external": "made by the user's declaration"},
            **{"size": "build.size_value", "while": "build.while_loop", **FORMULAS},
        },
    ),
    Place("gradc/derivatives/", {name for name in TABLE if DERIVATIVES[name]}, {}),
    Place(
        "gradc/autodiff/batching/",
        {name for name, op in TABLE.items() if not op.is_leaf and rule_of(op)},
        dict.fromkeys(("param", "constant", "iota", "size"), "the same for every point"),
    ),
    Place(
        "ir/gradc_ir/ranges/",
        {*arithmetic.BY_OP, *functions.BY_OP, *arrays.BY_OP},
        {
            **dict.fromkeys(("eq", "ne", "lt", "le"), "a condition"),
            **dict.fromkeys((f"logical_{x}" for x in ("not", "and", "or", "xor")), "a condition"),
            **{"select": "in ranges/reading.py", "cast": "in ranges/reading.py"},
            **dict.fromkeys(("exactly", "fence"), "nothing looks behind a fence"),
            **dict.fromkeys(("exp_product", "direction_cosine", "composed"), "no guard asks"),
            **dict.fromkeys(("special", "factor", "foreign", "unbounded"), "no guard asks"),
            **dict.fromkeys(("control", "param"), "any number"),
        },
    ),
    Place(
        "gradc/rules/verify/",
        real_functions(),
        {
            **dict.fromkeys(("shape", "index", "order", "control"), "no function of numbers"),
            **dict.fromkeys(("factor", "reduce_min"), "no rule is about it"),
            **dict.fromkeys(("gammaincinv", "gammainccinv"), "SymPy has no word for it"),
            **dict.fromkeys(("betaincinv", "stdtrit"), "SymPy has no word for it"),
            **{"cast": "rounds", "foreign": "unknown", **FORMULAS},
        },
    ),
    Place(
        "gradc/rules/series/",
        {*numbers.FUNCTIONS, *numbers.CONDITIONS},
        {
            **dict.fromkeys(("floor", "floor_divide", "remainder"), "jumps"),
            "sloped": "dropped before",
            **dict.fromkeys(("stop_gradient", "exactly", "fence"), "looked through, or not at all"),
            **{"select": "followed to the chosen side", "logical_xor": "in no guard"},
            **{"cast": "rounds", "arctan2": "of two variables", "foreign": "unknown", **FORMULAS},
            **dict.fromkeys(("shape", "index", "order", "control"), "no function of numbers"),
            **dict.fromkeys(("linalg", "factor", "reduce"), "no function of numbers"),
            **dict.fromkeys(("special", "composed"), "of several variables, or dear in many bits"),
        },
    ),
    Place(
        "ir/gradc_ir/wide_exponents/",
        wide_functions.WORDS,
        {
            **dict.fromkeys(("sin", "cos", "tan", "erf", "erfc"), "moderate, or flat"),
            **dict.fromkeys(("floor_divide", "remainder"), "jumps"),
            **dict.fromkeys(("special", "composed"), "no short formula"),
            **{
                "fma": "made last, by sums of products",
                "cast": "rounds",
                "exactly": "nothing looks behind it",
                **FORMULAS,
            },
            "sloped": "dropped before",
            **dict.fromkeys(("shape", "index", "order", "control"), "no function of numbers"),
            **dict.fromkeys(("linalg", "factor", "reduce", "foreign"), "no function of numbers"),
        },
    ),
]


def each_place() -> pytest.MarkDecorator:
    return pytest.mark.parametrize("place", PLACES, ids=lambda place: place.path)


@each_place()
def test_every_op_has_its_facts_or_a_reason(place: Place) -> None:
    missing = {
        name
        for name, op in TABLE.items()
        if name not in place.known and not {name, op.family} & place.unknown.keys()
    }
    assert not missing, f"see docs/add-an-op.md: {place.path}"


@each_place()
def test_reasons_are_about_what_lacks(place: Place) -> None:
    families = {op.family for name, op in TABLE.items() if name not in place.known}
    assert not [name for name in place.unknown if name in TABLE and name in place.known]
    assert place.unknown.keys() <= TABLE.keys() | families


def test_every_elementwise_op_has_its_domain() -> None:
    """Formulas have operands as many as they need."""
    assert not [
        name
        for name, op in TABLE.items()
        if op.is_elementwise and op.operands and len(op.domain) != op.operands
    ]


# -- the page --------------------------------------------------------------------------------------

PATHS = re.findall(r"`((?:ir|gradc|codegen|tests|docs)/[^`\s]*)`", PAGE)


@each_place()
def test_the_page_names_every_place(place: Place) -> None:
    assert any(path.startswith(place.path) for path in PATHS)


@pytest.mark.parametrize("path", sorted(set(PATHS)))
def test_paths_on_the_page_exist(path: str) -> None:
    before, name, after = path.partition("<family>")
    families = {op.family for op in TABLE.values()} if name else {""}
    assert any((ROOT / (before + family + after)).exists() for family in families)


def test_files_that_know_an_op_are_on_the_page() -> None:
    """Of log1p, the example; a folder on the page stands for all that is in it."""
    folders = tuple(path for path in PATHS if path.endswith("/"))
    named = {path.replace("<family>", family) for path in PATHS for family in ("", "elementwise")}
    named.add("gradc/runtime/c_names.py")  # these are C's names
    unnamed = [
        path
        for room in ("ir", "gradc", "codegen")
        for file in sorted((ROOT / room).rglob("*.py"))
        for text in [file.read_text(encoding="utf-8")]
        if "log1p" in text and "log1p" in words(text)
        for path in [file.relative_to(ROOT).as_posix()]
        if path not in named and not path.startswith(folders)
    ]
    assert not unnamed


def words(code: str) -> Iterator[str]:
    """Yield the words of the strings that are no docstrings, and the names of ops."""
    tree = ast.parse(code)
    docstrings = {
        node.body[0].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if node not in docstrings:
                yield from (word.removeprefix("math.") for word in text.split())
            case ast.Attribute(value=ast.Name(id="ops"), attr=name):
                yield name
