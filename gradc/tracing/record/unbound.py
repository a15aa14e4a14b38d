"""The error for a variable that a branch or a loop has left without a value, and that is read."""

from __future__ import annotations

import re

from gradc.tracing.core.source import location_of
from gradc.tracing.core.state import Trace
from gradc.tracing.rewriting.site import Site
from gradc_ir.errors import UnboundError


def unbound_error(error: NameError, trace: Trace) -> UnboundError | None:
    """Return the error with both lines; None for a name that no branch or loop has unbound.

    Parameters
    ----------
    error: what Python raised.
    trace: the outermost one, which knows what was left without a value.
    """
    name, found = name_in(error), None
    step = error.__traceback__
    while step is not None:
        # a comprehension reads it in a function of its own
        found = trace.unbound.get((step.tb_frame.f_code, name), found)
        step = step.tb_next
    if found is None:
        return None
    site, why, cure = found
    return UnboundError(
        f"{name} has no value here in every case",
        at=location_of(error),
        found=f"{_place(site)}: {why}",
        help=cure or f"assign to {name} before it, or in every case",
    )


def name_in(error: NameError) -> str:
    """Return the name that has no value; of a local one Python has it in the text alone."""
    quoted = re.search(r"'([^']+)'", str(error))
    return error.name or (quoted[1] if quoted else "")


def _place(site: Site) -> str:
    kind = {"for": "the loop", "while": "the loop", "if": "the branch"}.get(site.kind, "the code")
    return f"{kind} of line {site.line}"
