"""Fits: SciPy's minimisers on this process, with the function's sums wherever the rows are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.arguments import pytree
from gradc.distributed.blocks import Blocks
from gradc.distributed.engine import Engine
from gradc.distributed.functions import Names, Runner
from gradc.distributed.progress import Progress
from gradc.row_sums.sums import Sums, sums
from gradc.traceback import boundary
from gradc_ir.core.types import Array
from gradc_ir.errors import TraceError

# Those of SciPy's that ask for values, gradients and products with the Hessian, and nothing else.
_BY_GRADIENTS = ("L-BFGS-B", "BFGS", "CG", "TNC", "SLSQP")
_BY_PRODUCTS = ("trust-ncg", "trust-krylov", "Newton-CG", "trust-constr")


@boundary
def minimize(
    function: Callable[..., Any] | Sums,
    start: Any,
    *args: Any,
    rows: Names = (),
    blocks: Blocks | list[Any] | None = None,
    method: str = "L-BFGS-B",
    engine: Engine | None = None,
    progress: bool | Progress = False,
    **options: Any,
) -> Any:
    """Return SciPy's result of minimising a sum over rows by its first argument.

    Parameters
    ----------
    function: a sum over rows, as of :func:`gradc.sums`, by whose first argument it is minimised.
    start: where to begin: an array, or a nest of arrays. ``x`` of the result is like it.
    args: the further arguments; with ``blocks`` without those that have rows.
    rows, blocks, engine, progress: as of :func:`gradc.distributed.value_and_grad`.
    method: of ``scipy.optimize.minimize``: one by gradients, or by products with the Hessian,
        ``"trust-ncg"``, which takes two passes or more an iteration and few iterations.
    options: further ones of ``scipy.optimize.minimize``: ``tol``, ``bounds``, ``callback``,
        ``options``.

    What it does is what SciPy does with one process: the numbers it is given have the same bits.
    """
    from scipy import optimize  # which few need

    if method not in (*_BY_GRADIENTS, *_BY_PRODUCTS):
        raise TraceError(
            f"minimize: {method!r} takes no gradients, or a whole Hessian",
            help=f"one of {', '.join((*_BY_GRADIENTS, *_BY_PRODUCTS))}",
        )
    split = function if isinstance(function, Sums) else sums(function, rows)
    of_all = Runner("value_and_grad", split, engine=engine, progress=progress)
    products = Runner("hvp", split, engine=engine, progress=progress)
    leaves, structure = pytree.flatten(start)
    arrays = [np.asarray(leaf, dtype=np.result_type(leaf, np.float32)) for leaf in leaves]
    alone = len(leaves) == 1 and leaves[0] is start

    def nest(flat: Array) -> Any:
        ends = np.cumsum([array.size for array in arrays])[:-1]
        parts = [
            part.reshape(array.shape).astype(array.dtype)
            for part, array in zip(np.split(flat, ends), arrays)
        ]
        return parts[0] if alone else pytree.unflatten(structure, parts)

    def value_and_gradient(flat: Array) -> tuple[float, Array]:
        value, gradient = of_all.call((nest(flat), *args), {}, blocks)
        return float(value), _flat(pytree.flatten(gradient)[0])

    def product(flat: Array, vector: Array) -> Array:
        found = products.call((nest(flat), *args), {}, blocks, nest(vector))
        return _flat(pytree.flatten(found)[0])

    more = {"hessp": product} if method in _BY_PRODUCTS else {}
    solve: Any = optimize.minimize
    found = solve(value_and_gradient, _flat(arrays), jac=True, method=method, **more, **options)
    found.x = nest(found.x)
    return found


def _flat(arrays: Sequence[Any]) -> Array:
    parts = [np.ravel(np.asarray(array, dtype=np.float64)) for array in arrays]
    return np.concatenate(parts) if parts else np.empty(0)
