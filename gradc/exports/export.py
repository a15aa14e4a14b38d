"""Exports: functions, and what is asked of them, to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from gradc.exports.example import NAME, example_main
from gradc.exports.kinds import Kind, kinds_of, with_value
from gradc.exports.package import build_files
from gradc.exports.plan import Asked, Source, plan
from gradc.runtime.export import Choices, Written, write
from gradc_ir.errors import ExportError


class ExportOptions(TypedDict, total=False):
    """What all ways to export have in common; :meth:`gradc.Compiled.export` says what they mean."""

    out: str | Path
    cpu: str | None
    target: str | None
    triple: str | None
    optimize: int | Literal["size"] | None
    link: str
    blas: bool
    fma: str | None
    helpers: bool
    soft_double: bool
    structs: bool
    parallel: bool
    package: bool


def kinds_asked(
    of: str | Sequence[str] | None, outputs: str | Sequence[str] | None
) -> tuple[Kind, ...] | None:
    """Return what ``of`` (beside the value) or ``outputs`` (exactly) ask for; None for neither."""
    if of is not None and outputs is not None:
        raise ExportError(
            "of and outputs are both given",
            help="write outputs= for exactly these functions, or of= for some beside the value",
        )
    if outputs is not None:
        found = kinds_of(outputs, "outputs")
        if not found:
            raise ExportError("outputs names nothing", help='write outputs=["value", "vg"]')
        return found
    return None if of is None else with_value(kinds_of(of))


def export(
    name: str, functions: Sequence[tuple[Source, Asked]], options: ExportOptions
) -> list[Path]:
    """Write the C functions of one or more functions to one file, with one header."""
    given: dict[str, Any] = dict(options)
    out = given.pop("out", ".")
    package = given.pop("package", False)
    target, triple = given.pop("target", None), given.pop("triple", None)
    if target is not None and triple is not None and target != triple:
        raise ExportError("target and triple are the same thing: give one of them")
    choices = Choices(triple=triple if target is None else target, **given)
    plans = [plan(source, asked) for source, asked in functions]
    entries = [entry for one in plans for entry in one.entries]

    def beside(written: Written) -> Mapping[str, str]:
        arguments = {entry.name: one.arguments for one in plans for entry in one.entries}
        example = {}
        if choices.link not in ("ir", "asm"):
            example[NAME] = example_main(written, entries, arguments, choices)
        return {**example, **build_files(written)}

    return write(name, entries, out, choices, beside=beside if package else None)
