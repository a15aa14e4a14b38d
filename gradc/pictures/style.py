"""Colours and type of pictures and pages, light and dark; the widths of texts."""

from __future__ import annotations

import unicodedata

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

_LIGHT = {
    "bg": "#ffffff", "panel": "#f6f8fa", "ink": "#1b2430", "soft": "#5c6773", "line": "#d5dbe3",
    "value": "#eaf2fb", "value-edge": "#5b8fc7", "slope": "#fdf1e3", "slope-edge": "#cf8a33",
    "input": "#f1f3f6", "input-edge": "#8a94a3", "result": "#e6f5ec", "result-edge": "#3f9d6b",
    "cross": "#aab3c0", "mark": "#ffe9a8", "accent": "#2563b8", "good": "#1a7f4b",
}  # fmt: skip
_DARK = {
    "bg": "#10151c", "panel": "#171e27", "ink": "#e4e9f0", "soft": "#96a1b0", "line": "#2c3642",
    "value": "#18283a", "value-edge": "#5f9bd8", "slope": "#33271a", "slope-edge": "#d99b4e",
    "input": "#1f2731", "input-edge": "#77828f", "result": "#15301f", "result-edge": "#4fb37f",
    "cross": "#56627a", "mark": "#5a4a16", "accent": "#7fb3f0", "good": "#5cc48d",
}  # fmt: skip


def variables(scope: str) -> str:
    """Return the colours as variables of CSS within a scope: as the reader's system asks.

    A page that says which it is, with ``data-theme`` or as notebooks do, has its way.
    """
    light = ";".join(f"--{name}:{colour}" for name, colour in _LIGHT.items())
    dark = ";".join(f"--{name}:{colour}" for name, colour in _DARK.items())
    return (
        f"{scope}{{{light};color-scheme:light}}\n"
        f"@media (prefers-color-scheme: dark){{{scope}{{{dark};color-scheme:dark}}}}\n"
        f'[data-theme="dark"] {scope},[data-theme="dark"]{scope},'
        f'[data-jp-theme-light="false"] {scope}{{{dark};color-scheme:dark}}\n'
        f'[data-theme="light"] {scope},[data-theme="light"]{scope},'
        f'[data-jp-theme-light="true"] {scope}{{{light};color-scheme:light}}\n'
    )


def width_of(text: str, size: float) -> float:
    """Return how wide a text is at most in a font of equal widths, of a size in pixels."""
    columns = sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)
    return columns * size * 0.612


def cut(text: str, most: int) -> str:
    """Return a text of at most so many letters, with a mark where it goes on."""
    return text if len(text) <= most else text[: most - 1] + "…"
