"""Looking again at what a trace has looked at: whether all is as it was, what calls read of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.kept.plain import Unkept
from gradc.kept.steps import Check, Look, Step, answer, fetch_of, found_by
from gradc.tracing.captured.captures import (
    MISSING,
    Capture,
    Guard,
    SameElements,
    SameObject,
)
from gradc.tracing.captured.reads import (
    Contents,
    KeysOf,
    Lacks,
    TypeOf,
    contents,
    keys_of,
    type_of,
)
from gradc_ir.core.types import DType, Type


class Looked:
    """What was found when all looks of a manifest found what they had found before.

    Parameters
    ----------
    looks: those of the manifest.
    found: the things they found.
    """

    def __init__(self, looks: Sequence[Look], found: Sequence[Any]) -> None:
        self.looks = looks
        self.found = found

    def guards(self, kept: Sequence[tuple[str, int]]) -> tuple[Guard, ...]:
        """Return the guards of the trace, which hold now."""
        return tuple([self._guard(name, place) for name, place in kept])

    def captures(self, kept: Sequence[Any]) -> tuple[Capture, ...]:
        """Return what calls read from outside."""
        return tuple(
            [
                Capture(
                    name,
                    Type(DType(dtype), shape),
                    self._fetch(place),
                    self.found[self.looks[place].parent] if is_variable else None,
                )
                for name, place, dtype, shape, is_variable in kept
            ]
        )

    def _guard(self, name: str, place: int) -> Guard:
        look, now = self.looks[place], self.found[place]
        if look.check is Check.LACKS:
            return Guard(name, True, Lacks(now, look.key))
        fetch = self._fetch(place)
        match look.check:
            case Check.PLAIN:
                return Guard(name, now, fetch)
            case Check.CONTENTS:
                return Guard(name, contents(now), Contents(fetch))
            case Check.TYPE:
                return Guard(name, type_of(now), TypeOf(fetch))
            case Check.KEYS:
                return Guard(name, keys_of(now), KeysOf(fetch))
            case Check.ELEMENTS:
                return SameElements(name, np.array(now), fetch)
        return SameObject(name, now, fetch)

    def _fetch(self, place: int) -> Callable[[], Any]:
        step, parent, key, *_ = self.looks[place]
        inner: Callable[[], Any] = _nothing
        if step is Step.ITEM:
            inner = self._fetch(parent)
        return fetch_of(step, self.found[parent], key, inner)


def _nothing() -> None:
    """Stand for what is not read."""


def look_again(kept: Sequence[tuple[Any, ...]], roots: Sequence[Any]) -> Looked | None:
    """Return what the looks of a manifest find, None where one finds something else by now."""
    looks: list[Look] = []
    found: list[Any] = []
    first: dict[int, int] = {}
    for place, (step, parent, key, check, digest, same_as) in enumerate(kept):
        look = Look(Step(step), parent, key, Check(check), digest, same_as)
        try:
            if look.step is Step.ROOT:
                value = roots[key]
            else:
                value = found_by(look.step, found[parent] if parent >= 0 else None, key)
            if look.check and answer(look.check, value, key) != digest:
                return None
        except (*MISSING, Unkept, ImportError):
            return None
        if same_as >= 0 and first.setdefault(id(value), place) != same_as:
            return None
        looks.append(look)
        found.append(value)
    return Looked(looks, found)
