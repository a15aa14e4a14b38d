"""What became of each loop of a traced function, for those who ask."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.capture.held.uniform import NotUniform
from gradc.tracing.core.state import running
from gradc.tracing.rewriting.comprehensions import named_for_a_user
from gradc.tracing.rewriting.site import Site
from gradc_ir.classes.quick import dataclass
from gradc_ir.location import Location


@dataclass(frozen=True)
class LoopNote:
    """What became of one loop.

    Parameters
    ----------
    site: the loop.
    how: ``"rolled"`` or ``"unrolled"``.
    steps: how many steps it has, as a text.
    carries: what its steps hand on, for one that is rolled.
    why: why it was unrolled.
    at: the line that is why.
    """

    site: Site
    how: str
    steps: str
    carries: tuple[str, ...] = ()
    why: str = ""
    at: Location | None = None

    def __str__(self) -> str:
        site = self.site
        head = f"{Location(site.file, site.line, site.function)}: {self.how}, {self.steps}"
        if self.how == "rolled":
            carries = map(named_for_a_user, self.carries)
            return f"{head}; hands on {', '.join(carries) or 'nothing'}"
        place = "" if self.at is None or self.at.line == site.line else f"line {self.at.line}: "
        return f"{head}: {place}{named_for_a_user(self.why)}"


def note_rolled(site: Site, steps: str, carries: Sequence[str]) -> None:
    """Note that a loop is one operation."""
    running().root.loops[site] = LoopNote(site, "rolled", steps, tuple(carries))


def note_unrolled(site: Site, steps: str, error: NotUniform | str) -> None:
    """Note that a loop was run by Python, and why."""
    if isinstance(error, str):
        note = LoopNote(site, "unrolled", steps, (), error)
    else:
        note = LoopNote(site, "unrolled", steps, (), error.why, error.at)
    running().root.loops[site] = note
