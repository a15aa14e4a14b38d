"""Whether two code objects run the same instructions, whatever lines they stand at."""

from __future__ import annotations

from inspect import CO_NESTED
from types import CodeType


def same_code(left: CodeType, right: CodeType) -> bool:
    """Whether two code objects are the same but for their places in a file."""
    return (
        left.co_code == right.co_code
        and left.co_names == right.co_names
        and left.co_varnames == right.co_varnames
        and left.co_freevars == right.co_freevars
        and left.co_cellvars == right.co_cellvars
        and left.co_flags | CO_NESTED == right.co_flags | CO_NESTED
        and left.co_name == right.co_name
        and left.co_argcount == right.co_argcount
        and left.co_posonlyargcount == right.co_posonlyargcount
        and left.co_kwonlyargcount == right.co_kwonlyargcount
        and left.co_exceptiontable == right.co_exceptiontable
        and len(left.co_consts) == len(right.co_consts)
        and all(map(_same_constant, left.co_consts, right.co_consts))
    )


def _same_constant(left: object, right: object) -> bool:
    if isinstance(left, CodeType) and isinstance(right, CodeType):
        return same_code(left, right)
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(_same_constant, left, right))
    if isinstance(left, frozenset) and isinstance(right, frozenset):
        return left == right and sorted(map(repr, left)) == sorted(map(repr, right))
    # 0.0 and -0.0 are equal, and not the same
    return repr(left) == repr(right)
