"""The record of a NumPy function: its names, and what they mean beside the function itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from gradc.tracing.core.table import TABLE, AnyFunction
from gradc.tracing.registry.dispatch import Mapped
from gradc.tracing.registry.options import as_ufunc, with_dtype, with_out

Recorder = TypeVar("Recorder", bound=AnyFunction)


def numpy_function(
    *names: str,
    out: int | None = None,
    casts: bool = False,
    view: bool = False,
    writes: bool = False,
    value_only: bool = False,
    masked: Any = None,
    known: AnyFunction | None = None,
    computes: bool = False,
) -> Callable[[Recorder], Recorder]:
    """Have a function record those of NumPy of these names; a decorator, which returns it.

    A name is what follows ``np.``, such as ``cumsum``, ``linalg.norm`` or ``add.reduce``. A name
    that this version of NumPy lacks is left out.

    Parameters
    ----------
    out: at which place NumPy takes ``out``, into which the result is written.
    casts: it takes ``dtype`` and ``casting`` of the result, as functions that join arrays do.
    view: the result shares memory with the first argument, so that it is recorded even if known.
    writes: it writes into its first argument.
    value_only: the result has no derivative: it is an integer, a truth value, or constant.
    masked: how it takes what a traced mask selects, ``x[mask]``: ``"elementwise"``, as a function
        of whole arrays; or the place of the argument that is points, the others being tables.
        What does something of its own with it is in :mod:`gradc.tracing.masked`.
    known: what runs, in place of NumPy's function, where all arguments are known.
    computes: it rounds otherwise than NumPy's: where all arguments are known, floats are the
        recorded function's, too.
    """

    def announce(record: Recorder) -> Recorder:
        for name in names:
            original = _original(name)
            if original is not None:
                recorder = _with_options(name, original, record, out, casts)
                entry = Mapped(
                    name,
                    original,
                    recorder,
                    recorder=record,
                    view=view,
                    writes=writes,
                    value_only=value_only,
                    masked=masked,
                    known=known,
                    computes=computes,
                )
                TABLE.add(name, entry)
        return record

    return announce


def _original(name: str) -> Any:
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def _with_options(
    name: str, original: Any, record: AnyFunction, out: int | None, casts: bool
) -> AnyFunction:
    if isinstance(original, np.ufunc) and original.nout == 1 and original.signature is None:
        return as_ufunc(name, original.nin, record)
    if casts:
        record = with_dtype(name, record)
    return record if out is None else with_out(name, out, record)
