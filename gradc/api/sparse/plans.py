"""Plans of sparse derivatives: pattern, passes and kernel for calls that are alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array

from gradc.api.sparse.elements import Elements
from gradc.arguments.flags import exact_key
from gradc.calls.derivation import VALUE, Derivation
from gradc.calls.signature import Bound, Wrt, leaves_of
from gradc.calls.sparse_preconditions import check_matrix, check_sizes, only_leaf
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.runtime.collector import collector_paused
from gradc.runtime.derivative_pattern import (
    Made,
    Making,
    found_pattern,
    looked_at,
    numbers,
    pattern_and_making,
)
from gradc.runtime.prepared import Prepared
from gradc.runtime.quick_call import Call
from gradc.runtime.specialize import working
from gradc.scopes import scopes_key
from gradc.sparsity.compression import seeds
from gradc.sparsity.lattices.elements import ClosedElements
from gradc.sparsity.placement import Placement
from gradc.sparsity.relation import Relation
from gradc.sparsity.seeds import BySeeds, ByTerms
from gradc.tracing.captured.captures import SameElements, SameZeros, are_equal
from gradc.tracing.captured.traced import Traced
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import Array, Type
from gradc_ir.errors import ShapeError, TraceError

# A function that is met with ever new sizes, or ever new indices, forgets the older plans.
_MOST_KINDS = 64
_MOST_OF_A_KIND = 8


class Asked(NamedTuple):
    """What is asked for: ``"jacobian"`` or ``"hessian"``, by one argument, in a mode."""

    of: str
    wrt: Wrt
    mode: str = "auto"


class Owner(Protocol):
    """A compiled function."""

    __name__: str
    __wrapped__: Callable[..., Any]
    options: Options
    _parameters: Any

    def like(self, function: Callable[..., Any], static: Iterable[str] = ()) -> Any:
        """Return another function compiled with the options of this one."""

    def _bind(
        self, asked: Derivation, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[Bound, tuple[int, ...]]: ...

    def _request(
        self, specs_or_args: Sequence[Any], of: str, wrt: Wrt
    ) -> tuple[Traced, Request]: ...

    def _traced(
        self, bound: Bound, types: Sequence[Type], of: str, wrt: Wrt
    ) -> tuple[Traced, Bound]: ...


class Form(NamedTuple):
    """What computes elements, and what it is given before the arguments: nothing for no element."""

    compiled: Any
    before: tuple[Array, ...] = ()


@dataclass(eq=False)
class Plan:
    """The pattern of a derivative, and what computes its elements.

    Parameters
    ----------
    traced: the function, whose guards must hold.
    shapes: of the captured arrays.
    looked: the integers that the pattern hangs on, and where matrices are other than zero, by the
        leaf or, after these, the capture.
    stays: guards of them; None where some are arguments.
    pattern: in canonical form.
    making: how its elements are made.
    given: the seeds.
    dtype: of the elements, as of the argument.
    formed: returns what takes arguments to elements: as is made for any pattern, or for one alone.
    """

    traced: Traced
    shapes: tuple[tuple[int, ...], ...]
    looked: Mapping[int, Array]
    stays: tuple[SameElements, ...] | None
    pattern: Relation
    making: Making
    given: tuple[Array, ...]
    dtype: np.dtype[Any]
    formed: Callable[[Made, Made | None], Form]

    @cached_property
    def rows(self) -> Array:
        """The row of each element of the pattern."""
        return np.repeat(np.arange(self.pattern.shape[0]), np.diff(self.pattern.indptr))

    @cached_property
    def template(self) -> Any:
        """A csr_array of the pattern, which SciPy has checked: those with elements are copies."""
        pattern = self.pattern
        zeros = np.zeros(pattern.nnz, self.dtype)
        return csr_array((zeros, pattern.indices, pattern.indptr), shape=pattern.shape)

    @cached_property
    def lower(self) -> Array:
        """Which elements of the pattern are on the diagonal or below it."""
        return np.nonzero(self.rows >= self.pattern.indices)[0]

    @cached_property
    def whole(self) -> Form:
        """What computes all elements."""
        making = self.making
        if isinstance(making.found, ClosedElements):
            return self._of_closed(making.found)
        return self._of_placement(making.found, self.rows)

    @cached_property
    def of_lower(self) -> Form:
        """What computes those of the lower triangle."""
        making = self.making
        if isinstance(making.found, ClosedElements):
            return self._of_closed(making.found.lower())
        return self._of_placement(making.found.of(self.lower), self.rows[self.lower])

    def _of_closed(self, found: ClosedElements) -> Form:
        if not found.count:
            return Form(None)
        return self._form(self.making.of_closed(found), self.making.closed_in_runs(found))

    def _of_placement(self, found: Placement, rows: Array) -> Form:
        if not len(found.places):
            return Form(None)
        return self._form(self.making.of(found), self.making.in_runs(found, rows))

    def _form(self, every: Made, in_runs: Made | None) -> Form:
        names = None
        if self.stays is not None:
            names = [guard.name for guard in self.stays if type(guard) is SameElements]
        alone = in_runs or self.making.fixed(every, names)
        compiled, places = self.formed(every, alone)
        return Form(compiled, (*self.given, *places))

    def fits(self, leaves: Sequence[Array]) -> bool:
        """Whether it serves a call of the same kind: what it has looked at is as it was."""
        if not all([guard.holds() for guard in self.traced.guards]):
            return False
        if not self.traced.captures and not self.looked:
            return True
        try:
            captured = [capture.read() for capture in self.traced.captures]
        except TraceError:
            return False
        arrays = [*leaves, *captured]
        return self.shapes == tuple(array.shape for array in captured) and all(
            are_equal(looked_at(arrays[i]), array) for i, array in self.looked.items()
        )


class Planned(NamedTuple):
    """A call, and the plan that serves it.

    ``is_plain``: its arguments are those that were passed, in their places.
    """

    plan: Plan
    args: Sequence[Any]
    kwargs: dict[str, Any]
    is_plain: bool = True

    def pattern(self) -> Relation:
        """Return the pattern."""
        return self.plan.pattern.copy()

    def structure(self, *, lower: bool = False) -> tuple[Array, Array]:
        """Return the rows and columns of the elements, or of those of the lower triangle."""
        columns = self.plan.pattern.indices
        rows = self.plan.rows.astype(columns.dtype)
        if lower:
            return rows[self.plan.lower], columns[self.plan.lower]
        return rows, columns.copy()

    def values(self, out: Any = None, *, lower: bool = False) -> Array:
        """Return the elements, or those of the lower triangle."""
        compiled, before = self.plan.of_lower if lower else self.plan.whole
        if compiled is None:
            return np.zeros(0, self.plan.dtype) if out is None else out
        more = {} if out is None else {"out": out}
        found: Array = compiled(*before, *self.args, **self.kwargs, **more)
        return found

    def prepared(self, call: Call, out: Any = None, *, lower: bool = False) -> Any:
        """Return what :meth:`values` does, or its call prepared, so that others like it are quick.

        Those are of the same shapes, and what is looked at outside is as it is. There are none
        where the pattern hangs on integers that are arguments, which are compared here.
        """
        compiled, before = self.plan.of_lower if lower else self.plan.whole
        stays = self.plan.stays
        if compiled is None or stays is None or not self.is_plain:
            return self.values(out, lower=lower)
        inner = call._replace(learner=None, args=(*before, *self.args))
        found: Prepared = compiled.answered(VALUE, inner, inner.args, self.kwargs)
        count, made = len(before), found.made
        if stays and made is not None:
            traced = made.traced
            own = {guard.name for guard in traced.guards if type(guard) is SameElements}
            more = [guard for guard in stays if guard.name not in own]
            made = replace(made, traced=replace(traced, guards=(*traced.guards, *more)))

        def moved(path: tuple[Any, ...]) -> tuple[Any, ...]:
            return (path[0] - count, *path[1:]) if path and type(path[0]) is int else path

        return found._replace(
            made=made,
            inputs=[
                part._replace(path=(), is_known=True)
                if i < count
                else part._replace(path=moved(part.path))
                for i, part in enumerate(found.inputs)
            ],
            others=[(moved(path), value) for path, value in found.others],
        ).with_out(out)

    def matrix(self, out: Any = None) -> Any:
        """Return a csr_array, or ``out`` with the elements in it."""
        pattern = self.plan.pattern
        if out is None:
            template = self.plan.template
            made = copy(template)
            made.data, made.indices = self.values(), template.indices.copy()
            made.indptr = template.indptr.copy()
            return made
        _check_out(pattern, out)
        self.values(out.data)
        return out


def _check_out(pattern: Relation, out: Relation) -> None:
    if getattr(out, "format", "") != "csr":
        raise TraceError(
            f"out= of a sparse derivative is a csr_array, not {type(out).__name__}",
            help="pass what an earlier call has returned",
        )
    if (
        out.shape != pattern.shape
        or out.nnz != pattern.nnz
        or not np.array_equal(out.indptr, pattern.indptr)
        or not np.array_equal(out.indices, pattern.indices)
    ):
        raise ShapeError(
            "out= has another pattern than the derivative",
            found=f"{out.nnz} elements in {out.shape}, wanted {pattern.nnz} in {pattern.shape}",
            help="pass what an earlier call with such arguments has returned",
        )


class Plans:
    """The plans of a compiled function."""

    def __init__(self) -> None:
        self._plans: dict[Any, list[Plan]] = {}
        self._forms: dict[Any, Any] = {}
        # of what was made first, the form for its pattern alone
        self._alone: dict[Any, BySeeds | ByTerms | None] = {}
        # the last plan for arrays alone, by what is asked of which types
        self._quick: dict[Any, Plan] = {}

    def find(
        self,
        owner: Owner,
        of: str,
        wrt: Wrt,
        mode: str,
        args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> Planned:
        """Return a call with its plan, which is made where there is none.

        Raises what tracing and differentiating raise, ShapeError or TraceError where the derivative
        is no matrix.
        """
        quick = None
        if not kwargs and all([type(arg) is np.ndarray for arg in args]):
            types = [(arg.dtype.char, arg.shape) for arg in args]
            parameters = owner._parameters.current(owner.__wrapped__)
            quick = (of, wrt, mode, tuple(types), parameters, scopes_key())
            plan = self._quick.get(quick)
            if plan is not None and plan.fits(args):
                return Planned(plan, args, kwargs)
        if isinstance(wrt, tuple | list):
            raise TraceError(
                f"a sparse {of} of {owner.__name__} is by one argument, not by wrt={wrt!r:.60}",
                help="take one for each of them",
            )
        asked = Asked(of, wrt, mode)
        bound, positions = owner._bind(Derivation(of, wrt), args, kwargs)
        plan = self._plan(owner, asked, bound, positions)
        if quick is not None and len(bound.leaves) == len(args):
            if len(self._quick) >= _MOST_KINDS:
                self._quick.clear()
            self._quick[quick] = plan
        return Planned(plan, args, kwargs)

    def _plan(self, owner: Owner, asked: Asked, bound: Bound, positions: Sequence[int]) -> Plan:
        key = (
            asked,
            positions,
            bound.names,
            bound.structure,
            bound.numbers,
            tuple([(name, exact_key(value)) for name, value in bound.static]),
            owner._parameters,
            scopes_key(),
            tuple([(leaf.dtype.char, leaf.shape) for leaf in bound.leaves]),
        )
        plans = self._plans.get(key)
        if plans is None:
            while len(self._plans) >= _MOST_KINDS:
                self._plans.pop(next(iter(self._plans)), None)
            plans = self._plans.setdefault(key, [])
        for plan in plans:
            if plan.fits(bound.leaves):
                return plan
        with working(), collector_paused():
            plan = self._made(owner, asked, bound, positions)
        plans.insert(0, plan)
        del plans[_MOST_OF_A_KIND:]
        return plan

    def _made(self, owner: Owner, asked: Asked, bound: Bound, positions: Sequence[int]) -> Plan:
        traced, fixed = owner._traced(bound, bound.types, asked.of, asked.wrt)
        leaf = only_leaf(owner.__name__, asked.of, leaves_of(fixed, positions))
        check_matrix(owner.__name__, asked.of, traced)
        captured = [capture.read() for capture in traced.captures]
        looked: dict[int, Array] = {}
        arrays = [*fixed.leaves, *captured]
        request = Request(asked.of, (leaf,), asked.mode, owner.options)
        found, making = pattern_and_making(traced.function, request, arrays, looked, len(captured))
        types = traced.function.param_types[leaf], traced.function.result_types[0]
        given: tuple[Array, ...] = ()
        if making.passes is not None:
            colours = making.passes.by_columns, making.passes.by_rows
            given = tuple(
                seeds(own, type_.dtype.numpy).reshape((-1, *numbers(type_.shape)))
                for own, type_ in zip(colours, types)
                if own.max(initial=-1) >= 0
            )
        static = owner._parameters.static

        def formed(every: Made, alone: Made | None) -> Form:
            # the first pattern gets a kernel of its own, all others share what is for any
            kind = (asked.of, asked.wrt, every.by, static)
            first = self._alone.setdefault(kind, None if alone is None else alone.by)
            chosen = alone if alone is not None and alone.by == first else every
            kind = (asked.of, asked.wrt, chosen.by, static)
            if kind not in self._forms:
                function = Elements(owner.__wrapped__, static, asked.of, asked.wrt, chosen.by)
                self._forms[kind] = owner.like(function, static)
            return Form(self._forms[kind], chosen.places)

        # fixed leaves are flags of the call, whose places among the arrays are other ones
        looked = looked if fixed is bound else _by_first_leaves(looked, fixed, bound)
        shapes = tuple(array.shape for array in captured)
        dtype = types[0].dtype.numpy
        first = len(bound.leaves)
        stays = tuple(
            (SameZeros if capture.type.dtype.is_float else SameElements)(
                capture.name, array, capture.fetch
            )
            for i, array in looked.items()
            if i >= first and (capture := traced.captures[i - first])
        )
        known = stays if len(stays) == len(looked) else None
        return Plan(traced, shapes, looked, known, found, making, given, dtype, formed)


def pattern_of_spec(owner: Owner, specs: Sequence[str], of: str, wrt: Wrt) -> Relation:
    """Return the pattern of a derivative for a spec, whose sizes are numbers.

    Nothing is known of integers that are arguments: what they pick may be anything.
    """
    traced, request = owner._request(specs, of, wrt)
    function = traced.function
    check_sizes(function)
    check_matrix(owner.__name__, of, traced)
    captured = [capture.read() for capture in traced.captures]
    unknown = [None] * (len(function.params) - len(captured))
    leaf = only_leaf(owner.__name__, of, request.wrt)
    arrays = [*unknown, *captured]
    return found_pattern(function, of, leaf, owner.options, arrays, len(captured))


def _by_first_leaves(looked: Mapping[int, Array], fixed: Bound, bound: Bound) -> dict[int, Array]:
    """Return what was looked at by places among the arrays of a call before some became flags."""
    paths = {path: i for i, path in enumerate(bound.paths)}
    kept, moved = fixed.paths, len(bound.leaves) - len(fixed.leaves)
    return {paths[kept[i]] if i < len(kept) else i + moved: array for i, array in looked.items()}
