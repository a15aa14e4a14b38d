"""What would shorten a compilation that took long: a loop that Python ran, most often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gradc.tracing.captured.traced import Traced
from gradc_ir.core.deferred import Deferred
from gradc_ir.core.graph import Function
from gradc_ir.core.walk import nested
from gradc_ir.location import Location

# Where one instruction of the user's has recorded so many ops, a loop was unrolled.
_UNROLLED = 20


def what_would_help(
    traced: Traced, functions: Sequence[Function], phases: Mapping[str, float]
) -> str:
    """Return in a line what took the time of a compilation, and what would shorten it."""
    longest = max(phases, key=lambda name: phases[name], default="")
    ops = sum(1 for function in functions for _ in nested(function))
    took = f"most of it {longest}, of {ops} ops"
    # a trace that was kept on disk is there by its types alone, and what was made of it whole
    is_kept = isinstance(traced.function, Deferred)
    times, place = _most_repeated(functions[0] if is_kept else traced.function)
    if place is not None and times >= _UNROLLED:
        return (
            f"{took}; {times} were recorded at one place, {place}: a Python loop was unrolled; "
            "gradc.fori_loop and gradc.scan record its body once"
        )
    return f"{took}; the ops of all lines are in f.dump(), the rules that fired in f.explain()"


def _most_repeated(function: Function) -> tuple[int, Location | None]:
    """Return how often the line was recorded that was recorded most often, and the line."""
    counts: Counter[tuple[int, int]] = Counter()
    places: dict[tuple[int, int], Location] = {}
    for owner, node in nested(function):
        for place in owner.locations.get(node, ())[:1]:
            if place.instruction is not None:
                key = id(place.instruction[0]), place.instruction[1]
                counts[key] += 1
                places.setdefault(key, place)
    if not counts:
        return 0, None
    key, times = counts.most_common(1)[0]
    return times, places[key]
