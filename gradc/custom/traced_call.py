"""Tracing one call of a function that brings its own derivatives, into one ``call`` node."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from gradc.arguments import pytree
from gradc.autodiff import zeros
from gradc.control.leaf_types import LeafType, leaf_type_of, tracers_of
from gradc.custom.call_nodes import attributes_of
from gradc.custom.rule_arguments import (
    AnyFunction,
    Arguments,
    counted,
    line_of,
    signature_of,
    takes,
)
from gradc.tracing import Subtrace, Tracer, call, subtrace, tracer_of, value_of
from gradc.tracing.checks.checks import refuse_in_rule
from gradc.tracing.core.state import running
from gradc.tracing.core.tracer import make_view, root
from gradc.tracing.core.views import Returned
from gradc.tracing.record.debug_print import refuse_prints
from gradc_ir import build, ops
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Shape
from gradc_ir.core.types import DType, Type
from gradc_ir.core.walk import nested
from gradc_ir.errors import GradientArityError, RuleError, ShapeError, TraceError

# How often the rules of a function that use it are traced, one within the other: the highest order
# of a derivative through such a rule. Functions of the same code count as the same: a helper makes
# another one each time it is called, and a rule that calls the helper never comes to an end.
MOST_WITHIN = 4
_within: ContextVar[tuple[Any, ...]] = ContextVar("gradc_rules_within", default=())


# Calls of functions of C in one call's rules, so that equal ones are traced once.
_known: ContextVar[dict[Any, Any] | None] = ContextVar("gradc_known_calls", default=None)

_WHY_FIXED = (
    "it is an argument of a function with derivatives of its own: assign to a copy, x = x.copy(), "
    "and return it"
)


@dataclass
class Rules:
    """The derivatives a user gave; a function that returns one beside its value has no ``vjp``."""

    __gradc_parts__: ClassVar = ("vjp", "jvp", "partials")

    vjp: AnyFunction | None = None
    jvp: AnyFunction | None = None
    partials: AnyFunction | None = None

    @property
    def given(self) -> bool:
        """Whether there is any."""
        return any((self.vjp, self.jvp, self.partials))


def value_and_gradient(
    function: AnyFunction, name: str, rules: Rules, found: Any
) -> tuple[Any, AnyFunction | None]:
    """Return the value a function returned, and the gradient function it may have returned too."""
    if isinstance(found, tuple) and len(found) == 2 and callable(found[1]):
        if rules.vjp is not None:
            raise RuleError(
                f"{name} returns a gradient function, and has another one by def_vjp",
                at=line_of(function),
                help="return the value alone",
            )
        return found
    if rules.given:
        return found, None
    raise TraceError(
        f"{name} has to return its value and a gradient function",
        at=line_of(function),
        found=f"it returned a {type(found).__name__}",
        help="end with `return value, gradient` where `def gradient(upstream): ...`, or give it "
        f"a rule with @{name}.def_vjp, @{name}.def_jvp or @{name}.def_partials",
    )


def _code_of(function: AnyFunction) -> Any:
    """Return the code of a function, or of the one in a partial; what has none is its own."""
    return getattr(getattr(function, "func", function), "__code__", function)


class TracedCall:
    """A call, in the running trace, of a function with derivatives of its own.

    Parameters
    ----------
    function: what computes the value, and perhaps returns a gradient function beside it.
    name: what errors and the graph call it.
    rules: the other derivatives.
    arguments: those of the call.
    """

    def __init__(
        self, function: AnyFunction, name: str, rules: Rules, arguments: Arguments
    ) -> None:
        self.function = function
        self.name = name
        self.rules = rules
        self.arguments = arguments
        self.returns_gradient = False
        self.calls_c = False
        self.covers_variables = True
        self.leaf_types: list[LeafType] = []
        self.shared: list[Tracer | int | None] = []

    def build(self) -> tuple[Any, Mapping[str, Any]]:
        """Return the value, a nest of tracers, and the attributes of the node it comes from."""
        given = [self.arguments.leaves[i] for i in self.arguments.traced]
        known = _known.get()
        if known is None:
            token = _known.set({})
            try:
                return self._build(given)
            finally:
                _known.reset(token)
        key = self._key(given)
        if key is None:
            return self._build(given)
        if key in known:
            made, tree, self.leaf_types, self.shared = known[key]
            made = {**made, "operands": [value_of(x) for x in given]}
            return self._results(made, tree), made
        value, made = self._build(given)
        alone = len(made["operands"]) == len(given)
        if self.calls_c and alone and not any(isinstance(x, Tracer) for x in self.shared):
            known[key] = made, pytree.flatten(value)[1], self.leaf_types, self.shared
        return value, made

    def _key(self, given: Sequence[Any]) -> Any:
        """Return what the attributes of a call depend on that has no arrays from outside.

        None where that is not known. Rules that use their function twice would be traced four times
        at the second order, eight times at the third.
        """
        within = _within.get().count(_code_of(self.function))
        if not within or not all(isinstance(leaf, Tracer) for leaf in given):
            return None
        traced = set(self.arguments.traced)
        others = [leaf for i, leaf in enumerate(self.arguments.leaves) if i not in traced]
        types = [(leaf.type, leaf._weak, leaf.forms, leaf.scalar) for leaf in given]
        if not all(isinstance(leaf, int | str | None) for leaf in others):
            return None
        structures = tuple(self.arguments.structures)
        return self.function, id(self.rules), within, structures, tuple(types), tuple(others)

    def _results(self, made: Mapping[str, Any], tree: Any) -> Any:
        results = map(self._result, build.call(**made), self.leaf_types, self.shared)
        return pytree.unflatten(tree, results)

    def _build(self, given: Sequence[Any]) -> tuple[Any, Mapping[str, Any]]:
        body = subtrace(self._value, given)
        self.calls_c = any(node.op is ops.external for _, node in nested(body.function))
        variables = [tracer_of(value) for value in body.captured]
        seeds = [tracer_of(zeros.zeros(type_)) for type_ in body.function.result_types]
        known = [*given, *variables]
        vjp = jvp = None
        self.covers_variables = not variables or self.rules.partials is None
        within = _within.get()
        # a rule may use its own function, of which a derivative of finite order needs so many
        own = _code_of(self.function)
        ends = sum(code is own for code in within) >= MOST_WITHIN
        token = _within.set((*within, own))
        try:
            if not ends and (self.returns_gradient or self.rules.vjp is not None):
                pull = functools.partial(self._pull, len(given), len(variables), body.out_tree)
                vjp = subtrace(pull, (*known, *seeds))
            if not ends and (self.rules.jvp is not None or self.rules.partials is not None):
                tangents = [tracer_of(zeros.zeros(value_of(x).type)) for x in known]
                push = functools.partial(self._push, len(given), len(variables), body)
                jvp = subtrace(push, (*known, *tangents))
        finally:
            _within.reset(token)
        made = attributes_of(
            self.name,
            self.arguments.paths(),
            body,
            vjp,
            jvp,
            line=line_of(self.function),
            covers_variables=self.covers_variables,
        )
        return self._results(made, body.out_tree), made

    def _result(self, value: Value, leaf_type: LeafType, shared: Tracer | int | None) -> Tracer:
        """Return a tracer of a result; ``shared``: the array, or argument, whose memory it has."""
        if isinstance(shared, int):
            shared = self.arguments.leaves[self.arguments.traced[shared]]
        if isinstance(shared, Tracer):
            return make_view(shared, Returned(value), value.type.shape)
        return tracers_of([value], [leaf_type])[0]

    def _run(self, leaves: Sequence[Any]) -> tuple[Any, AnyFunction | None]:
        """Call the function on its arguments, with other tracers in place of the traced leaves."""
        for leaf in leaves:
            leaf._why_fixed = _WHY_FIXED
        args, kwargs = self.arguments.call_form(leaves)
        found = call(self.function, *args, **kwargs)
        return value_and_gradient(self.function, self.name, self.rules, found)

    def _value(self, *leaves: Any) -> Any:
        value, gradient = self._run(leaves)
        self.returns_gradient = gradient is not None
        owners = {id(leaf): i for i, leaf in enumerate(leaves)}
        results = pytree.flatten(value)[0]
        self.leaf_types = [leaf_type_of(result) for result in results]
        self.shared = [
            owners.get(id(root(x)), None if root(x)._trace is running() else root(x))
            if isinstance(x, Tracer) and not x.scalar
            else None
            for x in results
        ]
        return value

    def _pull(self, count: int, variables: int, tree: Any, *leaves: Any) -> list[Any]:
        """Return one gradient a traced leaf, then one a variable.

        The function runs again, so that what the gradient reads of it is expressed in this trace.
        """
        given = leaves[:count]
        outside = leaves[count : count + variables]
        upstream = pytree.unflatten(tree, leaves[count + variables :])
        rule = self.rules.vjp
        if rule is None:
            _, rule = self._run(given)
            assert rule is not None
            running().prints.clear()  # the value prints them
            args = tuple(upstream) if type(upstream) in (tuple, list) else (upstream,)
            kwargs: dict[str, Any] = {}
        else:
            args, kwargs = self._for_rule(rule, upstream, given)
        found, of_variables = self._with_variables(rule, args, kwargs, outside)
        refuse_prints()
        refuse_in_rule()
        wanted = [*self.arguments.by_leaf(rule, found), *of_variables]
        types = [leaf.type for leaf in (*given, *outside)]
        return [self._fit(rule, one, type_) for one, type_ in zip(wanted, types, strict=True)]

    def _push(self, count: int, variables: int, body: Subtrace, *leaves: Any) -> list[Any]:
        """Return one tangent a result."""
        given = leaves[:count]
        outside = leaves[count : count + variables]
        pushed = [_as_float(tangent) for tangent in leaves[count + variables :]]
        types = body.function.result_types
        if self.rules.jvp is None:
            return [self._by_partials(given, pushed[:count], types)]
        rule = self.rules.jvp
        spread = self.arguments.nests(pushed[:count], [None] * len(self.arguments.leaves))
        tangents = tuple(spread)
        if takes(rule, "variables"):
            tangents = (*spread, pushed[count:])
        elif variables:
            self.covers_variables = False
        args, kwargs = self._for_rule(rule, tangents, given)
        if takes(rule, "variables"):
            kwargs["variables"] = list(outside) or None
        found = call(rule, *args, **kwargs)
        refuse_prints()
        refuse_in_rule()
        flat = pytree.leaves_like(found, body.out_tree)
        if flat is None:
            raise RuleError(
                f"the tangent of {self.name} has another nest than its value",
                at=line_of(rule),
                help="return the tangent in the nest of the value",
            )
        return [self._fit(rule, one, type_) for one, type_ in zip(flat, types, strict=True)]

    def _by_partials(
        self, given: Sequence[Any], tangents: Sequence[Any], types: Sequence[Type]
    ) -> Any:
        """Return the sum over arguments of partial times tangent."""
        rule = self.rules.partials
        assert rule is not None
        if len(types) != 1:
            raise RuleError(
                f"{self.name} has {len(types)} results: partials are of one",
                at=line_of(rule),
                help=f"give it @{self.name}.def_jvp instead",
            )
        args, kwargs = self._for_rule(rule, _NOTHING, given)
        found = self.arguments.by_leaf(rule, call(rule, *args, **kwargs), "partial")
        refuse_prints()
        refuse_in_rule()
        total: Any = None
        for partial, tangent in zip(found, tangents, strict=True):
            if partial is not None:
                term = partial * tangent
                total = term if total is None else total + term
        return self._fit(rule, total, types[0])

    def _for_rule(
        self, rule: AnyFunction, first: Any, given: Sequence[Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a rule: what it is about, the inputs, ``output`` if it asks."""
        args, kwargs = self.arguments.call_form(given)
        if takes(rule, "output") and "output" not in self.arguments.names:
            kwargs["output"] = self._output(given)
            running().prints.clear()
        args = [*(() if first is _NOTHING else (first,)), *args]
        try:
            later = {"variables": None} if takes(rule, "variables") else {}
            signature_of(rule).bind(*args, **kwargs, **later)
        except TypeError as error:
            raise RuleError(
                f"the rule of {self.name} does not take what it is given: {error}",
                at=line_of(rule),
                found=f"it is given {'' if first is _NOTHING else 'what it is about, then '}"
                f"{', '.join(self.arguments.names)}",
            ) from None
        return tuple(args), kwargs

    def _output(self, given: Sequence[Any]) -> Any:
        """Return the value for a rule: by what the function does, which has derivatives of its own.

        What C does has none. There it is a call with the rules again, as if the rule had made it.
        """
        if not self.calls_c:
            return self._run(given)[0]
        args, kwargs = self.arguments.call_form(given)
        again = Arguments(self.arguments.function, self.name, args, kwargs, defaults=False)
        return TracedCall(self.function, self.name, self.rules, again).build()[0]

    def _with_variables(
        self, rule: AnyFunction, args: Sequence[Any], kwargs: dict[str, Any], outside: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        if not takes(rule, "variables"):
            self.covers_variables = self.covers_variables and not outside
            return call(rule, *args, **kwargs), [None] * len(outside)
        found = call(rule, *args, **kwargs, variables=list(outside) or None)
        if not outside and not _is_pair_without_variables(found):
            return found, []
        if not isinstance(found, tuple) or len(found) != 2:
            raise self.arguments.wrong_count(rule, found, "(gradients, gradients of the variables)")
        gradients, listed = found
        listed = list(listed or ())
        if len(listed) != len(outside):
            raise GradientArityError(
                f"the gradient of {self.name} returned {counted(len(listed), 'gradient')} of "
                f"variables, but {self.name} reads {counted(len(outside), 'array')} from outside",
                at=line_of(rule),
                help="return one gradient for each of `variables`, in their order",
            )
        return gradients, listed

    def _fit(self, rule: AnyFunction, found: Any, type_: Type) -> Tracer:
        """Return a derivative in its type: None is zero, a number is spread."""
        if found is None or not type_.dtype.is_float:
            return tracer_of(zeros.zeros(type_))
        value = value_of(found)
        if isinstance(self.function, np.ufunc):
            value = _summed_to(value, type_.shape)
        if value.type.shape != type_.shape:
            if value.type.shape:
                raise ShapeError(
                    f"the gradient of {self.name} has the wrong shape",
                    at=line_of(rule),
                    found=f"{value.type} for an argument of type {type_}",
                    help="sum over the axes along which the argument was broadcast",
                )
            value = build.broadcast_to(value, type_.shape)
        return tracer_of(build.cast(value, type_.dtype))


_NOTHING = object()


def _summed_to(value: Value, shape: Shape) -> Value:
    """Return the sum over the axes along which a ufunc broadcast an argument of this shape."""
    more = value.type.rank - len(shape)
    if more < 0:
        return value
    spread = [i for i, size in enumerate(shape, more) if size == 1 != value.type.shape[i]]
    axes = (*range(more), *spread)
    kept = tuple(value.type.shape[i] for i in range(more, value.type.rank) if i not in spread)
    if not axes or kept != tuple(size for i, size in enumerate(shape, more) if i not in spread):
        return value
    return build.reshape(build.reduce_sum(value, axes), shape)


def _as_float(tangent: Tracer) -> Tracer:
    """Return a tangent; of what is no float it is a zero that can be multiplied."""
    if tangent.type.dtype.is_float:
        return tangent
    return tracer_of(zeros.zeros(tangent.type.with_dtype(DType.F64)))


def _is_pair_without_variables(found: Any) -> bool:
    """Whether a gradient is followed by an empty list, of the gradients of no variables."""
    if not isinstance(found, tuple) or len(found) != 2:
        return False
    return isinstance(found[1], tuple | list) and not found[1]
