"""The doors to a gradient: what each computes of a case, and how far it is behind the first one.

Every transform of gradc is to be as accurate as ``value_and_grad``: each is an engine that
:mod:`benchmarks.accuracy.measure` measures against the same truths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import gradc
from benchmarks.accuracy.case import Case
from benchmarks.accuracy.engines import Engine, compiled, full
from benchmarks.accuracy.measure import Measured, summary
from gradc_ir.core.types import Array

FIRST = "value_and_grad"
# By how many bits a door may be behind the first one in the mean of a case.
BEHIND = 0.05
# A Jacobian of all points would hardly have anything but zeros.
_POINTS_OF_A_JACOBIAN = 8


def _grad(case: Case, points: Array) -> tuple[Array, Array]:
    of = gradc.grad(lambda *x: np.sum(case.function(*x)), tuple(range(len(points))))
    return _with_values(case, points, gradc.compile(of)(*points))


def _vjp(case: Case, points: Array) -> tuple[Array, Array]:
    values, pull = gradc.vjp(case.function, *points)
    return full(values, points), _rows(pull(np.ones(np.shape(values))), points)


def _jvp(case: Case, points: Array) -> tuple[Array, Array]:
    found = [gradc.jvp(case.function, tuple(points), tangents) for tangents in _units(points)]
    return full(found[0][0], points), _rows([tangent for _, tangent in found], points)


def _linearize(case: Case, points: Array) -> tuple[Array, Array]:
    values, push = gradc.linearize(case.function, *points)
    return full(values, points), _rows([push(*tangents) for tangents in _units(points)], points)


def _jacobian(case: Case, points: Array) -> tuple[Array, Array]:
    of = gradc.compile(gradc.jacobian(case.function, tuple(range(len(points)))))
    last = points.shape[1] - points.shape[1] % _POINTS_OF_A_JACOBIAN
    parts = [
        points[:, i : i + _POINTS_OF_A_JACOBIAN] for i in range(0, last, _POINTS_OF_A_JACOBIAN)
    ]
    parts += [points[:, last:]] if last < points.shape[1] else []
    found = [[np.diagonal(block) for block in of(*part)] for part in parts]
    return _with_values(case, points, [np.concatenate(rows) for rows in zip(*found)])


def _vmapped(case: Case, points: Array) -> tuple[Array, Array]:
    of = gradc.value_and_grad(case.function, tuple(range(len(points))))
    values, gradients = gradc.compile(gradc.vmap(of))(*points)
    return full(values, points), _rows(gradients, points)


def _scanned(case: Case, points: Array) -> tuple[Array, Array]:
    """A step computes with what it carries, and carries its row to the next."""

    def total(*x: Any) -> Any:
        def step(carry: Any, row: Any) -> Any:
            return row, case.function(*carry)

        following = tuple(np.concatenate([each[1:], each[:1]]) for each in x)
        _, values = gradc.scan(step, tuple(each[0] for each in x), following)
        return np.sum(values), values

    of = gradc.value_and_grad(total, tuple(range(len(points))), has_aux=True)
    (_, values), gradients = gradc.compile(of)(*points)
    return full(values, points), _rows(gradients, points)


DOORS: dict[str, Engine] = {
    FIRST: compiled,
    "grad": _grad,
    "vjp": _vjp,
    "jvp": _jvp,
    "linearize": _linearize,
    "jacobian": _jacobian,
    "vmap of grad": _vmapped,
    "grad of scan": _scanned,
}


def table(measured: Sequence[Measured]) -> str:
    """Return one line a door, in Markdown: the means over all cases, and who is behind."""
    lines = [
        "| door | cases | value | gradient | not finite | behind the first |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for door in DOORS:
        if not any(door in each.figures or door in each.failures for each in measured):
            continue
        found = summary(measured, door)
        failed = f" ({found.failed} failed)" if found.failed else ""
        late = sum(not is_as_good(each, door) for each in measured)
        lines.append(
            f"| {door} | {len(measured)}{failed} | {found.value:.2f} | {found.gradient:.2f} "
            f"| {found.values_not_finite} / {found.gradients_not_finite} | {late} |"
        )
    return "\n".join(lines)


def remarks(measured: Sequence[Measured]) -> str:
    """Return a line for each door that failed on a case or is behind in it."""
    lines = []
    for each in measured:
        for door, why in each.failures.items():
            lines.append(f"- {door} failed, {each.case.suite}: {each.case.name}: {why}")
        for door, figures in each.figures.items():
            if not is_as_good(each, door):
                first = each.figures[FIRST]
                lines.append(
                    f"- {door} is behind, {each.case.suite}: {each.case.name}: "
                    f"{figures.gradient:.2f} and {first.gradient:.2f} bits, not finite "
                    f"{figures.gradients_not_finite} and {first.gradients_not_finite}"
                )
    return "\n".join(lines)


def is_as_good(measured: Measured, door: str) -> bool:
    """Whether a door has no more bits of error than the first, and all that is finite there."""
    first, found = measured.figures.get(FIRST), measured.figures.get(door)
    if first is None or found is None:
        return first is None and found is None
    return (
        found.value <= first.value + BEHIND
        and found.gradient <= first.gradient + BEHIND
        and found.values_not_finite <= first.values_not_finite
        and found.gradients_not_finite <= first.gradients_not_finite
    )


def _units(points: Array) -> list[tuple[Array | None, ...]]:
    """Return tangents along one argument after the other; None is a zero tangent."""
    ones = np.ones(points.shape[1])
    places = range(len(points))
    return [tuple(ones if i == place else None for i in places) for place in places]


def _with_values(case: Case, points: Array, gradients: Sequence[Any]) -> tuple[Array, Array]:
    """Return the gradients of a door that has no values, with those of the first."""
    return compiled(case, points)[0], _rows(gradients, points)


def _rows(gradients: Sequence[Any], points: Array) -> Array:
    return np.stack([full(row, points) for row in gradients])
