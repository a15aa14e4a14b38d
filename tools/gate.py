"""The gate for each rule, and for rules that meet: a left side within another, and beside it.

    python tools/gate.py --cache FOLDER [--part 3/100] [--every] [--dtype f32]

A pair goes through the whole pipeline, its value and its derivatives, and is judged at special
values beside its naive graph. What has been judged stands in the folder, so that a run goes on
where the last one ended.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from gradc import rules
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.rules.engine import Rule, watch_firings
from gradc.rules.final.finish import FAMILIES as LAST
from gradc.rules.verify.gate.alone import judged_alone
from gradc.rules.verify.gate.equations import Left
from gradc.rules.verify.gate.judge import TOLERANCE, Failure, Judged, agree
from gradc.rules.verify.meaning import array_variables, bool_variables
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType
from gradc_ir.errors import GradcError
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.meaning.ulp_distance import bits_between

# How two left sides may stand: one in place of a variable of the other, or both below one op.
BESIDE = ("add", "mul", "div")
_VARIABLE = re.compile(r"\?(\w+)(:\w+)?")
# What a rounding more in each of two rules may do.
_PAIR_TOLERANCE = TOLERANCE + 1.0


def judged_rules() -> list[Rule]:
    """Return the rules that the gate judges: the stable ones, the last ones among them."""
    return [*rules.STABLE, *(rule for family in LAST for rule in family.rules())]


def judged_as_used(
    equation: str,
    dtype: DType,
    points: int,
    most: int | None,
    tolerance: float = TOLERANCE,
) -> Judged:
    """Judge what a user gets for a left side: through all passes, value and derivatives."""
    left = Left(equation, dtype)
    case = replace(left.pulled(left.points(points)), graph=left.folded_graph)
    return case.judge(_used(left), tolerance, most)


def _used(left: Left) -> Function:
    return derive(left.graph, Request(of="vjp", wrt=left.wrt))


@dataclass(frozen=True)
class Pair:
    """Two equations of rules, and how the second stands to the first: below an op, or in place
    of a variable."""

    first: str
    second: str
    place: str
    rules: tuple[str, str]

    @property
    def sides(self) -> tuple[str, str]:
        """The two left sides, whose variables are all other ones."""
        other = _VARIABLE.sub(r"?\1_2\2", self.second.partition("=>")[0].strip())
        return self.first.partition("=>")[0].strip(), other

    @property
    def equation(self) -> str:
        """The pair as one left side."""
        one, other = self.sides
        if self.place in BESIDE:
            return f"{self.place}({one}, {other}) => {self.place}"
        return re.sub(rf"\?{self.place}(?!\w)(:float)?", other.replace("\\", ""), one) + " => 0"

    @property
    def key(self) -> str:
        """What the pair is called in tables: a hash."""
        return f"{crc32(self.equation.encode()):08x}"

    def meets(self) -> bool:
        """Whether other rules fire on the pair than on the two left sides by themselves."""
        apart = _fired(f"{self.first.partition('=>')[0]} => 0")
        apart += _fired(f"{self.second.partition('=>')[0]} => 0")
        return _fired(self.equation) != apart


def pairs(given: Sequence[Rule]) -> list[Pair]:
    """Return the pairs of all equations of numbers, in an order that is a hash's."""
    scalars = _scalars(given)
    found = [
        Pair(first, second, place, (one, other))
        for one, first in scalars
        for other, second in scalars
        for place in (*BESIDE, *Left(first, DType.F64).names)
        if place not in BESIDE or place == "div" or first <= second
    ]
    return sorted(found, key=lambda pair: pair.key)


def chosen(given: Sequence[Rule], count: int) -> list[Pair]:
    """Return some pairs, chosen by hash: the same ones as long as the rules are the same."""
    scalars = _scalars(given)
    found = []
    for i in range(count):
        one, other, at = (crc32(f"{i} {what}".encode()) for what in ("first", "second", "place"))
        (name, first), (beside, second) = (scalars[x % len(scalars)] for x in (one, other))
        places = (*BESIDE, *Left(first, DType.F64).names)
        found.append(Pair(first, second, places[at % len(places)], (name, beside)))
    return found


def _scalars(given: Sequence[Rule]) -> list[tuple[str, str]]:
    """Return the equations of rules that name numbers alone, with the rules' names."""
    return [
        (rule.name, equation)
        for rule in given
        for equation in rule.equations
        if not bool_variables(equation)
        and not array_variables(equation)
        and ":const" not in equation.partition("=>")[0]
    ]


@cache
def _fired(equation: str) -> Counter[str]:
    left = Left(equation, DType.F64)
    fired: Counter[str] = Counter()
    with watch_firings(lambda _, firing: fired.update([firing.rule])):
        derive(left.graph, Request(of="vjp", wrt=left.wrt))
    return fired


def judged_pair(pair: Pair, dtype: DType, points: int = 400, most: int | None = 4) -> Judged:
    """Judge a pair as it is used.

    Its number is right, too, where it is what the two sides make one after the other, or nearer to
    the truth, and each of them is right by itself: what is documented of a rule, an exception or
    what it loses, holds in a pair.
    """
    found = judged_as_used(pair.equation, dtype, points, most, _PAIR_TOLERANCE)
    failures = tuple(each for each in found.failures if not is_of_sides(pair, dtype, each))
    return replace(found, failures=failures)


def is_of_sides(pair: Pair, dtype: DType, failure: Failure) -> bool:
    """Whether a number of a pair is what its sides make of the point, and both are right there."""
    one, other = (Side(side, dtype, name) for side, name in zip(pair.sides, pair.rules))
    with np.errstate(all="ignore"):
        made, points = _one_after_the_other(pair.place, one, other, failure.point)
    new, wanted = (np.array([x], dtype.numpy) for x in (failure.new, made[failure.what]))
    is_near = bool(agree(wanted, new, _PAIR_TOLERANCE)[0])
    if not is_near and failure.truth is not None:
        truth = np.array([failure.truth], dtype.numpy)
        is_near = bool(bits_between(new, truth)[0] <= bits_between(wanted, truth)[0])
    return is_near and one.passes(points[0]) and other.passes(points[1])


def _one_after_the_other(
    place: str, one: Side, other: Side, point: Mapping[str, float]
) -> tuple[dict[str, float], tuple[Mapping[str, float], Mapping[str, float]]]:
    """Return value and slopes of two sides that stand to each other as a pair does, and where."""
    inner, _ = other.pulled(point)
    if place in BESIDE:
        op = Side(f"{place}(?one, ?other)", one.dtype, "")
        value, slopes = op.pulled({"one": one.pulled(point)[0], "other": inner})
        outer, of_inner = one.pulled(point, slopes["one"])[1], slopes["other"]
        where = point
    else:
        where = {**point, place: inner}
        value, outer = one.pulled(where)
        of_inner = outer.pop(place)
    found = {**outer, **other.pulled(point, of_inner)[1]}
    return {"value": value, **{f"d/d{name}": x for name, x in found.items()}}, (where, point)


@dataclass(frozen=True)
class Side:
    """A left side by itself, as it is used."""

    side: str
    dtype: DType
    rule: str

    def pulled(
        self, point: Mapping[str, float], cotangent: float = 1.0
    ) -> tuple[float, dict[str, float]]:
        """Return value and slopes at a point, of coordinates that are others' too."""
        left, final = _side(self)
        numbers = [*(point[name] for name in left.names), cotangent]
        arrays = [np.array([x], self.dtype.numpy) for x in numbers]
        value, *slopes = (float(made[0]) for made in interpret(final, arrays))
        return value, dict(zip(left.names, slopes, strict=True))

    def passes(self, point: Mapping[str, float]) -> bool:
        """Whether the gate lets value and slopes at a point through."""
        left, final = _side(self)
        columns = np.array([[point[name]] for name in left.names], self.dtype.numpy)
        tolerance = TOLERANCE + _losses()[self.rule]
        case = replace(left.pulled(columns), graph=left.folded_graph)
        return not case.judge(final, tolerance).failures


@cache
def _losses() -> dict[str, float]:
    return {rule.name: rule.loss for rule in judged_rules()}


@lru_cache(maxsize=64)
def _side(side: Side) -> tuple[Left, Function]:
    left = Left(f"{side.side} => 0", side.dtype)
    return left, _used(left)


def _run(arguments: argparse.Namespace, say: Callable[[str], object]) -> int:
    arguments.cache.mkdir(parents=True, exist_ok=True)
    part, parts = map(int, arguments.part.split("/"))
    dtype = DType(arguments.dtype)
    state = arguments.cache / f"gate-{arguments.dtype}-{part}-of-{parts}.jsonl"
    lines = state.read_text().splitlines() if state.exists() else []
    done = {found["pair"]: found for found in map(json.loads, lines)}
    with state.open("a") as file:
        for name, judge in _questions(dtype, arguments.every, part, parts):
            if name in done:
                continue
            found = judge()
            done[name] = {"pair": name, **found}
            file.write(json.dumps(done[name]) + "\n")
            file.flush()
            for failure in done[name]["failures"]:
                say(f"{name}: {failure}")
            if len(done) == arguments.most:
                break
    judged = [found for found in done.values() if found["meets"]]
    failed = [found for found in judged if found["failures"]]
    say(f"rules and pairs {len(done)}, of which meet {len(judged)}")
    say(f"numbers compared {sum(found['compared'] for found in judged)}")
    say(f"of {len(judged_rules())} rules; rules and pairs that fail {len(failed)}")
    return 1 if failed else 0


def _questions(
    dtype: DType, every: bool, part: int, parts: int
) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield the rules and the pairs of a part, by name, with what judges them."""
    for i, rule in enumerate(judged_rules()):
        if i % parts == part:
            yield rule.name, partial(_rule_judged, rule, dtype)
    for i, pair in enumerate(pairs(judged_rules())):
        if i % parts == part:
            name = pair.equation.partition("=>")[0].strip()
            yield name, partial(_pair_judged, pair, dtype, every)


def _rule_judged(rule: Rule, dtype: DType) -> dict[str, Any]:
    return _told([found for _, found in judged_alone(rule, dtype)])


def _pair_judged(pair: Pair, dtype: DType, every: bool) -> dict[str, Any]:
    try:
        if not every and not pair.meets():
            return {**_told([]), "meets": False}
        return _told([judged_pair(pair, dtype)])
    except GradcError as error:
        return {**_told([]), "failures": [f"{type(error).__name__}: {error}"]}


def _told(judged: Sequence[Judged]) -> dict[str, Any]:
    failures = [str(failure) for found in judged for failure in found.failures]
    compared = sum(found.compared for found in judged)
    return {"meets": True, "compared": compared, "failures": failures[:3]}


def main() -> int:
    """Judge pairs, and return 1 when one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="the folder of what is done")
    parser.add_argument("--part", default="0/1", help="which pairs: 3/100 is every hundredth")
    parser.add_argument("--every", action="store_true", help="pairs that do not meet, too")
    parser.add_argument("--dtype", default="f64", choices=["f64", "f32"])
    parser.add_argument("--most", type=int, default=-1, help="stop when so many are done")
    return _run(parser.parse_args(), lambda line: print(line, flush=True))


if __name__ == "__main__":
    sys.exit(main())
