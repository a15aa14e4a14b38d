"""Transforms as functions of functions: nestable, usable in traced code, compiled for numbers.

Called with numbers, ``gradc.grad(fn)`` compiles; called inside a function that is being traced, it
builds the derivative's graph there, so ``grad(grad(fn))`` and a gradient inside a loss just work.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, cast

from gradc.api import nested_transforms
from gradc.api.compile import compiled
from gradc.api.compiled import Compiled
from gradc.api.typed import Answers, P, R
from gradc.arguments import flags, pytree
from gradc.calls.derivation import Derivation, array_classes
from gradc.calls.outputs import assigned
from gradc.calls.policies import Policies, groups_of, summed_by_group
from gradc.calls.preconditions import check_mode
from gradc.calls.signature import Parameters, Wrt, choose_wrt, is_variable, listed
from gradc.calls.tangents import as_tuple, hvp_arguments
from gradc.parallel.by_value import Travels
from gradc.runtime.bound_call import BoundCall
from gradc.runtime.quick_call import UNTOLD, Call, CalledByAttribute, quick_call
from gradc.traceback import boundary
from gradc.tracing import current
from gradc_ir.errors import NonFiniteError, TraceError
from gradc_ir.forks import lock_across_forks

Function_ = Callable[..., Any]


def grad(
    fn: Callable[P, Any],
    wrt: Wrt | None = None,
    has_aux: bool = False,
    *,
    argnums: Wrt | None = None,
    **policies: str,
) -> Answers[P, Any]:
    """Return the function of the gradient of a scalar-valued function.

    ``wrt`` is a position, a parameter's name, or a tuple of them (``argnums`` is accepted); the
    gradient has the nest of what it is with respect to. With ``has_aux`` the function returns
    ``(value, aux)`` and the new one ``(gradient, aux)``. Raises ShapeError when the value is not a
    scalar, DTypeError when value or argument is not floating point.

    ``policies``, here and for value_and_grad, jvp and vjp, say what to do about derivatives that
    are no plain numbers: ``unconnected="zero"``, ``"none"`` or ``"raise"`` where the value does not
    depend on an argument, ``nonfinite="propagate"``, ``"zero"`` or ``"raise"``,
    ``aliases="distinct"`` or ``"same"`` for one array given twice, ``int_args="raise"`` or
    ``"float"``; PolicyError is raised for others. See :class:`gradc.calls.policies.Policies`.
    """
    if has_aux:
        both = value_and_grad(fn, wrt, has_aux, argnums=argnums, **policies)
        return cast(Answers[P, Any], _GradientAndAux(both))
    return _Derivative(
        fn, Derivation("grad", _either(wrt, argnums), policies=Policies.of(policies))
    )


def value_and_grad(
    fn: Callable[P, R],
    wrt: Wrt | None = None,
    has_aux: bool = False,
    *,
    argnums: Wrt | None = None,
    **policies: str,
) -> Answers[P, tuple[R, Any]]:
    """Return the function of ``(value, gradient)``, with has_aux ``((value, aux), gradient)``."""
    wrt, chosen = _either(wrt, argnums), Policies.of(policies)
    asked = Derivation("value_and_grad", wrt, has_aux=has_aux, policies=chosen)
    return _Derivative(fn, asked)


def jacobian(
    fn: Callable[P, Any], wrt: Wrt | None = None, mode: str = "auto", *, argnums: Wrt | None = None
) -> Answers[P, Any]:
    """Return the function of the Jacobian: shape of the value followed by shape of the argument.

    ``mode`` is ``"forward"``, ``"reverse"`` or ``"auto"`` (the one with fewer seeds). What the
    function returns that is not floating point has None in its place.
    """
    check_mode(mode)
    return _Derivative(fn, Derivation("jacobian", _either(wrt, argnums), mode))


def hessian(
    fn: Callable[P, Any], wrt: Wrt | None = None, *, argnums: Wrt | None = None
) -> Answers[P, Any]:
    """Return the function of the Hessian of a scalar: the argument's shape twice."""
    return _Derivative(fn, Derivation("hessian", _either(wrt, argnums)))


def _either(wrt: Wrt | None, argnums: Wrt | None) -> Wrt:
    return choose_wrt(wrt, {} if argnums is None else {"argnums": argnums})


@boundary
def hvp(fn: Function_, args: Any, vector: Any, *rest: Any, wrt: Wrt | None = None) -> Any:
    """Return the Hessian of a scalar-valued function at ``args`` times ``vector``.

    ``args`` is the tuple of arguments, or the first of them, and ``rest`` the others.
    """
    args, wrt = hvp_arguments("gradc.hvp", args, rest, wrt)
    if current() is None:
        return compiled(fn).hvp(args, vector, wrt=wrt)
    return nested_transforms.hvp(fn, Derivation("hvp", wrt), args, vector)


@boundary
def jvp(
    fn: Callable[..., R],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    wrt: Wrt | None = None,
    **policies: str,
) -> tuple[R, R]:
    """Return ``(value, tangent)``: forward mode. Both are tuples; None is a zero tangent.

    There is one tangent for each primal, or with ``wrt`` one for each of its entries. ``policies``
    are those of :func:`grad`.
    """
    wrt = None if wrt is None else choose_wrt(wrt, {})
    asked = Derivation("jvp", wrt, policies=Policies.of(policies))
    if asked.joins_aliases and wrt is None:
        primals, tangents = as_tuple(primals, "primals"), as_tuple(tangents, "tangents")
        tangents = _together(primals, tangents)
    if current() is not None:
        return nested_transforms.jvp(fn, asked, primals, tangents)
    found: tuple[Any, Any] = _counted(
        fn, asked, lambda form: UNTOLD.answer(form.pushed(asked, primals, tangents))
    )[0]
    return found


@boundary
def vjp(
    fn: Callable[..., R], *args: Any, wrt: Wrt | None = None, **policies: str
) -> tuple[R, Callable[[Any], Any]]:
    """Return ``(value, pullback)``; ``pullback(cotangent)`` is a tuple, one per argument.

    With ``wrt`` it returns what that asks for. ``policies`` are those of :func:`grad`. Integers
    have no cotangent, which is None.
    """
    wrt = None if wrt is None else choose_wrt(wrt, {})
    asked = Derivation("vjp", wrt, policies=Policies.of(policies))
    if asked.joins_aliases:
        by = tuple(range(len(args))) if wrt is None else wrt
        asked = asked.grouped(_asked_leaves(fn, args, {}, by))
    if current() is not None:
        return nested_transforms.vjp(fn, asked, args)
    form = compiled(fn)
    if asked.policies is None and "wrt" not in form._parameters.names:
        plain: tuple[Any, Function_] = form.vjp(*args, wrt=asked.wrt)
        return plain
    value, pullback = UNTOLD.answer(form.pulled(asked, args, {}))

    if asked.policies is None:
        return value, pullback

    def pull(cotangent: Any) -> Any:
        def pulled(one: Compiled[..., Any]) -> Any:
            again = pullback if one is form else UNTOLD.answer(one.pulled(asked, args, {}))[1]
            return again(cotangent)

        return _counted(form, asked, pulled)[0]

    return value, pull


@boundary
def linearize(fn: Callable[..., R], *args: Any) -> tuple[R, Callable[..., R]]:
    """Return ``(value, push)``; ``push(*tangents)`` is the tangent of the value here.

    The values that the tangents need are computed once. None is a zero tangent, which stays zero
    where the derivative by its argument is not finite. Integers have no tangent: that of an
    argument is None or zeros, else it is a DTypeError; that of a value is None.
    """
    if current() is not None:
        return nested_transforms.linearize(fn, args)
    found: tuple[Any, Function_] = compiled(fn).linearize(*args)
    return found


class _GradientAndAux(Travels):
    """The gradient of a function of ``(value, aux)``, and aux."""

    __gradc_parts__: ClassVar = ("both",)

    def __init__(self, both: Function_) -> None:
        functools.update_wrapper(self, both, updated=())
        self.both = both

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return ``(gradient, aux)``."""
        (_, aux), gradient = self.both(*args, **kwargs)
        return gradient, aux

    def __gradc_pickled__(self) -> Any:
        """Return the function that has both."""
        return self.both

    def __setstate__(self, both: Function_) -> None:
        """Become what was pickled."""
        _GradientAndAux.__init__(self, both)


class _Derivative(Travels, CalledByAttribute):
    """A derivative of a function as a function of the same parameters.

    Attributes
    ----------
    replaced: how many elements ``nonfinite="zero"`` has replaced in calls with numbers.
    """

    __gradc_parts__: ClassVar = ("fn", "_asked")

    def __init__(self, fn: Function_, asked: Derivation) -> None:
        if not callable(fn):
            raise TraceError(
                f"gradc.{asked.of} takes a function, not {type(fn).__name__}",
                help=f"write gradc.{asked.of}(fn)(x) instead of gradc.{asked.of}(fn(x))",
            )
        functools.update_wrapper(self, fn)
        self.fn = fn
        self.replaced = 0
        self._asked = asked
        self._compiled: Compiled[..., Any] | None = None
        self._lock = lock_across_forks()
        again = functools.partial(_Derivative, fn, asked)
        self.__call__, self._learner = quick_call(
            self, _Derivative._answer, again, "__call__", called=True
        )

    def __gradc_pickled__(self) -> Any:
        """Return the function and what is asked of it."""
        return self.fn, self._asked

    def __setstate__(self, parts: Any) -> None:
        """Become what was pickled."""
        _Derivative.__init__(self, *parts)

    def bind(self, /, *args: Any, **kwargs: Any) -> BoundCall[Any]:
        """Return a function without parameters that calls this; see the ``bind`` of a function."""
        if self._asked.policies is not None:
            raise TraceError(
                "a derivative under policies cannot be bound",
                help="bind one without, or call it",
            )
        return BoundCall(self, _Derivative._prepared, args, kwargs)

    def _prepared(self, call: Call, /, *args: Any, **kwargs: Any) -> Any:
        if self._compiled is None:
            self._compiled = compiled(self.fn)
        return self._compiled.answered(self._asked, call, args, kwargs)

    def _answer(self, call: Call, args: Any, kwargs: dict[str, Any]) -> Any:
        """Return the derivative at these arguments, and tell how."""
        if current() is not None:
            return self.__gradc_trace__(*args, **kwargs)
        if self._asked.policies is None:
            return call.answer(self._prepared(call, *args, **kwargs))
        if self._compiled is None:
            self._compiled = compiled(self.fn)
        asked = self._asked_of(args, kwargs)
        found, replaced = _counted(
            self._compiled, asked, lambda form: form.derivative(asked, args, dict(kwargs), call)
        )
        with self._lock:
            self.replaced += replaced
        return found

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the derivative in the trace that calls it."""
        out = kwargs.pop("out", None) if "out" not in Parameters(self.fn).names else None
        asked = self._asked_of(args, kwargs)
        found = nested_transforms.derivative(self.fn, asked, args, kwargs)
        return assigned(out, found)

    def _asked_of(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Derivation:
        """Return what is asked, with arrays that are the same one in these arguments together."""
        if not self._asked.joins_aliases:
            return self._asked
        return self._asked.grouped(_asked_leaves(self.fn, args, kwargs, self._asked.wrt))


# -- policies --------------------------------------------------------------------------------------


def _counted(
    fn: Function_, asked: Derivation, run: Callable[[Compiled[..., Any]], Any]
) -> tuple[Any, int]:
    """Return a derivative of a compiled function, and how many of its elements were not finite.

    ``run`` computes it, with the count where there are policies. Raises NonFiniteError under that
    policy.
    """
    form = compiled(fn)
    if asked.policies is None:
        return run(form), 0
    found, count = run(form)
    if count and asked.policies.nonfinite == "raise":
        run(form.finite)  # which knows the op and the line
        raise NonFiniteError("a derivative is not finite")
    return found, int(count)


def _asked_leaves(
    fn: Function_, args: Sequence[Any], kwargs: dict[str, Any], wrt: Wrt | None
) -> list[Any]:
    """Return the leaves of the arguments that are differentiated by, a variable as one leaf."""
    parameters = Parameters(fn)
    found: list[Any] = []
    for entry in listed(wrt):
        if is_variable(entry):
            found.append(entry)
            continue
        pairs = parameters.pairs(args, kwargs, entry)
        (position,) = parameters.positions(entry, pairs)
        found += flags.leaves(pairs.dynamic[position][1])
    return found


def _together(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, ...]:
    """Return the tangents, with the sum of those of one array wherever that is given."""
    padded = (*tangents, *(None for _ in primals[len(tangents) :]))
    leaves = [pytree.flatten(primal) for primal in primals]
    given = [
        pytree.leaves_like(tangent, structure) for tangent, (_, structure) in zip(padded, leaves)
    ]
    if any(part is None for part in given):
        return tuple(tangents)  # of another nest, which is an error to be found later
    groups = groups_of([leaf for found, _ in leaves for leaf in found], array_classes())
    summed = iter(summed_by_group([leaf for part in given for leaf in part or []], groups))
    together: list[Any] = []
    for found, structure in leaves:
        parts = [next(summed) for _ in found]
        filled = [0.0 * leaf if part is None else part for leaf, part in zip(found, parts)]
        whole = any(part is not None for part in parts)
        together.append(pytree.unflatten(structure, filled) if whole else None)
    return tuple(together)
