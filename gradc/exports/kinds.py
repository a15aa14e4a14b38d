"""What a user asks for by a word, and how C calls it: ``vg`` is value and gradient, ``name_vg``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gradc.exports.words import words_in
from gradc.requests.request import KINDS
from gradc.runtime.export import SUMMARIES
from gradc_ir.errors import ExportError

# short words beside those of gradc.requests.request.KINDS
_SHORT = {"vg": "value_and_grad", "jac": "jacobian", "hess": "hessian"}
_SUFFIXES = {"value": "", "value_and_grad": "vg"}
_BATCH = "_batch"
WORDS = ("value", "vg", "grad", "jvp", "vjp", "hvp", "jac", "hess")


class Kind(NamedTuple):
    """One function that an export writes.

    Parameters
    ----------
    of: one of ``gradc.requests.request.KINDS``.
    suffix: what stands behind the name in C, empty for the value.
    many: whether it is of many points at once.
    """

    of: str
    suffix: str
    many: bool = False

    def name(self, of: str) -> str:
        """Return what C calls it, of a function of this name."""
        parts = (of, self.suffix, "batch" if self.many else "")
        return "_".join(part for part in parts if part)

    @property
    def summary(self) -> str:
        """One line of what it computes."""
        return SUMMARIES.get(self.suffix, self.of) + (", at each of m points" if self.many else "")


VALUE = Kind("value", "")


def kinds_of(words: str | Iterable[str], option: str = "of") -> tuple[Kind, ...]:
    """Return what words ask for, each once: a word, several, or several in one with commas.

    Raises ExportError for a word that says nothing.
    """
    given = [words] if isinstance(words, str) else list(words)
    for word in given:
        if not isinstance(word, str):
            raise ExportError(f"{option} is {word!r:.40}", help=_HELP)
    return tuple(dict.fromkeys(_kind(word, option) for word in words_in(given)))


def _kind(word: str, option: str) -> Kind:
    many = word.endswith(_BATCH)
    short = word.removesuffix(_BATCH)
    of = _SHORT.get(short, short)
    if of not in KINDS:
        raise ExportError(f"{option} is {word!r}", help=_HELP)
    return Kind(of, _SUFFIXES.get(of, short), many)


def with_value(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    """Return kinds with the value before them."""
    return tuple(dict.fromkeys([VALUE, *kinds]))


_HELP = (
    f"write some of {', '.join(WORDS)}, with _batch behind it for many points at once, such as "
    "vg_batch"
)
