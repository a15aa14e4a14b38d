"""What a user chooses for a whole function, and what is chosen where one is being traced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from gradc.requests.threads import checked, in_force
from gradc_ir.classes.quick import dataclass

if TYPE_CHECKING:
    from gradc.rules.engine import Rule


@dataclass(frozen=True)
class Options:
    """What a user chooses for a whole function.

    ``stable=False`` turns the stable rules off; ``fast=True`` turns the fast ones on;
    ``debug_nans=True`` makes a value that is not finite an error; ``blas=False`` keeps large
    contractions from BLAS, so that their bits are the language's. ``rules`` are in force in this
    function alone, whatever their kind. ``capture=False`` leaves loops and branches of Python's to
    Python; ``checkpoint`` is what reverse mode keeps of those that are recorded. ``threads`` are
    those that a call runs on, None for as many as are in force.
    """

    stable: bool = True
    fast: bool = False
    debug_nans: bool = False
    blas: bool = True
    rules: tuple[Rule, ...] = ()
    capture: bool = True
    checkpoint: Any = None
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.threads is not None:
            checked("threads=", self.threads)

    @property
    def calls_on(self) -> int:
        """How many threads a call runs on."""
        return in_force() if self.threads is None else self.threads


_DEFAULT = Options()
_options: ContextVar[Options] = ContextVar("gradc_options", default=_DEFAULT)
_is_last: ContextVar[bool] = ContextVar("gradc_is_last", default=False)


def current_options() -> Options:
    """Return the options of the function that is being traced, for transforms inside it."""
    return _options.get()


def differentiates_last() -> bool:
    """Whether nothing differentiates the function that is being traced any more."""
    return _is_last.get()


@contextmanager
def using(options: Options, *, is_last: bool) -> Iterator[None]:
    """Make options current for transforms inside a trace.

    ``is_last``: the derivatives they make are not differentiated any more.
    """
    tokens = _options.set(options), _is_last.set(is_last)
    try:
        yield
    finally:
        _options.reset(tokens[0])
        _is_last.reset(tokens[1])
