"""The gate at all points: of every rule each special value that differs is looked into.

    python tools/gate_points.py --cache FOLDER [--part 0/2] [--used] [--note]

Tests look into some of the points of a rule. What all of them show stands in a table, a line for
each kind of difference: ``tests/gradc/gate_points.txt`` says which kinds are conventions and which
are faults that are known. A rule is judged alone, before differentiation and after it; where it has
a fault alone, also as it is used, behind all rules: one that is none there is one that no call can
show. What has been judged stands in the folder, so that a run goes on where the last one ended.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Container, Iterator, Sequence
from functools import cache
from pathlib import Path

from gradc.rules.engine import Rule
from gradc.rules.verify.gate.alone import judged_alone
from gradc.rules.verify.gate.judge import TOLERANCE, Failure
from gradc.rules.verify.meaning import bool_variables
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import DType
from tests.gradc.test_gate import FEW, LONG, RULES
from tools.gate import judged_as_used, judged_rules

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
    "right in use": "the rule alone is farther from a real number than the naive form, and what is "
    "behind all rules, as a call has it, is not",
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


# A point and what is asked there.
Place = tuple[str, tuple[str, ...]]


def place_of(failure: Failure) -> Place:
    """Return where a failure is, and of what: nan is told from nothing else by its text alone."""
    return failure.what, tuple(map(repr, failure.point.values()))


def kind_of(rule: str, way: str, failure: Failure, in_use: Container[Place] | None = None) -> Kind:
    """Return the kind of a difference: conventions come before faults.

    ``in_use``: where the rule fails as it is used, None where that is not known.
    """
    naive, new = failure.naive, failure.new
    is_slope = failure.what.startswith("d/")
    if failure.truth is not None and in_use is not None and place_of(failure) not in in_use:
        name = "right in use"
    elif failure.truth is not None:
        name = "lost" if math.isnan(new) else "off"
    elif is_slope and any(map(math.isinf, failure.point.values())):
        name = "slope at infinity"
    elif math.isnan(naive):
        name = "limit on some paths"
    else:
        name = "none outside" if math.isnan(new) else "sign without a value"
    return Kind(name, rule, way, "slope" if is_slope else "value", _word(naive), _word(new))


def kinds_of(rule: Rule, *, used: bool = False) -> dict[str, str]:
    """Return the lines of all differences of a rule, each with its first point.

    ``used``: those that it has behind all rules, too, and not only where it has faults alone.
    """
    found: dict[str, str] = {}
    in_use = cache(lambda equation: _in_use(rule, equation))

    def note(way: str, title: str, failure: Failure, there: Container[Place] | None) -> None:
        line = kind_of(rule.name, way, failure, there).line
        found.setdefault(line, f"{title}: {failure}")

    for title, judged in judged_alone(rule, DType.F64, FEW, None):
        equation = title.removesuffix(", after")
        way = "before" if title == equation else "after"
        for failure in judged.failures:
            failing = None if failure.truth is None else in_use(equation)
            note(way, title, failure, None if failing is None else set(map(place_of, failing)))
    for equation in rule.equations if used else ():
        for failure in in_use(equation) or ():
            note("used", equation, failure, None)
    return found


def _in_use(rule: Rule, equation: str) -> tuple[Failure, ...] | None:
    """Return what the gate says of an equation behind all rules, None where it has no say."""
    if rule not in judged_rules() or bool_variables(equation):
        return None
    return judged_as_used(equation, DType.F64, FEW, None, TOLERANCE + rule.loss).failures


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


def _judged(
    folder: Path, some: Sequence[Rule], name: str, *, used: bool
) -> Iterator[tuple[Rule, dict[str, str]]]:
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / f"points-{name}.jsonl"
    lines = state.read_text().splitlines() if state.exists() else []
    done = {found["rule"]: found["kinds"] for found in map(json.loads, lines)}
    with state.open("a") as file:
        for rule in some:
            if rule.name not in done:
                done[rule.name] = kinds_of(rule, used=used)
                file.write(json.dumps({"rule": rule.name, "kinds": done[rule.name]}) + "\n")
                file.flush()
            yield rule, done[rule.name]


def main(words: Sequence[str]) -> int:
    """Judge rules, print what is other than in the table, and return 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="the folder of what is done")
    parser.add_argument("--part", default="0/1", help="which rules: 1/2 is every other one")
    parser.add_argument("--long", action="store_true", help="those that take minutes, too")
    parser.add_argument("--used", action="store_true", help="all rules behind all others, too")
    parser.add_argument("--note", action="store_true", help="write the table anew")
    options = parser.parse_args(words)
    part, parts = map(int, options.part.split("/"))
    some = [rule for rule in RULES if options.long or rule.name not in LONG][part::parts]
    table, wrong = known(), 0
    name = options.part.replace("/", "-of-") + ("-used" if options.used else "")
    for rule, kinds in _judged(options.cache, some, name, used=options.used):
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
