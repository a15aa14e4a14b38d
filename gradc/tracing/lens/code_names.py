"""What a code object names: the names it reads, and the names outside that it would assign to."""

from __future__ import annotations

import dis
import types

from gradc_ir.errors import TraceError
from gradc_ir.location import Location

_names_of_code: dict[int, tuple[types.CodeType, tuple[str, ...]]] = {}


def used_names(code: types.CodeType) -> tuple[str, ...]:
    """Return the global and attribute names in a code object and in those nested in it."""
    found = _names_of_code.get(id(code))
    if found is None:
        names = dict.fromkeys(code.co_names)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                names |= dict.fromkeys(used_names(constant))
        found = _names_of_code[id(code)] = (code, tuple(names))
    return found[1]


def global_names(code: types.CodeType) -> set[str]:
    """Return the names that a code object, and those nested in it, look up in their module."""
    found = {
        each.argval
        for each in dis.get_instructions(code)
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= global_names(constant)
    return found


_STORE_GLOBAL = dis.opmap["STORE_GLOBAL"]
_STORE_DEREF = dis.opmap["STORE_DEREF"]


def refuse_stores(function: types.FunctionType) -> None:
    """Raise TraceError for a function that assigns to names outside of it."""
    code = function.__code__
    outside = frozenset(code.co_freevars)
    codes = [code]
    while codes:
        inner = codes.pop()
        codes += [constant for constant in inner.co_consts if isinstance(constant, types.CodeType)]
        operations = inner.co_code[::2]
        has_deref = bool(outside & set(inner.co_freevars)) and _STORE_DEREF in operations
        if _STORE_GLOBAL not in operations and not has_deref:
            continue
        line: int = inner.co_firstlineno
        for instruction in dis.get_instructions(inner):
            start = instruction.positions.lineno if instruction.positions else None
            line = start or line
            name = instruction.argval
            if instruction.opcode == _STORE_GLOBAL or (
                instruction.opcode == _STORE_DEREF and name in outside
            ):
                raise TraceError(
                    f"the function assigns to {name}, a name outside of it",
                    at=Location(inner.co_filename, line, inner.co_name),
                    help=f"return the new value of {name} from the function",
                )
