"""SciPy's LowLevelCallable: a kernel that ``quad`` and ``ndimage`` call without Python."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.exports.bake import EVERY
from gradc.exports.kinds import kinds_of
from gradc.exports.plan import Asked, Source, plan
from gradc.native.arguments import contiguous, leaves_as_written, spec_of, types_of
from gradc.native.native import Native
from gradc_codegen.abi import Signature
from gradc_codegen.hosts.scipy_forms import TYPES, Form, callable_name, callable_text, form_of
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import ExportError

_NAME = "gradc_low_level"
_NUMBER = Type(DType.F64)


def low_level_callable(
    source: Source,
    names: Sequence[str],
    text: str,
    user_data: Sequence[Any],
    *,
    of: str,
    wrt: Any,
    spec: str | None,
) -> Any:
    """Return a function as SciPy's LowLevelCallable of a type in C.

    ``names`` are those of the function's parameters. Raises ExportError for a type that SciPy does
    not call, and for a function that is not of this type.
    """
    form = form_of(text)
    if form is None:
        raise ExportError(
            f"SciPy calls no function of the type {text!r}",
            found=[f"it calls {each}" for each in TYPES],
            help="each may be without the last argument, void *",
        )
    if user_data and not form.has_data:
        raise ExportError(
            f"{text!r} has no place for {len(user_data)} further arguments",
            help="add void * behind the others, which is what they come in",
        )
    kept = len(names) - len(user_data)
    if kept < 1:
        raise ExportError(
            f"{source.__name__} has {len(names)} parameters, and {len(user_data)} further "
            "arguments are given: SciPy passes the first one"
        )
    given: dict[str, Any] = {}
    if spec is not None:
        asked_spec = spec
    else:
        given = dict.fromkeys(names[:kept], _NUMBER)
        if form.kind in ("filter", "line", "mapping"):
            dtype = DType.I64 if form.kind == "mapping" else DType.F64
            given = {names[0]: Type(dtype, (symbol("n"),))}
        for name, nest in zip(names[kept:], user_data):
            given[name] = types_of(name, nest)
        asked_spec = spec_of(given)
    (kind,) = kinds_of(of)
    asked = Asked(_NAME, (asked_spec,), (kind,), wrt, bake=EVERY)
    *_, entry = plan(source, asked).entries  # of a sparse derivative its elements
    entry = entry._replace(name=_NAME)
    signature = Signature.of(entry.function, entry.outputs, order=entry.order)
    leaves = leaves_as_written(user_data)
    own = len(signature.inputs) - len(leaves)
    _check(source.__name__, form, signature, own)
    code = Native(
        entry,
        blas=source.options.blas,
        more=[callable_text(_NAME, form, signature, own)],
    )
    returns = ctypes.c_double if form.returns == "double" else ctypes.c_int
    takes = (*_CTYPES[form.kind], *[ctypes.c_void_p] * form.has_data)
    made: Any = ctypes.CFUNCTYPE(returns, *takes)(code.code.address(callable_name(_NAME)))
    made.gradc_code = code  # which lives as long as SciPy's object has the function
    scipy = importlib.import_module("scipy")
    data = _data(leaves, [argument for argument in signature.inputs[own:]])
    return scipy.LowLevelCallable(made, data, form.text)


_DOUBLES = ctypes.POINTER(ctypes.c_double)
_CTYPES: dict[str, tuple[Any, ...]] = {
    "number": (ctypes.c_double,),
    "numbers": (ctypes.c_int, _DOUBLES),
    "filter": (_DOUBLES, ctypes.c_ssize_t, _DOUBLES),
    "line": (_DOUBLES, ctypes.c_ssize_t, _DOUBLES, ctypes.c_ssize_t),
    "mapping": (ctypes.POINTER(ctypes.c_ssize_t), _DOUBLES, ctypes.c_int, ctypes.c_int),
}


def _check(name: str, form: Form, signature: Any, own: int) -> None:
    """Raise ExportError unless a kernel takes and returns what the type says."""

    def refuse(what: str, help: str) -> ExportError:
        types = ", ".join(str(argument.type) for argument in signature.inputs)
        made = ", ".join(str(argument.type) for argument in signature.outputs)
        return ExportError(
            f"{name} is no function of the type {form.text!r}: {what}",
            found=f"it takes {types} and returns {made}",
            help=help,
        )

    if signature.tape is not None:
        raise refuse("it has tapes of loops", "give its loops a limit: max_iter=")
    results = [argument.type for argument in signature.outputs]
    rank = 1 if form.kind in ("line", "mapping") else 0
    if len(results) != 1 or results[0].rank != rank or results[0].dtype is not DType.F64:
        wanted = "one array of f64" if rank else "one f64"
        raise refuse(f"that returns {wanted}", "choose of=, or return one value")
    inputs = [argument.type for argument in signature.inputs[:own]]
    arrays = [type_ for type_ in inputs if type_.rank]
    dtype = DType.I64 if form.kind == "mapping" else DType.F64
    fits = all(type_.dtype is dtype for type_ in inputs)
    match form.kind:
        case "number":
            fits = fits and len(inputs) == 1 and not arrays
        case "numbers":
            fits = fits and (not arrays or (len(inputs) == 1 and arrays[0].rank == 1))
        case _:
            fits = fits and len(inputs) == 1 and len(arrays) == 1 and arrays[0].rank == 1
    if not fits or len(signature.sizes) > (1 if arrays else 0):
        raise refuse(
            "SciPy passes other arguments",
            "what SciPy does not pass is given here, behind the type; spec= says what the first "
            "ones are",
        )


def _data(leaves: Sequence[Any], arguments: Sequence[Any]) -> Any:
    """Return the user's data as a pointer, which keeps what it points to; None for none."""
    if not leaves:
        return None
    table = np.zeros(len(leaves), np.int64)
    kept: list[Any] = [table]
    for place, (leaf, argument) in enumerate(zip(leaves, arguments)):
        array = contiguous(leaf, argument.type.dtype.numpy)
        if argument.by_value:
            table[place : place + 1].view(np.uint8)[: array.nbytes] = np.frombuffer(
                array.tobytes(), np.uint8
            )
        else:
            array = array.copy() if array is leaf else array
            kept.append(array)
            table[place] = array.ctypes.data
    pointer = ctypes.c_void_p(table.ctypes.data)
    pointer.gradc_kept = kept  # type: ignore[attr-defined]
    return pointer
