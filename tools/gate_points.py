"""The gate at all points: of every rule, alone, each special value that differs is looked into.

    python tools/gate_points.py --cache FOLDER [--part 0/2] [--note]

Tests look into some of the points of a rule. What all of them show stands in a table, a line for
each kind of difference: ``tests/gradc/gate_points.txt`` says which kinds are conventions and which
are faults that are known. What has been judged stands in the folder, so that a run goes on where
the last one ended.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from gradc.rules.engine import Rule
from gradc.rules.verify.gate.alone import judged_alone
from gradc.rules.verify.gate.judge import Failure, Judged
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import DType
from tests.gradc.test_gate import FEW, LONG, RULES

TABLE = Path(__file__).parent.parent / "tests" / "gradc" / "gate_points.txt"

# What a kind of difference means, in the order in which one is looked for.
CONVENTIONS = {
    "slope at infinity": "at an infinite operand there is no derivative: a form may have a number "
    "for it, or none",
    "limit on some paths": "where the naive form has no number and there is no real value, the new "
    "one may have what it tends to as numbers get there, though other paths lead elsewhere",
    "none outside": "where there is no real value, the new form may have no number",
    "sign without a value": "where there is no real value, infinities and zeros may have another "
    "sign, and numbers may be others",
}
FAULTS = {
    "lost": "there is a real number, and the new form has none",
    "off": "there is a real number, and the new form is farther from it than the naive one",
}


class Kind(NamedTuple):
    """A kind of difference of a rule, and what it is called in the table."""

    name: str
    rule: str
    way: str
    what: str
    naive: str
    new: str

    @property
    def line(self) -> str:
        """The kind as it stands in the table."""
        return "\t".join(self)


def kind_of(rule: str, way: str, failure: Failure) -> Kind:
    """Return the kind of a difference: conventions come before faults."""
    naive, new = failure.naive, failure.new
    is_slope = failure.what.startswith("d/")
    if failure.truth is not None:
        name = "lost" if math.isnan(new) else "off"
    elif is_slope and any(map(math.isinf, failure.point.values())):
        name = "slope at infinity"
    elif math.isnan(naive):
        name = "limit on some paths"
    else:
        name = "none outside" if math.isnan(new) else "sign without a value"
    return Kind(name, rule, way, "slope" if is_slope else "value", _word(naive), _word(new))


def kinds_of(rule: str, judged: Iterable[tuple[str, Judged]]) -> dict[str, str]:
    """Return the lines of all differences of a rule, each with its first point."""
    found: dict[str, str] = {}
    for equation, one in judged:
        way = "after" if equation.endswith(", after") else "before"
        for failure in one.failures:
            found.setdefault(kind_of(rule, way, failure).line, f"{equation}: {failure}")
    return found


def known() -> dict[str, list[str]]:
    """Return the lines of the table by rule."""
    found: dict[str, list[str]] = {}
    for line in TABLE.read_text().splitlines():
        if line and not line.startswith("#"):
            found.setdefault(line.split("\t")[1], []).append(line)
    return found


def written(lines: Sequence[str]) -> str:
    """Return the table of some lines: conventions first, each below what it means."""
    parts = []
    for title, meanings in (("convention", CONVENTIONS), ("known fault", FAULTS)):
        for name, meaning in meanings.items():
            own = sorted({line for line in lines if line.startswith(f"{name}\t")})
            parts.append("\n".join([f"# {title}: {name}: {meaning}", *own]))
    return "\n\n".join(parts) + "\n"


def _word(number: float) -> str:
    if number == 0 or not math.isfinite(number):
        return "nan" if math.isnan(number) else repr(number)
    return "number"


def _judged(folder: Path, some: Sequence[Rule], name: str) -> Iterator[tuple[Rule, dict[str, str]]]:
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / f"points-{name}.jsonl"
    lines = state.read_text().splitlines() if state.exists() else []
    done = {found["rule"]: found["kinds"] for found in map(json.loads, lines)}
    with state.open("a") as file:
        for rule in some:
            if rule.name not in done:
                judged = judged_alone(rule, DType.F64, FEW, None)
                done[rule.name] = kinds_of(rule.name, judged)
                file.write(json.dumps({"rule": rule.name, "kinds": done[rule.name]}) + "\n")
                file.flush()
            yield rule, done[rule.name]


def main(words: Sequence[str]) -> int:
    """Judge rules, print what is other than in the table, and return 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="the folder of what is done")
    parser.add_argument("--part", default="0/1", help="which rules: 1/2 is every other one")
    parser.add_argument("--long", action="store_true", help="those that take minutes, too")
    parser.add_argument("--note", action="store_true", help="write the table anew")
    options = parser.parse_args(words)
    part, parts = map(int, options.part.split("/"))
    some = [rule for rule in RULES if options.long or rule.name not in LONG][part::parts]
    table, wrong = known(), 0
    for rule, kinds in _judged(options.cache, some, options.part.replace("/", "-of-")):
        listed = table.get(rule.name, [])
        for line in [line for line in kinds if line not in listed]:
            wrong += 1
            print(f"{line}\n    {kinds[line]}", flush=True)
        for line in [line for line in listed if line not in kinds]:
            wrong += 1
            print(f"{line}\n    is none any more", flush=True)
        table[rule.name] = list(kinds)
    if options.note:
        TABLE.write_text(written([line for lines in table.values() for line in lines]))
        return 0
    print(f"{len(some)} rules at all points; {wrong} lines other than in {TABLE.name}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
