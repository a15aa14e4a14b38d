"""Captured arrays put inside of a kernel, as constants, instead of becoming arguments of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from gradc.exports.words import words_in
from gradc.tracing import Traced
from gradc.tracing.captured.captures import Capture
from gradc_codegen.abi import c_identifier
from gradc_ir.build import constant
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import Builder
from gradc_ir.core.types import Array
from gradc_ir.errors import ExportError, TraceError

EVERY = "all"


class Baked(NamedTuple):
    """A captured array that became a constant, and what it was then."""

    capture: Capture
    value: Array

    def is_current(self) -> bool:
        """Whether it is still what it was."""
        try:
            now = self.capture.read()
        except TraceError:
            return False
        return now.shape == self.value.shape and now.tobytes() == self.value.tobytes()


def baked(name: str, traced: Traced, bake: str | Sequence[str]) -> tuple[Traced, tuple[Baked, ...]]:
    """Return a traced function with some captured arrays as constants of their values now.

    ``bake`` has their names, in the words of the program or as C spells them, or is ``"all"``.
    Raises ExportError for a name that no captured array has.
    """
    wanted = words_in(bake)
    if not wanted:
        return traced, ()
    own = len(traced.function.params) - len(traced.captures)
    places: dict[str, int] = {}
    for position, capture in enumerate(traced.captures):
        called = traced.function.names[own + position]
        for spelled in (c_identifier(called), called, capture.name):
            places[spelled] = position
    chosen = set(range(len(traced.captures))) if EVERY in wanted else set()
    for word in wanted:
        if word in places:
            chosen.add(places[word])
        elif word != EVERY:
            names = ", ".join(dict.fromkeys(capture.name for capture in traced.captures))
            raise ExportError(
                f"bake: {name} captures no array called {word}",
                found=f"captured: {names}" if names else "it captures none",
                help="bake is for arrays that the function reads from outside of it; an argument "
                "can be captured too: gradc.compile(lambda x: f(x, W))",
            )
    if not chosen:
        return traced, ()
    found = {i: Baked(traced.captures[i], traced.captures[i].read().copy()) for i in sorted(chosen)}
    return _with_constants(traced, found), tuple(found.values())


def _with_constants(traced: Traced, chosen: Mapping[int, Baked]) -> Traced:
    function = traced.function
    own = len(function.params) - len(traced.captures)
    kept = [i for i in range(len(function.params)) if i - own not in chosen]
    with Builder() as builder:
        params = {i: builder.param(place, function.param_types[i]) for place, i in enumerate(kept)}
        values = [
            params[i] if i in params else constant(chosen[i - own].value)
            for i in range(len(function.params))
        ]
        made = builder.function(
            function.name,
            list(params.values()),
            builder.inline(function, values),
            [function.names[i] for i in kept],
            function.location,
        )
    captures = tuple(one for i, one in enumerate(traced.captures) if i not in chosen)
    return dataclasses.replace(traced, function=made, captures=captures)
