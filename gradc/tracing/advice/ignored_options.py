"""Options of NumPy that change nothing in traced code, and what to write for others."""

from __future__ import annotations

from typing import Any

# Option -> the values that change nothing here: gradc decides where arrays lie.
_WITHOUT_EFFECT: dict[str, tuple[Any, ...]] = {
    "subok": (True, False),
    "order": ("K", "A", "C"),
    "casting": ("same_kind",),
    "device": ("cpu",),
}
_CURES = {
    "order": "leave it out: the order in memory changes no value",
    "casting": "leave it out, and cast an operand: x.astype(dtype)",
    "signature": "leave it out, and cast an operand: x.astype(dtype)",
    "axes": "move the axes first: np.moveaxis(x, axis, -1)",
}


def has_no_effect(option: str, value: Any) -> bool:
    """Whether an option with this value changes neither the result nor what shares memory."""
    return isinstance(value, str | bool) and value in _WITHOUT_EFFECT.get(option, ())


def instead_of(option: str) -> str:
    """Return what to write for an option that is refused, or no text."""
    return _CURES.get(option, "")
