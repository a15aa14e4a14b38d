"""Running cases: every tool computes each, is checked, and is measured by turns with the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import gradc
from benchmarks.kernel import executable_of, gradc_kernel
from benchmarks.machine import multiply_flops, multiplying, passing
from benchmarks.peers import PEERS, Missing
from benchmarks.rows import ROWS
from benchmarks.rows.row import Case, disagreement, make_case
from benchmarks.turns import Contestant, Plan, Times, measure


@dataclass
class Measured:
    """What was found of a case.

    Attributes
    ----------
    times: by tool; gradc is one of them unless it failed.
    compiling: processor seconds, of those that compile.
    scratch: bytes of gradc's.
    failures: what gradc or a peer did wrong.
    passing: seconds that reading and writing as many bytes took, measured between the tools.
    fma: GFLOP/s of multiply-adds in the dtype, likewise.
    """

    case: Case
    times: dict[str, Times] = field(default_factory=dict)
    compiling: dict[str, float] = field(default_factory=dict)
    scratch: int = 0
    failures: list[str] = field(default_factory=list)
    passing: float = 0.0
    fma: float = 0.0

    @property
    def ours(self) -> float | None:
        """The median of gradc."""
        return self.times["gradc"].median if "gradc" in self.times else None

    @property
    def fastest(self) -> str | None:
        """The fastest tool but gradc."""
        peers = [tool for tool in self.times if tool != "gradc"]
        return min(peers, key=lambda tool: self.times[tool].median, default=None)

    def ahead_of(self, tool: str | None) -> float | None:
        """How many times faster gradc is than a tool."""
        if self.ours is None or tool not in self.times:
            return None
        return self.times[tool].median / self.ours

    @property
    def of_memory(self) -> float | None:
        """The share of the memory's bandwidth that gradc has, were each array passed once."""
        return None if self.ours is None else self.passing / self.ours

    @property
    def of_fma(self) -> float | None:
        """The share of the multiply-adds' rate that gradc has, by the count of the row."""
        return None if self.ours is None else self.case.flops / self.ours / 1e9 / self.fma


def chosen(names: Sequence[str]) -> Iterator[Case]:
    """Return the cases whose names begin with one of the names; all for none."""
    for row in ROWS:
        if names and not any(row.name.startswith(name) for name in names):
            continue
        for sizes in row.sizes:
            for dtype in row.dtypes:
                yield make_case(row, sizes, dtype)


def warm_up() -> None:
    """Load what compiling needs, so that no case pays for it."""
    for name in gradc.__all__:
        getattr(gradc, name)
    row = ROWS[-1]
    executable_of(row, make_case(row, row.tiny, "f64").arguments)


def run(case: Case, plan: Plan, missing: set[str]) -> Measured:
    """Return the figures of a case; what is not installed is told once, in ``missing``."""
    found = Measured(case)
    contestants: list[Contestant] = []
    for tool in (gradc_kernel, *PEERS):
        try:
            contestant = tool(case)
        except Missing as error:
            missing.add(str(error))
            continue
        except Exception as error:
            found.failures.append(f"{tool.__name__}: {type(error).__name__}: {error}")
            continue
        if contestant is None:
            continue
        wrong = disagreement(contestant.results, case)
        if wrong:
            found.failures.append(f"{contestant.tool}: {wrong}")
            continue
        contestants.append(contestant)
        if contestant.compiling is not None:
            found.compiling[contestant.tool] = contestant.compiling
        if contestant.scratch is not None:
            found.scratch = contestant.scratch
    machine = [passing(case.read, case.written), multiplying(case.dtype)]
    times = measure([*contestants, *machine], plan)
    found.passing = times.pop("passing").median
    found.fma = multiply_flops(case.dtype) / times.pop("multiplying").median / 1e9
    found.times = times
    return found
