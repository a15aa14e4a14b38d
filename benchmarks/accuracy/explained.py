"""The cases that keep an error of more than half a bit, with what is lost in them."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from benchmarks.accuracy.case import HELD_OUT, Case
from benchmarks.accuracy.measure import Measured

# The mean of value or gradient, in bits, from which on a case must have an explanation, and up to
# which it has none: between them a new rule or other points may change it.
OVER, UNDER = 0.5, 0.4


@cache
def explanations() -> Mapping[tuple[str, str], str]:
    """Return the lines of ``explained.toml`` by suite and case."""
    suites = tomllib.loads(Path(__file__).with_name("explained.toml").read_text("utf-8"))
    return {(suite, name): why for suite, lines in suites.items() for name, why in lines.items()}


def explanation(case: Case) -> str | None:
    """Return why a case keeps its error, None where nobody has said."""
    return explanations().get((case.suite, case.name))


def over(measured: Sequence[Measured], engine: str) -> list[Measured]:
    """Return the cases of which value or gradient has too large an error, the worst first.

    The held-out cases are not among them: nobody looks at them.
    """
    found = [
        one
        for one in measured
        if one.case.suite != HELD_OUT
        and engine in one.figures
        and one.figures[engine].larger > OVER
    ]
    return sorted(found, key=lambda one: -one.figures[engine].larger)


def table(measured: Sequence[Measured], engine: str, beside: str) -> str:
    """Return these cases with the figures of two engines and the explanations, in Markdown."""
    chosen = over(measured, engine)
    lines = [
        f"Cases over {OVER} bits ({len(chosen)}):",
        "",
        f"| suite | case | {engine} value | gradient | {beside} value | gradient | what is lost |",
        "|---|---|---:|---:|---:|---:|---|",
    ]
    for one in chosen:
        figures = [one.figures.get(name) for name in (engine, beside)]
        cells = [
            cell
            for each in figures
            for cell in (
                ("", "") if each is None else (f"{each.value:.2f}", f"{each.gradient:.2f}")
            )
        ]
        lines.append(
            f"| {one.case.suite.replace('_', ' ')} | {one.case.name} | {' | '.join(cells)} "
            f"| {explanation(one.case) or '**not explained**'} |"
        )
    return "\n".join(lines)


def remarks(measured: Sequence[Measured], engine: str) -> list[str]:
    """Return which cases lack an explanation, and which no longer need theirs."""
    lines = [
        f"- not explained, {one.case.suite}: {one.case.name}"
        for one in over(measured, engine)
        if explanation(one.case) is None
    ]
    return lines + [
        f"- explained, but small by now, {one.case.suite}: {one.case.name}"
        for one in measured
        if engine in one.figures
        and one.figures[engine].larger <= UNDER
        and explanation(one.case) is not None
    ]
