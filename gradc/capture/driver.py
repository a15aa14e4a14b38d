"""How the runtime and a loop of the user's take turns: the code in the frame asks what is next."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from gradc.capture.held.heap import ABSENT
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
                return True
            self._turns = None
        return False

    def failed(self) -> bool:
        """Whether the exception that is being handled goes on."""
        error = sys.exc_info()[1]
        assert error is not None
        return self.on_error is None or self.on_error(error)

    def give(self, variables: dict[str, Any], *, ends: bool = False) -> None:
        """Have the variables set before the body is run, or the loop is left."""
        self.state = tuple([variables[name] for name in self.site.names])
        self.sets = True
        self.ends = ends
