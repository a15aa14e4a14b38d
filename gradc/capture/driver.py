"""How the runtime and a loop of the user's take turns: the code in the frame asks what is next."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from gradc.capture.held.heap import ABSENT
from gradc.capture.held.recording import variables_now
from gradc.capture.held.unbound import LEFT_EARLY, say_unbound
from gradc.tracing.core.state import running
from gradc.tracing.rewriting.site import Site


class Driver:
    """What runs the body of a loop of the user's, in its frame, as often as is decided.

    Attributes
    ----------
    item: what a ``for`` assigns to its target.
    sets, state, unbound: whether variables are to be given the values of a state; those that are
        to be deleted have the value ``unbound``.
    ends: whether that is the last thing to be done.
    flags: what says whether the loop was left, as it was when the frame asked last.
    on_error: is told of an exception in the body; returns whether it goes on.
    """

    unbound = ABSENT

    def __init__(self, site: Site, frame: FrameType) -> None:
        self.site = site
        self.frame = frame
        self.item: Any = None
        self.sets = self.ends = False
        self.state: tuple[Any, ...] = ()
        self.flags: tuple[Any, ...] = ()
        self.on_error: Callable[[BaseException], bool] | None = None
        self._partial_before = frozenset(running().root.partial)
        self._turns: Iterator[None] | None = self.turns()

    def turns(self) -> Iterator[None]:
        """Yield whenever the body is to be run, or variables are to be set."""
        raise NotImplementedError

    def goes(self, *flags: Any) -> bool:
        """Whether there is more to do; ``flags`` say whether the loop was left."""
        self.flags = flags
        self.sets = self.ends = False
        if self._turns is not None:
            for _ in self._turns:
                self._drop(ends=self.ends)
                return True
            self._turns = None
            return self._drop(ends=True)
        return False

    def failed(self) -> bool:
        """Whether the exception that is being handled goes on."""
        error = sys.exc_info()[1]
        assert error is not None
        return self.on_error is None or self.on_error(error)

    def gone(self, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the variables to which a step of this loop gives a value in some cases only.

        They are as unbound as if it had given them none: what comes after the step would read
        anything. ``variables`` are those there are, where they are not those of the frame.
        """
        partial = running().root.partial
        if len(partial) == len(self._partial_before):
            return {}
        now = variables_now(self.frame, self.site) if variables is None else variables
        found = dict.fromkeys(
            (
                name
                for name, value in now.items()
                if (name, id(value)) in partial and (name, id(value)) not in self._partial_before
            ),
            ABSENT,
        )
        for name in found:
            say_unbound(self.frame, self.site, name, LEFT_EARLY)
        return found

    def _drop(self, *, ends: bool) -> bool:
        """Have the frame delete what a step gave no value in some cases; whether there is such."""
        now = variables_now(self.frame, self.site) if not self.sets else None
        now = dict(zip(self.site.names, self.state)) if now is None else now
        gone = self.gone(now)
        if gone:
            self.give({**now, **gone}, ends=ends)
        return bool(gone)

    def give(self, variables: dict[str, Any], *, ends: bool = False) -> None:
        """Have the variables set before the body is run, or the loop is left."""
        self.state = tuple([variables[name] for name in self.site.names])
        self.sets = True
        self.ends = ends
