"""Whether code has loops or branches: what is asked of code that is kept, too."""

from __future__ import annotations

import dis
from types import CodeType

_ASKING = frozenset({
    *dis.hasjrel, *dis.hasjabs, *(dis.opmap[name] for name in ("UNARY_NOT",) if name in dis.opmap)
})  # fmt: skip


def asks(code: CodeType) -> bool:
    """Whether code asks for the truth of something, or goes round, itself or in a function."""
    operations = code.co_code[::2]
    if not _ASKING.isdisjoint(operations):
        return True
    return any(isinstance(each, CodeType) and asks(each) for each in code.co_consts)
