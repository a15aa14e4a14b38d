"""Ivy's gradients of nests: ``execute_with_gradients`` and ``bind_custom_gradient_function``.

Arrays are NumPy's and nests are of dict, list, tuple, namedtuple and dataclass. As in Ivy integer
arrays count as floats, arrays with one ``id`` are one variable, and what is nan or infinite in a
gradient becomes 0, which hides where it came from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from gradc.api.transforms import vjp
from gradc.arguments import pytree
from gradc.arguments.as_array import as_array
from gradc.calls.policies import groups_of, summed_by_group
from gradc.control.bodies import invoke
from gradc.custom.custom_gradient import CustomGradient, custom_gradient
from gradc.traceback import boundary
from gradc.tracing import current
from gradc_ir.core.types import Array
from gradc_ir.errors import ShapeError, TraceError

# The keys that lead to a part of a nest, such as [1, "b"].
Path: TypeAlias = Sequence[str | int]


@boundary
def execute_with_gradients(
    func: Callable[[Any], Any],
    xs: Any,
    xs_grad_idxs: Sequence[Path] | None = None,
    ret_grad_idxs: Sequence[Path] | None = None,
) -> tuple[Any, Any]:
    """Return ``(func(xs), gradients)``.

    Parameters
    ----------
    func: of one argument, a nest of arrays of any shapes, to a nest of arrays without axes.
    xs: the argument; it is left as it is.
    xs_grad_idxs: by what to differentiate: paths into ``xs``, such as ``[[0], [1, "b"]]``, each to
        an array or to a nest; all of ``xs`` by default.
    ret_grad_idxs: what to differentiate: paths into the result; all of it by default.

    The gradients have the nest of ``xs``, or of what the one path leads to, or are a list with an
    entry for each path. Of several results they are a dict, by the keys that lead to each, joined
    by ``_``. An array that stands in several places has in each the derivative by all of them; one
    that does not lead to the result has zeros.

    Raises ShapeError, a ValueError, that names a chosen result with axes or a path to nowhere.
    """
    if current() is not None:
        raise TraceError(
            "execute_with_gradients is for arrays, not for traced values",
            help="in a function that is traced write gradc.vjp",
        )
    leaves, structure = pytree.flatten(xs)
    parts = _parts(xs, xs_grad_idxs, "xs")
    wanted = {leaf for positions, _ in parts for leaf in positions}
    floats = [
        _as_float(path, leaf) if i in wanted else leaf
        for i, (path, leaf) in enumerate(zip(pytree.paths(xs, "xs"), leaves))
    ]
    value, pullback = vjp(func, pytree.unflatten(structure, floats))
    outputs = [leaf for positions, _ in _parts(value, ret_grad_idxs, "ret") for leaf in positions]
    _refuse_axes(value, outputs)
    # the places of one array have the sum over them
    groups = groups_of(leaves, (np.ndarray,))
    gradients: dict[str, Any] = {}
    for output in outputs:
        (found,) = pullback(_one_at(value, output))
        by_leaf = pytree.parts_at_leaves(structure, found)
        whole = [_finite(each) for each in summed_by_group(by_leaf, groups)]
        chosen = [
            pytree.unflatten(part, [whole[leaf] for leaf in positions]) for positions, part in parts
        ]
        key = "_".join(map(str, pytree.keys(value)[output]))
        gradients[key] = chosen[0] if len(chosen) == 1 else chosen
    return value, next(iter(gradients.values())) if len(gradients) == 1 else gradients


def bind_custom_gradient_function(
    func: Callable[[Any], Any], custom_grad_fn: Callable[..., Any]
) -> CustomGradient:
    """Return the function with a gradient of its own.

    ``custom_grad_fn((xs, ret), upstream)`` is given the argument, the result, and what was computed
    on the way back to the result, in its nest; it returns the gradient by ``xs``, in that nest.
    """

    def bound(xs: Any) -> tuple[Any, Callable[..., Any]]:
        ret = invoke(func, xs)

        def gradient(*upstream: Any) -> Any:
            whole = type(ret)(upstream) if type(ret) in (tuple, list) else upstream[0]
            return invoke(custom_grad_fn, (xs, ret), whole)

        return ret, gradient

    return custom_gradient(bound)


def _parts(
    whole: Any, paths: Sequence[Path] | None, root: str
) -> list[tuple[list[int], pytree.Structure]]:
    """Return for each path the positions of the leaves it leads to, and the nest they make."""
    if paths is None:
        leaves, structure = pytree.flatten(whole)
        return [(list(range(len(leaves))), structure)]
    keys = pytree.keys(whole)
    found = []
    for path in map(tuple, paths):
        positions = [i for i, key in enumerate(keys) if key[: len(path)] == path]
        if not positions:
            raise ShapeError(
                f"{list(path)} leads to nothing in {root}",
                found=f"{root} has {', '.join(pytree.paths(whole, root))}",
            )
        part = whole
        for key in path:
            part = getattr(part, str(key)) if _is_field(part, key) else part[key]
        found.append((positions, pytree.flatten(part)[1]))
    return found


def _is_field(part: Any, key: Any) -> bool:
    return isinstance(key, str) and not isinstance(part, dict)


def _as_float(path: str, leaf: Any) -> Array:
    array = as_array(path, leaf)
    return array.astype(np.float64) if array.dtype.kind in "ib" else array


def _refuse_axes(value: Any, outputs: Sequence[int]) -> None:
    """Raise ShapeError for a result with axes, which has no gradient."""
    leaves = pytree.flatten(value)[0]
    for output in outputs:
        if np.ndim(leaves[output]):
            path = pytree.paths(value, "ret")[output]
            raise ShapeError(
                f"the gradient of {path} needs a scalar, not an array of shape "
                f"{np.shape(leaves[output])}",
                help="reduce it (np.sum), take gradc.jacobian, or choose a cotangent: gradc.vjp",
            )


def _one_at(value: Any, output: int) -> Any:
    """Return the cotangent of one result: one there, zeros elsewhere."""
    leaves, structure = pytree.flatten(value)
    cotangents = [
        np.full_like(leaf, i == output) if np.asarray(leaf).dtype.kind == "f" else None
        for i, leaf in enumerate(leaves)
    ]
    return pytree.unflatten(structure, cotangents)


def _finite(gradient: Any) -> Any:
    if gradient is None:
        return None
    return np.where(np.isfinite(gradient), gradient, np.zeros_like(gradient))[()]
