"""An ``if`` of the user's: one side is run, or both are recorded where nobody knows which yet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

from gradc.capture.choices import Choice
from gradc.capture.held.heap import ABSENT
from gradc.capture.held.truth import truth, truth_value
from gradc.capture.raising import is_raised
from gradc.tracing.rewriting.site import Site
from gradc_ir.core.graph import Value


class Branch:
    """What runs the two sides of an ``if`` of the user's, in its frame.

    Attributes
    ----------
    side: the side that is to run.
    sets, state, unbound: whether variables are to be given the values of a state; those that are
        to be deleted have the value ``unbound``.
    ends: whether that is the last thing to be done.
    """

    unbound = ABSENT

    def __init__(self, test: Any, site: Site) -> None:
        self.side = truth(test)
        self.sets = self.ends = False
        self.state: tuple[Any, ...] = ()
        self._site = site
        self._driver: Iterator[None] | None = None
        self._is_over = False
        self._error: BaseException | None = None
        if self.side is None:
            self._driver = self._sides(sys._getframe(1), truth_value(test))

    def goes(self) -> bool:
        """Whether a side is to be run, or variables to be set."""
        if self._driver is None:
            if self._is_over:
                return False
            return self._once()
        return next(self._driver, self) is not self

    def _once(self) -> bool:
        self._is_over = True
        return True

    def failed(self) -> bool:
        """Whether the exception that is being handled goes on."""
        if self._driver is None:
            return True
        self._error = sys.exc_info()[1]
        if not is_raised(self._error):
            next(self._driver, self)
            return True
        return False

    def _sides(self, frame: FrameType, decided: Value) -> Iterator[None]:
        choice = Choice(frame, self._site, decided)
        for side in (True, False):
            self.side = side
            self.state = choice.begin(side)
            self.sets = True
            yield
            if self._error is None:
                choice.end(side)
            elif not choice.failed(side, self._error):
                self._driver, self._is_over = None, True
                return
            self._error = None
        self.state = choice.joined()
        self._driver, self._is_over = None, True
        self.ends = True
        yield
