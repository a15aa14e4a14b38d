"""The error classes of gradc, and the one way their messages are laid out."""

from __future__ import annotations

import builtins
import pickle
from collections.abc import Iterable

from gradc_ir.location import Location, shown


class GradcError(Exception):
    """The base of every error gradc raises for something a user can cause.

    A message says what failed, shows the user's own line, what was found, and the cure::

        ShapeError: x @ w: the inner sizes differ (4 and 5)
          model.py:14 in loss
              h = np.tanh(x @ w)
                          ^^^^^
          x: f64[3,4]    w: f64[5]
          help: w needs 4 entries, one per column of x

    Parameters
    ----------
    what: what failed, one line in the user's words.
    at: the user's line, or None when there is none.
    found: further lines, what was found against what was wanted.
    help: what to write instead.
    """

    def __init__(
        self,
        what: str,
        *,
        at: Location | None = None,
        found: str | Iterable[str] = (),
        help: str | None = None,
    ) -> None:
        self.what = what
        self.at = at
        self.found = (found,) if isinstance(found, str) else tuple(found)
        self.help = help
        super().__init__(self._render())

    def _render(self) -> str:
        lines = [self.what]
        if self.at is not None:
            lines += [f"  {line}" for line in shown(self.at)]
        lines += [f"  {line}" for line in self.found]
        if self.help:
            lines.append(f"  help: {self.help}")
        return "\n".join(lines)

    def located(self, at: Location | None) -> GradcError:
        """Return this error with the user's line filled in, unless it already has one."""
        if self.at is None and at is not None:
            self.at = at
            self.args = (self._render(),)
        return self


class TraceError(GradcError, TypeError):
    """A function does something that cannot be recorded in a static graph."""


class ShapeError(GradcError, ValueError):
    """Two shapes, or a shape and an axis, do not fit."""


class DTypeError(GradcError, TypeError):
    """A dtype is not supported, or not where it was given."""


class IndexError(GradcError, builtins.IndexError):
    """An index lies outside its axis."""

    def located(self, at: Location | None) -> GradcError:
        """Return this error with the user's line, or what such an index means at that line."""
        if self.at is None and at is not None and at.outside is not None:
            kind, what, help = at.outside
            return _OUTSIDE[kind](what, at=at, help=help)
        return super().located(at)


# what an index outside its axis may be said to be
_OUTSIDE: dict[str, type[GradcError]] = {"ShapeError": ShapeError, "IndexError": IndexError}


class LoopError(GradcError, RuntimeError):
    """A loop takes more steps than its limit."""


class UnboundError(GradcError, UnboundLocalError):
    """A variable has a value in some cases only, and the function reads it in all of them."""


class NoGradientError(GradcError, LookupError):
    """An op on the path of differentiation has no derivative rule."""


class UnconnectedGradientError(GradcError, ValueError):
    """A value does not depend on an argument, and the user asked to be told."""


class PolicyError(GradcError, ValueError):
    """A keyword that steers derivatives has a value that is none of its choices."""


class NonFiniteError(GradcError, FloatingPointError):
    """A value is nan or infinite, and the user asked to be told where that began."""


class GradientArityError(GradcError, ValueError):
    """A user's gradient function returned the wrong number of gradients."""


class PickleError(GradcError, pickle.PicklingError):
    """Something that a function reads cannot be sent to another process."""


class RuleError(GradcError, ValueError):
    """A rule of the user's is malformed, fails its check, or cannot serve a direction."""


class ExportError(GradcError, ValueError):
    """A kernel cannot be exported as asked."""


class MissingLibraryError(GradcError, ImportError):
    """An adapter to another library is asked for, and that library is not installed."""


class ParseError(GradcError, ValueError):
    """Text is not the text of a function, a type or a spec."""


class VerifyError(GradcError, AssertionError):
    """A graph breaks a rule of the language: a defect of a pass, never of the user's code."""
