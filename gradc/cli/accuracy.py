"""``gradc check --accuracy``: bits of error over sampled arguments, and where they arise."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import click

from gradc.api.compiled import Compiled
from gradc.cli.frame.output import write_json
from gradc.testing.accuracy import Accuracy, check_accuracy


def check(
    compiled: Compiled[..., Any],
    spec: str | None,
    ranges: Mapping[str, tuple[float, float]],
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
        ranges=ranges,
        points=points,
        size=size,
        seed=seed,
    )
    if as_json:
        write_json("check", {"accuracy": described(found)})
    else:
        click.echo(str(found))
    well = most is None or found.bits <= most
    if not well and not as_json:
        click.echo(f"\nFAILED: a mean of {found.bits:.2f} bits is above {most:g}")
    return well


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
                "arguments": {name: array for name, array in each.arguments.items()},
                "found": each.found,
                "true": each.true,
                "op": each.origin.op if each.origin else None,
                "line": str(each.origin.location) if each.origin else None,
                "origin": each.origin.what if each.origin else None,
            }
            for each in found.worst
        ],
    }
