"""What ends the recording of a loop's body: its steps are not alike, and why."""

from __future__ import annotations

from gradc.tracing.core import source
from gradc_ir.location import Location


class NotUniform(BaseException):
    """The steps of a loop are not alike, so that it cannot be recorded as one operation.

    No ``except`` of the user's catches it.

    Parameters
    ----------
    why: what differs, in the user's words.
    at: the user's line, by default the one that runs.
    """

    def __init__(self, why: str, at: Location | None = None) -> None:
        self.why = why
        self.at = at or source.location()
        super().__init__(why)
