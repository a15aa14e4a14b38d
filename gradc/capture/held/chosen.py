"""Lists, dicts and objects that a branch chose between: copies stand for them from there on.

Which of them it is only the running program knows, so that what is chosen is made anew, of chosen
numbers and arrays. As long as nothing is changed nobody can tell. Where one of them has another
name, as in ``c = a if x > 0 else b``, a change of ``c`` would have to be one of ``a`` or of ``b``;
so what has other names is remembered, and that it is changed is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import FrameType
from typing import Any

from gradc.capture.held.heap import Heap, is_absent, parts_of, same_parts
from gradc.capture.held.nests import changeable
from gradc.capture.held.recording import holders_outside
from gradc.tracing.core.source import is_start, is_unseen
from gradc.tracing.core.state import Trace
from gradc.tracing.rewriting.site import Site
from gradc_ir.errors import TraceError
from gradc_ir.location import Location


class Copies:
    """What was made anew in one choice, beside what it stands for on each side."""

    def __init__(self) -> None:
        self._found: list[tuple[Sequence[Any], Any]] = []

    def note(self, sides: Sequence[Any], made: Any) -> None:
        """Note a value of each side, ABSENT where there is none, and what stands for them."""
        columns = [[] if is_absent(side) else list(changeable(side)) for side in sides]
        for position, thing in enumerate(changeable(made)):
            originals = [column[position] if column else None for column in columns]
            self._found.append((originals, thing))

    def shared(
        self, frame: FrameType, site: Site, state: Iterable[Any], trace: Trace
    ) -> Chosen | None:
        """Return what must stay as it is from now on: all that has one more name.

        Parameters
        ----------
        frame, site: where the choice stands.
        state: the variables of the site after it.
        trace: the one around it.
        """
        if not self._found:
            return None
        reached = Heap.reached(_roots(frame, site, state)).references
        earlier = {id(made): of for each in _earlier(trace) for made, of in each.made}
        watched: dict[int, Any] = {}
        makers: dict[tuple[int, int], Any] = {}
        made: list[tuple[Any, list[Any]]] = []
        for originals, thing in self._found:
            of = []
            for side, original in enumerate(originals):
                if original is None:
                    continue
                other = makers.setdefault((side, id(original)), thing)
                if other is not thing:  # two names of one thing are two things now
                    watched |= {id(other): other, id(thing): thing}
                of += [original, *earlier.get(id(original), ())]
            made.append((thing, of))
            named = {id(each): each for each in of if id(each) in reached}
            if named:
                watched |= {**named, id(thing): thing}
        return Chosen(site, list(watched.values()), made)


class Chosen:
    """What a choice has made anew, and what must not be changed since.

    Parameters
    ----------
    site: where the choice stands.
    things: what must stay as it is.
    made: what was made, each with what it stands for.
    """

    def __init__(
        self, site: Site, things: Sequence[Any], made: Sequence[tuple[Any, Sequence[Any]]]
    ) -> None:
        self._site = site
        self._things = things
        self.made = made
        self.renew()

    def renew(self) -> None:
        """Take what all is now for what it is to stay."""
        self._parts = [parts_of(thing) for thing in self._things]

    def changed(self) -> Any:
        """Return something that was changed, None when nothing was."""
        for thing, parts in zip(self._things, self._parts):
            if not same_parts(parts_of(thing), parts):
                return thing
        return None

    def check(self) -> None:
        """Raise TraceError when something was changed."""
        thing = self.changed()
        if thing is None:
            return
        site = self._site
        raise TraceError(
            "something is changed that has one more name in one case of a branch only",
            at=Location(site.file, site.line, site.function),
            found=f"a {type(thing).__name__}",
            help="choose numbers, not what holds them: a[0] = x if condition else a[0]; "
            "or choose between copies of their own, list(a) or copy.copy(a)",
        )


def _earlier(trace: Trace | None) -> Iterable[Chosen]:
    while trace is not None:
        yield from trace.chosen
        trace = trace.outer


def _roots(frame: FrameType, site: Site, state: Iterable[Any]) -> list[tuple[str, Any]]:
    """Return all that the user's functions have names for."""
    local = {key: value for key, value in frame.f_locals.items() if key not in site.names}
    roots = [*local.items(), *zip(site.names, state), *holders_outside()]
    around = frame.f_back
    while around is not None and not is_start(around.f_code.co_filename):
        if not is_unseen(around.f_code.co_filename):
            roots += around.f_locals.items()
        around = around.f_back
    return roots
