"""Which cases need which stable rule: ``python -m benchmarks.accuracy.audit``.

Each rule is left out in turn, and the cases in which it fired are measured again. A rule that no
case needs must have an argument in ``ARGUED``: else the audit exits with 1. The held-out cases are
not looked at. Nothing is written unless asked for.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import gradc
from benchmarks.accuracy.case import HELD_OUT, Case, all_cases
from benchmarks.accuracy.engines import ENGINES
from benchmarks.accuracy.measure import Figures, figures
from benchmarks.accuracy.run import POINTS
from benchmarks.accuracy.truth import truth_of
from gradc.rules import STABLE, family, watch_firings
from gradc_ir.matching.rewrite import Fired

# By how many bits a mean has to change for the rule to be said to matter.
MATTERS = 0.1

# Why a rule is kept that no case needs. Times are of kernels of value and gradient.
ARGUED = {
    "log-mean-exp": "means along an axis, too, where formulas without bounds end",
    "exp-times-over-two-exps": "one function for two exponentials and a quotient",
    "over-exp-times-exp": "an exponential and a quotient less",
    "log-reciprocal": "a quotient less",
    "one-minus-erfc": "cheaper than a series",
    "erfc-minus-one": "cheaper than a series",
    "log-difference-of-normals": "far out both are 0, which no point of a case is",
    "softplus-difference": "cotangents of gradc.vjp leave no series, and the derivative of a loss "
    "by its label is 0 where the score is nearly 0",
    "logaddexp-zero": "np.logaddexp(0, x) is softplus: cheaper, one operand and its weight less",
    "shifted-log-sum-exp": "where all is masked the shift is minus infinity, which leaves nan; a "
    "quarter cheaper, without a derivative through the maximum",
    "complement": "np.pi / 2 - np.arcsin(x) is meant to be arccos(x); the truths take np.pi as it "
    "is rounded, which near x = 1 is all there is",
    "two-and-mirrored-exps": "a sixth cheaper than two exponentials and a series",
    "cosh-minus-one": "a sixth cheaper than a series",
    "power-e": "np.e ** x is meant to be exp(x), which is cheaper, too; the truths take np.e as it "
    "is rounded, and are nearer without",
    "join-power-of-two": "a tenth cheaper: derivatives are full of powers of two",
    "quotient-of-squares": "a third cheaper than a formula without bound on exponents",
}


@dataclass(frozen=True)
class Effect:
    """What leaving a rule out does to a case: how many bits worse value and gradient are."""

    rule: str
    case: str
    value: float
    gradient: float

    @property
    def worse(self) -> float:
        """The larger of the two changes."""
        return max(self.value, self.gradient)


@dataclass(frozen=True)
class Audited:
    """A rule with its effects in the cases in which it fired."""

    rule: str
    family: str
    effects: tuple[Effect, ...]

    @property
    def needed(self) -> list[Effect]:
        """The cases that are worse without the rule, the worst first."""
        found = [effect for effect in self.effects if effect.worse > MATTERS]
        return sorted(found, key=lambda effect: -effect.worse)

    @property
    def argument(self) -> str | None:
        """Why the rule is kept although no case needs it."""
        return ARGUED.get(self.rule)

    @property
    def harmed(self) -> list[Effect]:
        """The cases that are better without the rule, in value or gradient and in none worse."""
        return [
            effect
            for effect in self.effects
            if min(effect.value, effect.gradient) < -MATTERS and effect.worse <= MATTERS
        ]


def effects(case: Case, number: int) -> Iterator[Effect]:
    """Yield the effect of each stable rule that fires in a case."""
    fired: dict[str, None] = {}
    stable = {rule.name for rule in STABLE}

    def note(_: str, firing: Fired) -> None:
        if firing.rule in stable:
            fired[firing.rule] = None

    with watch_firings(note):
        whole = _figures(case, number)
    for name in fired:
        with gradc.rules(without=[name]):
            less = _figures(case, number)
        yield Effect(name, case.name, less.value - whole.value, less.gradient - whole.gradient)


def _figures(case: Case, number: int) -> Figures:
    truth = truth_of(case, number)
    values, gradients = ENGINES["gradc"](case, truth.points)
    return figures(truth.points, truth.values, truth.gradients, values, gradients)


def audit(cases: Iterable[Case], number: int) -> list[Audited]:
    """Return all stable rules with their effects, those that matter the most first."""
    found: dict[str, list[Effect]] = {}
    for count, case in enumerate(cases, start=1):
        if sys.stderr.isatty():
            print(f"\r\033[K{count}: {case.name}", end="", file=sys.stderr)
        for effect in effects(case, number):
            found.setdefault(effect.rule, []).append(effect)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    audited = [Audited(rule.name, family(rule), tuple(found.get(rule.name, ()))) for rule in STABLE]
    return sorted(audited, key=lambda one: -sum(effect.worse for effect in one.needed))


def table(audited: Sequence[Audited]) -> str:
    """Return every rule with its verdict, in Markdown: needed, argued for, or neither."""
    needed = [one for one in audited if one.needed]
    idle = [one for one in audited if not one.needed]
    lines = [
        "| rule | family | fires in | worse without | most bits: value | gradient | case |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for one in needed:
        most = one.needed[0]
        lines.append(
            f"| {one.rule} | {one.family} | {len(one.effects)} | {len(one.needed)} "
            f"| {most.value:.2f} | {most.gradient:.2f} | {most.case} |"
        )
    for title, chosen in (
        ("needed by no case, but argued for", [one for one in idle if one.argument]),
        ("needed by no case, and without an argument", [one for one in idle if not one.argument]),
    ):
        lines += ["", f"{title} ({len(chosen)}):"]
        lines += [f"- {_verdict(one)}" for one in chosen]
    harmed = [(one, effect) for one in audited for effect in one.harmed]
    lines += ["", f"cases that are better without a rule ({len(harmed)}):"]
    lines += [
        f"- {effect.case} without {one.rule}: value {effect.value:+.2f}, "
        f"gradient {effect.gradient:+.2f}"
        for one, effect in harmed
    ]
    spare = sorted(ARGUED.keys() - {one.rule for one in idle})
    if spare:
        lines += ["", f"arguments for what is needed or is no rule: {', '.join(spare)}"]
    return "\n".join(lines)


def _verdict(one: Audited) -> str:
    where = f"fires in {len(one.effects)} cases" if one.effects else "fires in no case"
    why = f": {one.argument}" if one.argument else ""
    return f"{one.rule} ({one.family}, {where}){why}"


def main(words: list[str]) -> int:
    """Measure and print; returns 1 when all cases leave a rule neither needed nor argued for."""
    parser = argparse.ArgumentParser(prog="benchmarks.accuracy.audit", description=__doc__)
    parser.add_argument("--cases", nargs="+", default=[], metavar="WORD", help="only these cases")
    parser.add_argument("--points", type=int, default=POINTS, help="points of a case")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all effects there, too")
    options = parser.parse_args(words)
    cases = [
        case
        for case in all_cases()
        if case.suite != HELD_OUT
        and (not options.cases or any(word in case.name for word in options.cases))
    ]
    if not cases:
        parser.error("no case has such a name")
    found = audit(cases, options.points)
    print(table(found))
    if options.json is not None:
        rows = [dataclasses.asdict(one) for one in found]
        options.json.write_text(json.dumps({"rules": rows}, indent=1) + "\n")
    if options.cases:
        return 0  # others may need what these do not
    return 1 if any(not one.needed and one.argument is None for one in found) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
