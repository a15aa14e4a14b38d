"""Variables that a branch or a loop leaves without a value, and the error for those who ask."""

from __future__ import annotations

from types import FrameType

from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.rewriting.site import Site


def say_unbound(frame: FrameType, site: Site, name: str, why: str) -> None:
    """Note why a variable is unbound from here on; asking for it is then an error with that.

    Raises TraceError at once in a function that might catch Python's own error.
    """
    if site.catches and name in site.read_later:
        raise trace_error(
            f"{name} has no value of one kind after the {site.kind} of line {site.line}: {why}",
            help=f"assign to {name} in every case",
        )
    running().root.unbound[frame.f_code, name] = site, why
