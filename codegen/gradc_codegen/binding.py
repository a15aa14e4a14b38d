"""What sizes a call has: symbols read off the shapes of the arguments, every axis checked."""

from __future__ import annotations

from collections.abc import Sequence

from gradc_ir import sizes
from gradc_ir.errors import ShapeError
from gradc_ir.sizes import Size
from gradc_ir.types import Type

from gradc_codegen.abi import Signature

Shape = tuple[int, ...]


def bind_sizes(
    signature: Signature, shapes: Sequence[Shape], function_name: str = "the function"
) -> dict[str, int]:
    """Return the value of every size symbol, in the order of the signature.

    Parameters
    ----------
    signature: the kernel's signature.
    shapes: the shapes of the arrays, one per input.
    function_name: what errors call the function.

    Raises
    ------
    ShapeError: an array has the wrong rank or an axis the wrong size, or a symbol that stands only in
        an expression such as ``n // 2`` cannot be told from it.
    """
    values: dict[str, int] = {}
    origins: dict[str, str] = {}
    later: list[tuple[int, int]] = []
    for position, (argument, shape) in enumerate(zip(signature.inputs, shapes, strict=True)):
        assert argument.type is not None
        if len(shape) != argument.type.rank:
            raise _refuse(signature, function_name, position, shape, {})
        for axis, size in enumerate(argument.type.shape):
            bare = isinstance(size, sizes.Expr) and size.terms[0][0] == (str(size),)
            if bare and str(size) not in values:
                values[str(size)] = shape[axis]
                origins[str(size)] = argument.name
            elif isinstance(size, sizes.Expr) or size != shape[axis]:
                later.append((position, axis))
    for position, axis in later:
        type_ = signature.inputs[position].type
        assert type_ is not None
        size, found = type_.shape[axis], shapes[position][axis]
        _solve(size, found, values, origins, signature.inputs[position].name)
    for position, axis in later:
        type_ = signature.inputs[position].type
        assert type_ is not None
        size = type_.shape[axis]
        known = all(name in values for name in sizes.symbols(size))
        if known and sizes.evaluate(size, values) != shapes[position][axis]:
            raise _refuse(signature, function_name, position, shapes[position], values, origins)
    return {argument.name: _known(argument.name, values, function_name, signature)
            for argument in signature.sizes}


def _solve(
    size: Size, found: int, values: dict[str, int], origins: dict[str, str], argument: str
) -> None:
    """Enter the one unknown symbol of a linear expression, as n = 4 from n + 1 = 5."""
    unknown = [name for name in sizes.symbols(size) if name not in values]
    if len(unknown) != 1:
        return
    (name,) = unknown
    at_zero, at_one = (sizes.evaluate(size, {**values, name: n}) for n in (0, 1))
    slope = at_one - at_zero
    if slope == 0:
        return
    value = (found - at_zero) // slope
    if value >= 0 and sizes.evaluate(size, {**values, name: value}) == found:
        values[name], origins[name] = value, argument


def _known(
    name: str, values: dict[str, int], function_name: str, signature: Signature
) -> int:
    if name in values:
        return values[name]
    where = [
        f"{argument.name}: {argument.type}"
        for argument in signature.inputs
        if argument.type is not None and name in argument.type.symbols
    ]
    raise ShapeError(
        f"{function_name}: the size {name} cannot be told from the shapes of the arguments",
        found=where,
        help=f"pass an array one of whose axes has the size {name}",
    )


def _refuse(
    signature: Signature,
    function_name: str,
    position: int,
    shape: Shape,
    values: dict[str, int],
    origins: dict[str, str] | None = None,
) -> ShapeError:
    argument = signature.inputs[position]
    type_ = argument.type
    assert type_ is not None
    what = f"{function_name}: {argument.name} has shape {_text(shape)}, which does not fit {type_}"
    if len(shape) != type_.rank:
        axes = "a number" if type_.rank == 0 else f"{type_.rank} {'axis' if type_.rank == 1 else 'axes'}"
        return ShapeError(
            f"{function_name}: {argument.name} has {len(shape)} "
            f"{'axis' if len(shape) == 1 else 'axes'}, but {axes} wanted",
            found=f"{argument.name}: {_text(shape)}    wanted: {type_}",
        )
    wanted = tuple(sizes.evaluate(size, values) if _all_known(size, values) else size for size in type_.shape)
    known = [
        f"{name} = {values[name]} (from {origins[name]})"
        for name in type_.symbols
        if origins and name in origins
    ]
    return ShapeError(
        what,
        found=f"found: {_text(shape)}    wanted: {_text(wanted)}" + (
            f"    where {', '.join(known)}" if known else ""
        ),
    )


def _all_known(size: Size, values: dict[str, int]) -> bool:
    return all(name in values for name in sizes.symbols(size))


def _text(shape: Sequence[Size]) -> str:
    return f"[{','.join(str(size).replace(' ', '') for size in shape)}]"


def result_shapes(types: Sequence[Type], values: dict[str, int]) -> tuple[Shape, ...]:
    """Return the shapes of results for these values of the size symbols."""
    return tuple(tuple(sizes.evaluate(size, values) for size in type_.shape) for type_ in types)
