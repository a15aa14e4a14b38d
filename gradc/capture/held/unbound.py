"""Variables that a branch or a loop leaves without a value, and the error for those who ask."""

from __future__ import annotations

from collections.abc import Sequence
from types import FrameType

from gradc.tracing.checks.checks import Check, check
from gradc.tracing.core import source
from gradc.tracing.core.source import trace_error
from gradc.tracing.core.state import running
from gradc.tracing.rewriting.site import Site
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.types import Array
from gradc_ir.errors import UnboundError

# Why a variable is unbound that a step gives a value unless it is left by break or continue.
LEFT_EARLY = "a step that is left early gives it no value"


def say_unbound(frame: FrameType, site: Site, name: str, why: str, cure: str | None = None) -> None:
    """Note why a variable is unbound from here on; asking for it is then an error with that.

    ``cure`` is what to do about it, None for to assign to it in every case.

    Raises TraceError at once in a function that might catch Python's own error, and for what a
    function returns.
    """
    if name in site.placeholders:
        raise trace_error(
            f"{site.function} returns things of different kinds, and which one is not known",
            found=f"line {site.line}: {why}",
            help="return the same nest, shapes and dtypes in every case",
        )
    if site.catches and name in site.read_later:
        raise trace_error(
            f"{name} has no value of one kind after the {site.kind} of line {site.line}: {why}",
            help=f"assign to {name} in every case",
        )
    running().root.unbound[frame.f_code, name] = site, why, cure


def check_made(site: Site, names: Sequence[str], steps: Value) -> None:
    """Have the function fail where a loop has no step that gives these variables their values."""
    if not names:
        return
    at = source.location()
    title = f"{names[0]} has no value: the loop of line {site.line} has no step that gives it one"

    def make(numbers: Sequence[Array]) -> BaseException:
        return UnboundError(title, at=at, help=f"give {names[0]} a value before the loop")

    check(build.ne(steps, 0), Check(at, make, f"UnboundError: {title}"), [])
