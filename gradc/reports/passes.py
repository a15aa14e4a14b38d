"""The passes by their names, and how long each takes on a function."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from gradc.pipeline import after, before, derive
from gradc.reports.steps import count
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc_ir import passes as language
from gradc_ir.core.graph import Function
from gradc_ir.pipeline import Pass, Pipeline


def pipelines(options: Options | None = None) -> dict[str, Pipeline]:
    """Return the lists of passes by their names, in the order in which they run."""
    # other commands need no code generation
    from gradc_codegen.schedule.passes.prepare import preparation

    chosen = options or Options()
    return {
        "before": before(chosen),
        "after": after(chosen),
        "codegen": preparation(chosen.blas),
    }


def named_passes() -> dict[str, Callable[[Function], Function]]:
    """Return every pass, and every list of them, by name."""
    found: dict[str, Callable[[Function], Function]] = {}
    lists = pipelines()
    for each in lists.values():
        for step in each.passes:
            # a pass may make ops of its list's own, which the verifier knows from the list
            found.setdefault(step.name, Pipeline(each.name, (step,), each.ops, each.symbols))
    for name in language.__all__:
        step_type = getattr(language, name)
        if isinstance(step_type, type) and isinstance(getattr(step_type, "name", None), str):
            one: Pass = step_type()
            found.setdefault(one.name, one)
    return {**found, **lists}


@dataclass(frozen=True)
class Timing:
    """How long a pass took, and how many nodes it left."""

    name: str
    seconds: float
    nodes: int


def timings(traced: Function, request: Request) -> list[Timing]:
    """Return how long each step of a request takes, differentiation too.

    One run that is not measured comes before: it loads what is loaded on need.
    """
    derive(traced, request)
    found: list[Timing] = []
    begun = time.perf_counter()

    def watch(name: str, function: Function) -> None:
        nonlocal begun
        now = time.perf_counter()
        found.append(Timing(name, now - begun, count(function)))
        begun = time.perf_counter()

    final = derive(traced, request, watch)
    begun = time.perf_counter()
    pipelines(request.options)["codegen"](final, watch)
    return [one for one in found if one.name != "traced"]
