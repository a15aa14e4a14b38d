"""Options by name: a misspelt one is an error with those that there are, and the nearest."""

from __future__ import annotations

from collections.abc import Iterable

from gradc_ir.errors import TraceError


def unknown_option(of: str, name: str, names: Iterable[str]) -> TraceError:
    """Return the error for an option that there is not."""
    from difflib import get_close_matches  # only an error needs it

    known = list(names)
    near = get_close_matches(name, known, 1)
    return TraceError(
        f"{of} has no option {name!r}",
        found=f"options: {', '.join(known)}",
        help=f"did you mean {near[0]}?" if near else None,
    )
