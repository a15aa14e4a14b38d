"""What a user asks for by a word, and how C calls it: ``vg`` is value and gradient, ``name_vg``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradc.exports.words import words_in
from gradc.requests.request import KINDS
from gradc.runtime.export import SUMMARIES
from gradc_ir.classes.named import NamedTuple
from gradc_ir.errors import ExportError

# short words beside those of gradc.requests.request.KINDS
_SHORT = {"vg": "value_and_grad", "jac": "jacobian", "hess": "hessian"}
_SUFFIXES = {"value": "", "value_and_grad": "vg"}
_SPARSE, _BATCH = "_sparse", "_batch"
WORDS = ("value", "vg", "grad", "jvp", "vjp", "hvp", "jac", "hess", "jac_sparse", "hess_sparse")
# what may be sparse -> the lines of what its two functions compute
_OF_ELEMENTS = {
    "jacobian": "elements of the Jacobian, row by row",
    "hessian": "elements of the Hessian's lower triangle, row by row",
}


class Kind(NamedTuple):
    """One function that an export writes, or of a sparse derivative two.

    Parameters
    ----------
    of: one of ``gradc.requests.request.KINDS``.
    suffix: what stands behind the name in C, empty for the value.
    many: whether it is of many points at once.
    sparse: whether it is of the elements that may be other than zero.
    """

    of: str
    suffix: str
    many: bool = False
    sparse: bool = False

    def name(self, of: str) -> str:
        """Return what C calls it, of a function of this name."""
        parts = (of, self.suffix, "values" if self.sparse else "", "batch" if self.many else "")
        return "_".join(part for part in parts if part)

    def pattern_name(self, of: str) -> str:
        """Return what C calls the function of the places of the elements."""
        return f"{of}_{self.suffix}_pattern"

    @property
    def pattern_summary(self) -> str:
        """One line of what that function computes."""
        return f"rows and columns of the {_OF_ELEMENTS[self.of]}; where each row begins"

    @property
    def summary(self) -> str:
        """One line of what it computes."""
        what = _OF_ELEMENTS[self.of] if self.sparse else SUMMARIES.get(self.suffix, self.of)
        return what + (", at each of m points" if self.many else "")


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
    whole = word.removesuffix(_BATCH)
    short = whole.removesuffix(_SPARSE)
    of = _SHORT.get(short, short)
    sparse = short != whole
    if of not in KINDS or (sparse and of not in _OF_ELEMENTS):
        raise ExportError(f"{option} is {word!r}", help=_HELP)
    return Kind(of, _SUFFIXES.get(of, short), many, sparse)


def with_value(kinds: Sequence[Kind]) -> tuple[Kind, ...]:
    """Return kinds with the value before them."""
    return tuple(dict.fromkeys([VALUE, *kinds]))


_HELP = (
    f"write some of {', '.join(WORDS)}, with _batch behind it for many points at once, such as "
    "vg_batch"
)
