"""Values and derivatives of functions that are sums over rows, with the rows wherever they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.calls.signature import Wrt
from gradc.distributed.blocks import Blocks, refuse_one_pass
from gradc.distributed.engine import Engine, Here, InBlocks
from gradc.distributed.on_dask import Dask, is_of_dask
from gradc.distributed.progress import Progress, shown
from gradc.row_sums.nests import leaves_of_rows, map_rows
from gradc.row_sums.sums import Sums, sums
from gradc.traceback import boundary
from gradc_ir.errors import TraceError

Names = str | int | Sequence[str | int]


class Runner:
    """What runs a value or a derivative of a function on all rows.

    Attributes
    ----------
    sums: the function in parts.
    """

    def __init__(
        self,
        of: str,
        function: Callable[..., Any] | Sums,
        rows: Names = (),
        *,
        wrt: Wrt | None = None,
        engine: Engine | None = None,
        progress: bool | Progress = False,
    ) -> None:
        self.sums = function if isinstance(function, Sums) else sums(function, rows)
        self._of = of
        self._wrt = wrt
        self._engine = engine
        self._progress = progress
        if "blocks" in self.sums.function._parameters.names:
            raise TraceError(
                f"{self.sums.__name__} has a parameter called 'blocks', which is taken"
            )

    def call(
        self,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        blocks: Blocks | list[Any] | None = None,
        vector: Any = None,
    ) -> Any:
        """Return it; ``vector`` is that of an hvp."""
        given, leaves, nests = self._given(args, kwargs, blocks is not None)
        engine = self._engine or Here()
        if blocks is not None:
            engine = InBlocks(refuse_one_pass(blocks), len(self.sums.rows))
            nests = dict.fromkeys(self.sums.rows, 0)
        elif self._engine is None and any(map(is_of_dask, leaves)):
            engine = Dask()
        like = iter(engine.like(leaves))
        for name, nest in nests.items():
            given[name] = map_rows(lambda _: next(like), nest)
        names = list(given)
        form = self.sums.function._parameters.call_form(names, [given[name] for name in names])
        wrt = self._wrt
        step = self.sums.begin(self._of, *form[0], wrt=wrt, vector=vector, **form[1])
        tell = shown(self._progress)
        while step.partial is not None:
            done = 0

            def told(count: int, step: Any = step) -> None:
                nonlocal done
                done += count
                tell(step.number, step.count, done, step.total)

            step = step.finish(engine.total(step.partial, leaves, told))
        return step.result

    def _given(
        self, args: Sequence[Any], kwargs: dict[str, Any], in_blocks: bool
    ) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
        """Return arguments by names, the arrays with rows, and the nests that these are in."""
        parameters = self.sums.function._parameters
        if in_blocks:
            names = [name for name in parameters.names if name not in self.sums.rows]
            if len(args) > len(names):
                raise TraceError(
                    f"{self.sums.__name__}: with blocks there are no arguments for rows",
                    found=f"arguments: {', '.join(names)}",
                )
            return dict(zip(names, args)) | kwargs, [], {}
        pairs = parameters.pairs(args, kwargs)
        given = dict(pairs.dynamic) | dict(pairs.static)
        missing = [name for name in self.sums.rows if name not in given]
        if missing:
            raise TraceError(
                f"{self.sums.__name__}: {missing[0]} has the rows, and is not given",
                help="give it, or blocks=",
            )
        nests = {name: given[name] for name in self.sums.rows}
        leaves = [leaf for nest in nests.values() for leaf in leaves_of_rows(nest)]
        return given, leaves, nests

    def __repr__(self) -> str:
        return f"<{self._of} of {self.sums!r}>"


class OverRows(Runner):
    """The value or a derivative of all rows; called as the function is."""

    @boundary
    def __call__(self, *args: Any, blocks: Blocks | list[Any] | None = None, **kwargs: Any) -> Any:
        """Return it, of the function's arguments; those with rows may be left out for ``blocks``.

        Parameters
        ----------
        args, kwargs: of the function. Arguments with rows are arrays, memory maps, Dask's arrays,
            or anything else that has a shape and a dtype and is cut as arrays are.
        blocks: tuples with an array for each of these, in their order, one block after another.
        """
        return self.call(args, kwargs, blocks)


class ProductOverRows(Runner):
    """The Hessian of all rows times a vector; called as ``hvp(f)`` is: ``(args, vector)``."""

    @boundary
    def __call__(
        self,
        args: Sequence[Any],
        vector: Any,
        *,
        blocks: Blocks | list[Any] | None = None,
    ) -> Any:
        """Return the product, of the tuple of the function's arguments and a vector of wrt."""
        return self.call(tuple(args), {}, blocks, vector)


def value(function: Callable[..., Any] | Sums, rows: Names = (), **options: Any) -> OverRows:
    """Return the function, of rows in blocks or on a cluster; as :func:`value_and_grad`."""
    return OverRows("value", function, rows, **options)


def grad(function: Callable[..., Any] | Sums, rows: Names = (), **options: Any) -> OverRows:
    """Return the gradient, of rows in blocks or on a cluster; as :func:`value_and_grad`."""
    return OverRows("grad", function, rows, **options)


def value_and_grad(
    function: Callable[..., Any] | Sums, rows: Names = (), **options: Any
) -> OverRows:
    """Return value and gradient of a sum over rows that are in blocks or on a cluster.

    What is returned is called as the function is. Its results have the same bits for any blocks,
    any engine and any number of workers: those of the function called on all rows at once (with
    ``blas=False``, where large matrices are multiplied).

    Parameters
    ----------
    function: a sum over rows, as of :func:`gradc.sums`, or what that has returned.
    rows: the names or positions of the arguments that have the rows.
    wrt: by which arguments, the first by default; none of those with rows.
    engine: what runs the parts: :func:`mpi`, or an object with the two methods of
        ``gradc.distributed.engine.Engine``. By default arrays of Dask's are left to Dask, and all
        else is done in this process, a block at a time.
    progress: whether to draw a bar, or what to tell: a function of the pass, the number of passes,
        the rows that are done, and all rows.
    """
    return OverRows("value_and_grad", function, rows, **options)


def hvp(function: Callable[..., Any] | Sums, rows: Names = (), **options: Any) -> ProductOverRows:
    """Return the product of the Hessian of a sum over rows and a vector, of ``(args, vector)``.

    With ``blocks=`` the tuple of arguments is without those that have rows. The options are those
    of :func:`value_and_grad`.
    """
    return ProductOverRows("hvp", function, rows, **options)
