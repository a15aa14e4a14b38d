"""A kernel as a function that compiled code of Numba calls: ``f.numba()`` inside ``@njit``."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any

import numpy as np

from gradc.exports.bake import EVERY
from gradc.native.needs import needed
from gradc_codegen.abi import STATUS_MEANING, Argument, Signature, Status, c_identifier
from gradc_ir.core.sizes import Size, evaluate, symbols
from gradc_ir.core.types import DType
from gradc_ir.errors import ExportError


def numba_function(source: Any, given: Sequence[Any], of: str, options: dict[str, Any]) -> Any:
    """Return a dispatcher of Numba with the kernel in it; see :meth:`gradc.Compiled.numba`.

    Raises ExportError for nests, which compiled code of Numba has none of, and for tapes.
    """
    numba = needed("numba", "f.numba()")
    native = source.native(*given, of=of, bake=EVERY, **options)
    signature: Signature = native.signature
    if signature.tape is not None:
        raise ExportError(
            f"{native.name} has tapes of loops, which Numba does not grow",
            help="give the loops a limit: max_iter=",
        )
    nested = [each.name for each in signature.inputs if c_identifier(each.name) != each.name]
    if nested:
        raise ExportError(
            f"f.numba() takes arrays and numbers, not the nest of {nested[0].partition('.')[0]}",
            help="compile a function of the leaves that builds the nest",
        )
    text = _text(signature, native.name)
    # tracebacks show the lines, and Numba reads its functions where a file has them
    file = f"<gradc {native.name} at {native.address:#x}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"np": np, "_kernel": native.with_scratch}
    for argument in signature.inputs:
        names[f"_as_{argument.identifier}"] = _converter(numba, native.name, argument)
    exec(compile(text, file, "exec"), names)
    made = numba.njit(names[native.name])
    made.gradc_code = native
    return made


def _text(signature: Signature, name: str) -> str:
    """Return Python of a function over the kernel: checks, results, the call."""
    lines = [f"def {name}({', '.join(each.identifier for each in signature.inputs)}):"]
    sizes = {size.name: f"_{size.identifier}" for size in signature.sizes}
    checks: list[str] = []
    known: set[str] = set()
    for argument in signature.inputs:
        assert argument.type is not None
        for axis, size in enumerate(argument.type.shape):
            have = f"{argument.identifier}.shape[{axis}]"
            plain = isinstance(size, int) or str(size) not in sizes
            if plain or str(size) in known:
                checks.append(f"{have} != {_text_of(size, sizes)}")
            else:
                known.add(str(size))
                lines.append(f"    {sizes[str(size)]} = {have}")
    if checks:
        lines += [
            f"    if {' or '.join(checks)}:",
            f'        raise ValueError("{name}: the shapes of the arguments do not fit")',
        ]
    given = [f"{sizes[size.name]}" for size in signature.sizes]
    for argument in signature.inputs:
        assert argument.type is not None
        taken = f"_{argument.identifier}_taken"
        lines.append(f"    {taken} = _as_{argument.identifier}({argument.identifier})")
        given.append(taken if argument.by_value else f"{taken}.ctypes")
    for number, argument in enumerate(signature.outputs):
        assert argument.type is not None
        shape = ", ".join(_text_of(size, sizes) for size in argument.type.shape) or "1"
        dtype = "bool_" if argument.type.dtype is DType.BOOL else argument.type.dtype.numpy.name
        lines.append(f"    _out{number} = np.empty(({shape},), np.{dtype})")
        given.append(f"_out{number}.ctypes")
    lines.append(f"    _status = _kernel({', '.join(given)})")
    for status in Status:
        if status in (Status.INDEX, Status.LIMIT):
            lines += [
                f"    if _status == {status.value}:",
                f'        raise ValueError("{name}: {STATUS_MEANING[status]}")',
            ]
    lines += ["    if _status != 0:", f'        raise ValueError("{name} refused its arguments")']
    results = [
        f"_out{number}{'' if argument.type is not None and argument.type.rank else '[0]'}"
        for number, argument in enumerate(signature.outputs)
    ]
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return "\n".join([*lines, f"    return {returned}", ""])


def _text_of(size: Size, names: dict[str, str]) -> str:
    """Return a size as Python, with the names that its symbols have there."""
    if isinstance(size, int):
        return str(size)
    text = str(size)
    spelled = text
    for symbol in sorted(symbols(size), key=len, reverse=True):
        spelled = spelled.replace(symbol, f"\0{names[symbol][1:]}")
    spelled = spelled.replace("\0", "_")
    try:
        values = dict.fromkeys(symbols(size), 7)
        found = eval(spelled, {"__builtins__": {}}, {names[name]: 7 for name in values})
        if found == evaluate(size, values):
            return f"({spelled})"
    except (SyntaxError, NameError, TypeError):
        pass
    raise ExportError(f"f.numba() cannot compute the size {text}", help="give a spec of numbers")


def _converter(numba: Any, name: str, argument: Argument) -> Any:
    """Return a function for compiled code that takes an argument as the kernel reads it.

    An array that is contiguous is itself; what has another dtype or rank is an error of types.
    """
    types = numba.types
    wanted = argument.type
    assert wanted is not None
    scalar = {
        DType.F64: types.float64,
        DType.F32: types.float32,
        DType.I64: types.int64,
        DType.I32: types.int32,
        DType.BOOL: types.boolean,
    }[wanted.dtype]
    whole = (types.Integer, types.Boolean)
    numbers = (*whole, types.Float) if wanted.dtype.is_float else whole

    def convert(x: Any) -> Any:
        raise NotImplementedError

    @numba.extending.overload(convert, strict=False)  # type: ignore[untyped-decorator]
    def typed(x: Any) -> Any:
        if not wanted.rank and isinstance(numba.types.unliteral(x), numbers):
            return lambda x: scalar(x)
        if isinstance(x, types.Array) and (x.ndim, x.dtype) == (wanted.rank, scalar):
            return (lambda x: x) if x.layout == "C" else (lambda x: np.ascontiguousarray(x))
        raise numba.core.errors.TypingError(f"{name}: {argument.name} is {x}, not {wanted}")

    return convert
