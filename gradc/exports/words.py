"""Lists of words as users give them: one, several, or several in one with commas."""

from __future__ import annotations

from collections.abc import Iterable


def words_in(given: str | Iterable[str]) -> list[str]:
    """Return the words, without spaces around them."""
    texts = [given] if isinstance(given, str) else given
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]
