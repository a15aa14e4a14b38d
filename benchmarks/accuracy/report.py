"""The table of accuracy as text, and all of its figures as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.accuracy import explained
from benchmarks.accuracy.case import HELD_OUT
from benchmarks.accuracy.measure import Figures, Measured, Suite, summary

FIRST, BESIDE = "gradc", "naive"
# By how many bits a case may be behind the naive code before it is said.
BEHIND = 1.0


def table(measured: Sequence[Measured]) -> str:
    """Return all cases, the worst first, in Markdown."""
    lines = [
        "| suite | case | points | gradc value | gradient | not finite "
        "| naive value | gradient | not finite |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for one in sorted(measured, key=_rank):
        cells = [*_cells(one, FIRST), *_cells(one, BESIDE)]
        lines.append(
            f"| {one.case.suite.replace('_', ' ')} | {one.case.name} | {one.values} | "
            + " | ".join(cells)
            + " |"
        )
    return "\n".join(lines)


def means(measured: Sequence[Measured]) -> str:
    """Return the means of all suites, in Markdown, with what is held out kept apart."""
    lines = [
        "| suite | cases | within 1 bit | over 5 | gradc value | gradient | not finite "
        "| naive value | gradient | not finite |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    suites: dict[str, list[Measured]] = {}
    for one in measured:
        suites.setdefault(one.case.suite, []).append(one)
    own = [one for one in measured if one.case.suite != HELD_OUT]
    groups = {name.replace("_", " "): group for name, group in suites.items() if name != HELD_OUT}
    if len(groups) > 1:
        groups["all of these"] = own
    if HELD_OUT in suites:
        groups["held out"] = suites[HELD_OUT]
    for name, group in groups.items():
        ours, beside = summary(group, FIRST), summary(group, BESIDE)
        failed = f" ({ours.failed} failed)" if ours.failed else ""
        lines.append(
            f"| {name} | {len(group)}{failed} | {ours.within_one} | {ours.over_five} "
            f"| {_means(ours)} | {_means(beside)} |"
        )
    return "\n".join(lines)


def remarks(measured: Sequence[Measured]) -> str:
    """Return what else is to be said: failures, cases in which gradc is behind, explanations."""
    lines = []
    for one in measured:
        ours, beside = one.figures.get(FIRST), one.figures.get(BESIDE)
        where = f"{one.case.suite}: {one.case.name}"
        lines += [f"- {name} failed, {where}: {why}" for name, why in one.failures.items()]
        if ours is None or beside is None:
            continue
        for word, mine, other in (
            ("value", ours.value, beside.value),
            ("gradient", ours.gradient, beside.gradient),
        ):
            if mine > other + BEHIND:
                lines.append(f"- behind the naive {word}, {where}: {mine:.2f} and {other:.2f}")
    return "\n".join([*lines, *explained.remarks(measured, FIRST)])


def write_json(path: Path, measured: Iterable[Measured]) -> None:
    """Write all figures of all cases."""
    rows: list[dict[str, Any]] = [
        {
            "suite": one.case.suite,
            "case": one.case.name,
            "hard": one.case.hard,
            "points": one.values,
            "derivatives": one.derivatives,
            "figures": {name: dataclasses.asdict(found) for name, found in one.figures.items()},
            "failures": dict(one.failures),
        }
        for one in measured
    ]
    path.write_text(json.dumps({"cases": rows}, indent=1) + "\n")


def _rank(one: Measured) -> tuple[float, str]:
    found = one.figures.get(FIRST)
    return (float("-inf") if found is None else -found.larger, one.case.name)


def _cells(one: Measured, engine: str) -> list[str]:
    found: Figures | None = one.figures.get(engine)
    if found is None:
        return ["failed" if engine in one.failures else "", "", ""]
    bad = f"{found.values_not_finite} / {found.gradients_not_finite}"
    return [f"{found.value:.2f}", f"{found.gradient:.2f}", "" if bad == "0 / 0" else bad]


def _means(suite: Suite) -> str:
    return (
        f"{suite.value:.2f} | {suite.gradient:.2f} "
        f"| {suite.values_not_finite} / {suite.gradients_not_finite}"
    )
