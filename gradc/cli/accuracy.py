"""``gradc check --accuracy``: bits of error over sampled arguments, and where they arise."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import click
import numpy as np

from gradc.api.compiled import Compiled
from gradc.testing.accuracy import Accuracy, check_accuracy


def check(
    compiled: Compiled[..., Any],
    spec: str | None,
    ranges: Sequence[str],
    points: int,
    size: int,
    seed: int,
    most: float | None,
    as_json: bool,
) -> bool:
    """Print what ``check_accuracy`` finds; tell whether no mean is above the most allowed."""
    found = check_accuracy(
        compiled,
        spec,
        ranges=dict(map(parse_range, ranges)),
        points=points,
        size=size,
        seed=seed,
    )
    click.echo(json.dumps(described(found), indent=1) if as_json else str(found))
    well = most is None or found.bits <= most
    if not well and not as_json:
        click.echo(f"\nFAILED: a mean of {found.bits:.2f} bits is above {most:g}")
    return well


def parse_range(text: str) -> tuple[str, tuple[float, float]]:
    """Return the name and the ends of ``x=-50:50``; an end that is left out is infinite."""
    name, equals, ends = text.partition("=")
    low, colon, high = ends.partition(":")
    try:
        interval = float(low or "-inf"), float(high or "inf")
    except ValueError:
        colon = ""
        interval = (0.0, 0.0)
    if not name or not equals or not colon or not interval[0] < interval[1]:
        raise click.UsageError(f"{text!r} is no range: write x=-50:50, or x=0: without an end")
    return name.strip(), interval


def described(found: Accuracy) -> dict[str, Any]:
    """Return all figures, and the worst points, as what JSON can hold; nan is null."""
    return {
        "function": found.name,
        "points": found.points,
        "seed": found.seed,
        "without_truth": found.without_truth,
        "without_gradient": list(found.without_gradient),
        "rows": [dataclasses.asdict(row) for row in found.rows],
        "worst": [
            {
                "what": each.what,
                "element": list(each.element),
                "bits": each.bits,
                "arguments": {name: _plain(array) for name, array in each.arguments.items()},
                "found": _plain(each.found),
                "true": _plain(each.true),
                "op": each.origin.op if each.origin else None,
                "line": str(each.origin.location) if each.origin else None,
                "origin": each.origin.what if each.origin else None,
            }
            for each in found.worst
        ],
    }


def _plain(number: Any) -> Any:
    if isinstance(number, np.ndarray):
        return _plain(number.tolist())
    if isinstance(number, list):
        return [_plain(each) for each in number]
    if isinstance(number, float) and not np.isfinite(number):
        return None if number != number else str(number)
    return number
