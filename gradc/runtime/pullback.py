"""The second half of reverse or forward mode, on the values that the first half kept."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from gradc.arguments import flags
from gradc.arguments.as_array import as_direction
from gradc.calls.results import Answer
from gradc.calls.signature import Bound, number_kind
from gradc.calls.tangents import push_tangents
from gradc.runtime.executable import Executable
from gradc.runtime.prepared import Part, Prepared, Results, pushed_parts
from gradc.runtime.quick_call import Call, Learner
from gradc.traceback import cut
from gradc.tracing.captured.top import is_tracing
from gradc_codegen.calls import cells
from gradc_codegen.calls.door import OWN_STATE, definition, door, state_of
from gradc_codegen.calls.plan import CallLayout, Plan
from gradc_ir.core.types import Array
from gradc_ir.errors import PickleError, ShapeError

_DOCS = {
    "pullback": "pullback(cotangent)\n--\n\n"
    "Return one cotangent per argument, in its nest; None where it is not floating point.\n\n"
    "Where wrt asked for one argument only, it is that one's. Raises ShapeError unless the\n"
    "cotangent has the nest and the shapes of the value; for what is not floating point it may\n"
    "hold None.",
    "push": "push(*tangents)\n--\n\n"
    "Return the tangent of the value, in its nest; None is a zero that stays zero.\n\n"
    "Raises ShapeError unless there is one tangent per argument, of its nest and shapes.",
}


class SecondHalf:
    """What makes the functions of second halves, whose calls go by the same plans.

    Parameters
    ----------
    answer: what the results are to the user.

    A function's state ends with what belongs to the point it was made at, then the residuals.
    """

    name: str

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self.learner = Learner()

    def after(self, prepared: Prepared) -> Prepared:
        """Return the call of a first half with the value and the function as what it returns."""
        count = len(self._answer.types)
        return prepared._replace(results=Results(self._with_value, count, second=self))

    def _with_value(self, results: Sequence[Array]) -> Any:
        return self._answer.value(results), self.at(results)

    def at(self, results: Sequence[Array]) -> Callable[..., Any]:
        """Return the function at the point where the first half had these results."""
        raise NotImplementedError

    def value(self, results: Sequence[Any]) -> Any:
        """Return the value, of which the first results are the leaves."""
        return self._answer.value(results)

    def function(self, residuals: Sequence[Array], point: Any) -> Callable[..., Any]:
        """Return the function at a point."""
        run, state = functools.partial(_run, self), (point, *residuals)
        return door(self.learner.plans, run, self._owner, self.name, _DOCS[self.name], state)

    def _owner(self) -> Any:
        return self

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled: a function's state is a point's. Raises PickleError."""
        raise PickleError(
            f"a {self.name} keeps the values of one point, and is not sent to another process",
            help="send the function and the point, and ask for it there",
        )

    def make_door(self, plan: Plan, layout: CallLayout, residuals: int) -> None:
        """Have a plan make the function, of the last results."""
        state = state_of(self.learner.plans, self._owner, self._point(layout))
        run = functools.partial(_run, self)
        plan.make_door(definition(self.name, _DOCS[self.name]), run, state, residuals)

    def _point(self, layout: CallLayout) -> Any:
        """Return what belongs to a point, as far as that is of the shapes that a plan is for."""
        raise NotImplementedError

    def prepared(self, point: Any, residuals: Sequence[Array], args: tuple[Any, ...]) -> Prepared:
        """Return the call of a function with these arguments."""
        raise NotImplementedError

    def traced(self, point: Any, residuals: Sequence[Array], args: tuple[Any, ...]) -> Any:
        """Return what the function returns in the trace that calls it."""
        raise NotImplementedError


class Pullback(SecondHalf):
    """The function from the cotangent of the value to the cotangents of the arguments.

    Parameters
    ----------
    executable: the second half: of the residuals and the cotangents.
    """

    name = "pullback"

    def __init__(self, executable: Executable, answer: Answer) -> None:
        super().__init__(answer)
        self._executable = executable

    def at(self, results: Sequence[Array]) -> Callable[..., Any]:
        """Return the function at the point where the first half had these results."""
        count = len(self._answer.types)
        shapes = tuple([array.shape for array in results[:count] if array.dtype.kind == "f"])
        return self.function(results[count:], shapes)

    def _point(self, layout: CallLayout) -> Any:
        values = layout.outputs[: len(self._answer.types)]
        return tuple([shape for type_, shape in values if type_.dtype.is_float])

    def prepared(self, point: Any, residuals: Sequence[Array], args: tuple[Any, ...]) -> Prepared:
        """Return the call of a function with these arguments."""
        (cotangent,) = args
        leaves = self._answer.cotangents(cotangent)
        structure = self._answer.cotangent_structure(cotangent)
        floats = [type_ for type_ in self._answer.types if type_.dtype.is_float]
        pulled = []
        for leaf, type_, shape in zip(leaves, floats, point):
            array = as_direction("the cotangent", leaf)
            if array.shape != shape:
                raise ShapeError(f"the cotangent has shape {array.shape}, the value {shape}")
            pulled.append(array.astype(type_.dtype.numpy, copy=False))
        part = Part((0,), cotangent, structure, tuple(pulled), tuple(map(number_kind, leaves)))
        return Prepared(
            self._executable, None, _of_state(residuals), [part],
            Results(self._answer.nest, len(self._answer.types)),
            is_quick=structure is None or structure.leaves == len(pulled),
        )  # fmt: skip

    def traced(self, point: Any, residuals: Sequence[Array], args: tuple[Any, ...]) -> Any:
        """Return what the function returns in the trace that calls it."""
        from gradc.tracing.record.trace import inline  # which a trace has loaded

        (cotangent,) = args
        leaves = self._answer.cotangents(cotangent)
        function = self._executable.function
        found = inline(function, _seeds(function, residuals, leaves))
        return self._answer.nest(found)


class Linearized(SecondHalf):
    """The function from the tangents of the arguments to the tangent of the value.

    Parameters
    ----------
    executable: the second half, by the places of the tangents that it takes after the residuals.
    bound: the arguments, of which ``given`` were not left to their defaults.
    """

    name = "push"

    def __init__(
        self,
        executable: Callable[[tuple[int, ...]], Executable],
        answer: Answer,
        bound: Bound,
        given: int,
    ) -> None:
        super().__init__(answer)
        self._executable = executable
        # of the arguments only shapes and dtypes count
        leaves = tuple([np.broadcast_to(leaf.dtype.type(), leaf.shape) for leaf in bound.leaves])
        self._at = bound._replace(leaves=leaves, values=()), given

    def at(self, results: Sequence[Array]) -> Callable[..., Any]:
        """Return the function at the point where the first half had these results."""
        return self.function(results[len(self._answer.types) :], self._at)

    def _point(self, layout: CallLayout) -> Any:
        return self._at

    def _chosen(self, point: Any, tangents: tuple[Any, ...]) -> tuple[Executable, Any, Any]:
        bound, given = point
        wrt, pushed = push_tangents(bound, tangents, given)
        places: list[int] = []
        first = 0
        for position, span in enumerate(bound.spans):
            floats = sum(bound.leaves[leaf].dtype.kind == "f" for leaf in span)
            if position in wrt:
                places += range(first, first + floats)
            first += floats
        return self._executable(tuple(places)), wrt, pushed

    def prepared(self, point: Any, residuals: Sequence[Array], args: tuple[Any, ...]) -> Prepared:
        """Return the call of a function with these arguments."""
        executable, wrt, pushed = self._chosen(point, args)
        parts, others, is_quick = pushed_parts(point[0], args, pushed, ())
        return Prepared(
            executable, None, _of_state(residuals), parts,
            Results(self._answer.nest, len(self._answer.types)), others,
            static=wrt, is_quick=is_quick,
        )  # fmt: skip

    def traced(self, point: Any, residuals: Sequence[Array], args: tuple[Any, ...]) -> Any:
        """Return what the function returns in the trace that calls it."""
        from gradc.tracing.record.trace import inline  # which a trace has loaded

        bound = point[0]
        wrt = tuple(i for i, tangent in enumerate(args) if tangent is not None)
        zeros = tuple(
            None if i not in wrt else bound.nests(list(map(np.zeros_like, bound.leaves)))[i]
            for i in range(len(args))
        )
        executable, _, _ = self._chosen(point, zeros)
        leaves = [leaf for i in wrt for leaf in flags.flatten(args[i])[0]]
        function = executable.function
        return self._answer.nest(inline(function, _seeds(function, residuals, leaves)))


def _run(half: SecondHalf, state: tuple[Any, ...], /, *args: Any) -> Any:
    point, residuals = state[OWN_STATE], state[OWN_STATE + 1 :]
    try:
        if is_tracing():
            return half.traced(point, residuals, args)
        call = Call(half.learner, args, {}, cells.version())
        return call.answer(half.prepared(point, residuals, args))
    except Exception as error:
        __tracebackhide__ = True
        raise cut(error)  # noqa: B904 - it is the same error


def residuals(function: Any) -> tuple[Array, ...]:
    """Return what a pullback or a linearised function has kept of the first half."""
    bound: Any = getattr(function, "__self__", None)
    state = function.args[0] if bound is None else bound.__self__
    return tuple(state[OWN_STATE + 1 :])


def _of_state(residuals: Sequence[Array]) -> list[Part]:
    """Return the residuals as parts of a call, which are in the state of the function."""
    return [
        Part(("state", OWN_STATE + 1 + i), array, None, (np.asarray(array),), (None,))
        for i, array in enumerate(residuals)
    ]


def _seeds(function: Any, residuals: Sequence[Array], given: Sequence[Any]) -> list[Any]:
    """Return residuals and tangents as values of the running trace, of the types they must have."""
    from gradc.tracing.core.as_tracer import as_tracer
    from gradc.tracing.core.tracer import read
    from gradc_ir import build

    values = [read(as_tracer(array.copy())) for array in residuals]
    for leaf, type_ in zip(given, function.param_types[len(values) :], strict=True):
        value = read(as_tracer(leaf))
        if value.type.shape != type_.shape:
            raise ShapeError(f"a tangent or cotangent is {value.type}, wanted {type_}")
        values.append(build.cast(value, type_.dtype))
    return values
