"""``gradc.sums``: a function that is a sum over rows, in parts that any engine can run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.api.compile import compiled
from gradc.api.compiled import Compiled
from gradc.arguments.flags import exact_key
from gradc.calls.derivation import VALUE, Derivation
from gradc.calls.results import Answer
from gradc.calls.signature import Bound, Wrt, choose_wrt, leaves_of, listed
from gradc.calls.tangents import like_argument
from gradc.pipeline import final_functions
from gradc.row_sums import partials
from gradc.row_sums.cut import cut
from gradc.row_sums.nests import is_array, map_rows
from gradc.row_sums.plan import Plan
from gradc.row_sums.report import report
from gradc.row_sums.row_axes import NAME, ROWS
from gradc.row_sums.step import Step
from gradc.row_sums.task import RowArray
from gradc.runtime.specialize import alone
from gradc.runtime.trace_anew import least_sizes
from gradc.scopes import scopes_key
from gradc.traceback import boundary
from gradc.tracing.core.signals import NeedsConcreteSize, NeedsNumber
from gradc_ir.core.types import Array
from gradc_ir.errors import ShapeError, TraceError

KINDS = ("value", "grad", "value_and_grad", "hvp", "hessian")
_MOST_PLANS = 64


class Sums:
    """A function that is a sum over the rows of some arguments; made by :func:`sums`."""

    join = staticmethod(partials.join)

    def __init__(self, function: Callable[..., Any], rows: str | int | Sequence[str | int]) -> None:
        self.function: Compiled[..., Any] = compiled(function)
        self.__name__ = self.function.__name__
        names = self.function._parameters.names
        self.rows = tuple(self._name(entry, names) for entry in listed(rows))
        if not self.rows:
            raise TraceError(
                f"sums: which arguments of {self.__name__} have rows?",
                help=f'name them: gradc.sums({self.__name__}, rows=("x", "y"))',
            )
        self._plans: dict[Any, list[Plan]] = {}

    def _name(self, entry: Any, names: Sequence[str]) -> str:
        if isinstance(entry, int) and -len(names) <= entry < len(names):
            return names[entry]
        if entry not in names:
            raise TraceError(
                f"rows: {self.__name__} has no parameter {entry!r}",
                found=f"parameters: {', '.join(names)}",
            )
        return str(entry)

    @boundary
    def begin(
        self,
        of: str,
        /,
        *args: Any,
        wrt: Wrt | None = None,
        vector: Any = None,
        **kwargs: Any,
    ) -> Step:
        """Return the first step of a call of what ``of`` names.

        Parameters
        ----------
        of: ``"value"``, ``"grad"``, ``"value_and_grad"``, ``"hvp"`` or ``"hessian"``.
        args, kwargs: those of the function. Of an argument with rows only the shape and the dtype
            are looked at: an array, or :class:`gradc.distributed.Rows`, which has nothing else.
        wrt: by which arguments, the first by default; none of those with rows.
        vector: of ``"hvp"``.

        Raises TraceError, with the user's line, where the function is no sum over rows.
        """
        asked = _asked(of, wrt, kwargs)
        given, total = self._bound(asked, args, kwargs)
        plan, bound = self._plan(asked, given)
        arrays = [*bound.leaves, *(capture.read() for capture in plan.traced.captures)]
        positions = self._positions(asked, bound)
        if of == "hvp":
            several = vector if asked.several else (vector,)
            if not isinstance(several, tuple | list) or len(several) != len(positions):
                raise ShapeError(
                    f"hvp: there are {len(positions)} arguments in wrt, and not as many vectors"
                )
            for position, one in zip(positions, several):
                arrays += like_argument(bound, position, one, "vector")
        return Step(plan, arrays, total, self._whole(asked, given, vector))

    @boundary
    def explain(
        self, *args: Any, of: str = "value_and_grad", wrt: Wrt | None = None, **kwargs: Any
    ) -> str:
        """Return which passes over the rows what ``of`` names takes, and what each does.

        The arguments are those of :meth:`begin`.
        """
        asked = _asked(of, wrt, kwargs)
        bound, _ = self._bound(asked, args, kwargs)
        return report(self._plan(asked, bound)[0])

    # -- from arguments to plans ------------------------------------------------------------------

    def _bound(self, asked: Derivation, args: Any, kwargs: dict[str, Any]) -> tuple[Bound, int]:
        """Return the arguments, without rows in those that have some, and how many rows there are.

        Raises ShapeError where they have not equally many.
        """
        function = self.function
        wrt: Wrt = () if asked.wrt is None else asked.wrt
        pairs = function._parameters.pairs(args, kwargs, wrt)
        given = dict(pairs.dynamic)
        counts: dict[str, int] = {}
        for name in self.rows:
            if name not in given:
                raise TraceError(f"{self.__name__}: {name} has the rows, and is not given")
            empty = functools.partial(_empty, name, counts)
            given[name] = map_rows(empty, given[name])
        if len(set(counts.values())) > 1:
            raise ShapeError(
                f"{self.__name__}: the arguments with rows have not equally many",
                found="    ".join(f"{name}: {count}" for name, count in counts.items()),
            )
        bound, _ = function._bind(asked, *_call(function, given | dict(pairs.static)))
        return bound, next(iter(counts.values()))

    def _positions(self, asked: Derivation, bound: Bound) -> tuple[int, ...]:
        wrt: Wrt = () if asked.wrt is None else asked.wrt
        positions = self.function._parameters.positions(wrt, bound)
        for position in positions:
            if bound.names[position] in self.rows:
                raise TraceError(
                    f"wrt: {bound.names[position]} has rows, and its derivative one for each",
                    help="differentiate by arguments without rows",
                )
        return positions

    def _leaves(self, bound: Bound) -> tuple[int, ...]:
        """Return which leaves have rows."""
        return leaves_of(bound, [bound.names.index(name) for name in self.rows])

    def _plan(self, asked: Derivation, bound: Bound) -> tuple[Plan, Bound]:
        """Return the passes of a call, and its arguments as they take them."""
        key = (
            asked, bound.names, bound.structure, bound.numbers, scopes_key(), bound.types,
            tuple((name, exact_key(value)) for name, value in bound.static),
        )  # fmt: skip
        kept = self._plans.setdefault(key, [])
        for plan in kept:
            fixed = plan.fixed(bound)
            if fixed is not None:
                return plan, fixed
        while len(self._plans) > _MOST_PLANS:
            self._plans.pop(next(iter(self._plans)))
        plan = self._made(asked, bound)
        kept[_MOST_PLANS:] = []
        kept.insert(0, plan)
        fixed = plan.fixed(bound)
        assert fixed is not None  # it was made of these
        return plan, fixed

    @alone
    def _made(self, asked: Derivation, bound: Bound) -> Plan:
        function, fixings = self.function, []
        while True:
            rows = self._leaves(bound)
            types = [
                type_.with_shape((ROWS, *type_.shape[1:])) if leaf in rows else type_
                for leaf, type_ in enumerate(bound.types)
            ]
            try:
                traced = function._at(bound).trace(types, is_last=asked.of == "value")
                break
            except NeedsConcreteSize as needed:
                raise needed.error() from None
            except NeedsNumber as needed:
                fixings.append(tuple(needed.leaves))
                bound = bound.fixing(needed.leaves)
        if NAME in traced.specialised:
            raise TraceError(
                f"{self.__name__}: something has as many entries as there are rows, and is not cut",
                found=f"rows: {', '.join(self.rows)}",
                help="name all arguments that have rows; pass captured arrays as arguments",
            )
        if traced.prints is not None:
            raise TraceError(
                f"{self.__name__} prints values, of which no worker has all",
                help="leave gradc.debug_print out",
            )
        positions = self._positions(asked, bound)
        options, path_of = function.options, bound.paths.__getitem__
        request = asked.request(traced, leaves_of(bound, positions), options, path_of)
        (final,) = final_functions(traced.function, request)
        like = tuple(
            RowArray(bound.paths[leaf], bound.types[leaf].dtype, bound.leaves[leaf].shape[1:])
            for leaf in rows
        )
        return Plan(
            traced, Answer(asked, traced, None, bound.without_arrays(), positions),
            cut(final, rows), rows, like, options, least_sizes(traced), tuple(fixings),
            bound.structure,
        )  # fmt: skip

    def _whole(self, asked: Derivation, bound: Bound, vector: Any) -> Callable[[Any], Any]:
        """Return what calls the function itself on all rows, where they are few."""
        rows, function = self._leaves(bound), self.function

        def run(arrays: Sequence[Array]) -> Any:
            leaves = list(bound.leaves)
            for leaf, array in zip(rows, arrays):
                leaves[leaf] = array
            nests = dict(zip(bound.names, bound.nests(leaves)))
            given = dict(zip(bound.names, bound.values)) | {n: nests[n] for n in self.rows}
            args, by_name = _call(function, given | dict(bound.static))
            if asked.of == "value":
                return function(*args, **by_name)
            if asked.of == "hvp":
                return function.hvp(args, vector, wrt=asked.wrt)
            return getattr(function, asked.of)(*args, wrt=asked.wrt, **by_name)

        return run

    def __repr__(self) -> str:
        return f"<gradc.sums of {self.__name__} over the rows of {', '.join(self.rows)}>"


def sums(function: Callable[..., Any], rows: str | int | Sequence[str | int]) -> Sums:
    """Return a function that is a sum over rows in parts, to be run in pieces on any engine.

    Parameters
    ----------
    function: of NumPy, compiled or not. It may be anything made of sums, means, products, extrema,
        norms or logsumexps over the rows of some arguments, and of other arguments; of reductions
        of these in turn.
    rows: the names or positions of the arguments whose first axis is the rows.

    What comes out is the same, to the bit, for any blocks, and what the function itself returns of
    all rows; with ``blas=False``, where large matrices are multiplied.
    """
    return Sums(function, rows)


def _asked(of: str, wrt: Wrt | None, kwargs: dict[str, Any]) -> Derivation:
    if of not in KINDS:
        raise TraceError(f"sums: no such kind: {of!r:.60}", help=f"one of {', '.join(KINDS)}")
    return VALUE if of == "value" else Derivation(of, choose_wrt(wrt, kwargs))


def _call(
    function: Compiled[..., Any], given: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return named arguments, static ones too, as positional and keyword ones."""
    return function._parameters.call_form(tuple(given), tuple(given.values()))


def _empty(name: str, counts: dict[str, int], leaf: Any) -> Array:
    """Return an array like one with rows, but without any, and count them."""
    if not is_array(leaf) or not leaf.shape:
        raise TraceError(
            f"rows: {name} is no array with rows",
            found=f"{name}: {type(leaf).__name__}",
            help="pass an array, or gradc.distributed.Rows(shape, dtype) in its place",
        )
    count, *shape = leaf.shape
    if counts.setdefault(name, count) != count:
        raise ShapeError(f"rows: arrays in {name} have not equally many rows")
    return np.empty((0, *shape), leaf.dtype)
