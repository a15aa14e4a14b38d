"""What stops a trace, or a part of it, for a reason that is not the user's fault.

All derive from BaseException, so that an ``except Exception`` in the user's function cannot
swallow them and let a wrong graph be recorded.
"""

from __future__ import annotations

from gradc.tracing.captured.traced import Looked
from gradc_ir.core import size_atoms, sizes
from gradc_ir.core.sizes import Size
from gradc_ir.errors import ShapeError, TraceError
from gradc_ir.location import Location

_OF_LOOPS = "write the loop as one array expression, or with gradc.scan or gradc.fori_loop"


class NeedsConcreteSize(BaseException):
    """Python asked for the number behind a symbolic size: trace again with it given.

    Parameters
    ----------
    size: the size asked for.
    what: who asked, such as ``"range()"``.
    at: the user's line.
    cure: what to do where a number is not wanted; else what loops can be written as.

    Attributes
    ----------
    looked: what the trace had looked at outside until then.
    """

    looked: Looked | None = None

    def __init__(self, size: Size, what: str, at: Location | None, cure: str = "") -> None:
        self.size = size
        self.what = what
        self.at = at
        self.cure = cure
        super().__init__(f"{what} needs the size {size} as a number")

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of the sizes that would settle it."""
        return sizes.symbols(self.size)

    def error(self) -> TraceError:
        """Return the error for a user who asked for a symbolic size by name."""
        names = " and ".join(self.symbols)
        return TraceError(
            f"{self.what} needs the size {self.size} as a number",
            at=self.at,
            help=f"give {names} as a number in the spec, or {self.cure or _OF_LOOPS}",
        )


class HasEffect(BaseException):
    """What acts on the world was called in a loop or branch that is being recorded.

    Parameters
    ----------
    what: what was called.
    at: the user's line.
    """

    def __init__(self, what: str, at: Location | None) -> None:
        self.what = what
        self.at = at
        super().__init__(f"{what} acts on the world")

    cure = "leave it out; gradc.debug_print prints numbers, outside of branches"


class Draws(HasEffect):
    """A generator made outside of it draws in a loop or branch that is being recorded."""

    cure = "draw before it, in both cases: as many as it may take"


class NeedsNumber(BaseException):
    """A shape, a slice or a list index needs what integers among the arguments are.

    Parameters
    ----------
    leaves: which of the arguments' leaves those are.
    """

    looked: Looked | None = None

    def __init__(self, leaves: tuple[int, ...]) -> None:
        self.leaves = leaves
        super().__init__("arguments are needed as numbers")


class NeedsElements(BaseException):
    """A shape hangs on a mask that captured arrays decide: trace again, with its elements known."""

    looked: Looked | None = None


class SizesMustMatch(BaseException):
    """An op needs two sizes to be equal that are not known to be: unify them and trace again."""

    looked: Looked | None = None

    def __init__(self, left: Size, right: Size, error: ShapeError) -> None:
        self.left = left
        self.right = right
        self.error = error
        super().__init__(f"{left} must equal {right}")

    def solution(self) -> tuple[str, Size] | None:
        """Return a symbol and the size it must have for the two to be equal, or None.

        A symbol is replaced by a number if there is one to replace it by, and by another symbol
        otherwise; the difference of the sizes has to be linear in it.
        """
        difference = _without_maxima(self.left) - _without_maxima(self.right)
        if isinstance(difference, int):
            return None
        candidates: list[tuple[str, Size]] = []
        for monomial, coefficient in difference.terms:
            name = monomial[0] if len(monomial) == 1 else None
            if isinstance(name, str) and coefficient in (1, -1):
                rest = difference - coefficient * sizes.symbol(name)
                if name not in sizes.symbols(rest):
                    candidates.append((name, -coefficient * rest))
        valid = [candidate for candidate in candidates if self._is_solved_by(*candidate)]
        return max(valid, default=None, key=_preference)

    def _is_solved_by(self, name: str, size: Size) -> bool:
        if isinstance(size, int) and size < 0:
            return False
        left, right = (sizes.substitute(one, {name: size}) for one in (self.left, self.right))
        return left == right


def _without_maxima(size: Size) -> Size:
    """Return the size with ``max(0, n - 1)``, the length of a slice, taken for ``n - 1``."""
    if isinstance(size, int):
        return size
    result: Size = 0
    for monomial, coefficient in size.terms:
        term: Size = coefficient
        for atom in monomial:
            if isinstance(atom, size_atoms.Maximum):
                left, right = atom.parts
                term = term * (right if isinstance(left, int) else left)
            else:
                term = term * sizes.Expr({(atom,): 1})
        result = result + term
    return result


def _preference(candidate: tuple[str, Size]) -> tuple[bool, bool, str]:
    name, size = candidate
    simple = isinstance(size, int) or str(size).isidentifier()
    return isinstance(size, int), simple, name
