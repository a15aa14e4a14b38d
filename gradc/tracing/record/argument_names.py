"""What the arguments of a call are called: by the parameters they are for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def names_of_arguments(fn: Callable[..., Any], count: int) -> list[str]:
    """Return what positional arguments are called: their parameters, then ``args[i]``."""
    names: list[str] = []
    rest = "args"
    try:
        for parameter in inspect.signature(fn).parameters.values():
            if parameter.kind is parameter.VAR_POSITIONAL:
                rest = parameter.name
                break
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                names.append(parameter.name)
    except (TypeError, ValueError):
        pass
    return [*names[:count], *(f"{rest}[{i}]" for i in range(count - len(names)))]
