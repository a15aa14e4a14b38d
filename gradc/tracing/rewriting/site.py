"""A site: one loop or branch of the user's code, and what is known of it before anything runs."""

from __future__ import annotations

from gradc_ir.classes.quick import dataclass


@dataclass(frozen=True, eq=False)
class Site:
    """What the rewriting knows of a loop, a branch, or an expression that chooses.

    Parameters
    ----------
    kind: ``"for"``, ``"while"``, ``"if"``, ``"assert"``, ``"expression"``, or ``"rest"``: what is
        left of a block after something that may leave it.
    file: the user's file.
    line: the line it begins at.
    last_line: the line it ends at.
    function: the name of the function it is in.
    names: what it may assign to or delete, names of the function it is in.
    reads: names that it mentions.
    read_later: those of ``names`` that the function reads outside of it, too.
    leaving: the flags that end it, in the order in which it is asked for them.
    flags: those of ``names`` that say how a block was left.
    returned: the flag of the function's returns, None where it has none.
    placeholders: names whose value matters only where a flag says so, as that of a return.
    target: the name a ``for`` assigns its items to, where it is one name.
    handled: the line of the innermost ``try`` with handlers it stands in, None when in none.
    handles: whether a loop has a ``try`` with handlers in it.
    appended: names of which a loop does nothing but append to them and read last elements.
    indexed: names that a loop subscripts by what is no constant.
    catches: whether the function has a ``try`` with handlers anywhere.
    """

    kind: str
    file: str
    line: int
    last_line: int
    function: str
    names: tuple[str, ...] = ()
    reads: frozenset[str] = frozenset()
    read_later: frozenset[str] = frozenset()
    leaving: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    returned: str | None = None
    placeholders: tuple[str, ...] = ()
    target: str | None = None
    handled: int | None = None
    catches: bool = False
    handles: bool = False
    appended: frozenset[str] = frozenset()
    indexed: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"<{self.kind} at line {self.line}>"
