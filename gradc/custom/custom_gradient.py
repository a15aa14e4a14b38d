"""Derivatives of one's own for a function: ``custom_gradient`` and the rules it is given."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, TypeVar, overload

from gradc.custom.check_rules import check_at, check_rules
from gradc.custom.rule_arguments import Arguments
from gradc.custom.sympy_functions import numpy_function, parameters_of
from gradc.custom.traced_call import Rules, TracedCall, value_and_gradient
from gradc.parallel.by_value import Travels
from gradc.tracing import call, current
from gradc.tracing.core.stand_ins import busy, overrides_for
from gradc_ir.errors import RuleError, TraceError

AnyFunction = Callable[..., Any]
Rule = TypeVar("Rule", bound=AnyFunction)


class CustomGradient(Travels):
    """A function with derivatives of its own; see :func:`custom_gradient`.

    Parameters
    ----------
    function: what computes the value, and perhaps returns a gradient function beside it.
    name: what it is called in graphs and errors, by default as the function is.
    check: whether its rules are verified wherever it is traced, and where it is called.
    defaults: whether rules are given the defaults of arguments that a caller leaves out.
    needs_rules: whether it is an error to have no rule; else it is then part of its caller.
    """

    __gradc_parts__: ClassVar = (
        "__wrapped__",
        "name",
        "check",
        "_defaults",
        "_needs_rules",
        "_rules",
    )

    def __init__(
        self,
        function: AnyFunction,
        name: str | None = None,
        *,
        check: bool = False,
        defaults: bool = True,
        needs_rules: bool = True,
    ) -> None:
        functools.update_wrapper(self, function)
        self.name = name if name is not None else str(getattr(function, "__name__", "function"))
        self.__wrapped__ = function
        self.check = check
        self._defaults = defaults
        self._needs_rules = needs_rules
        self._rules = Rules()
        self._is_used = False

    # -- rules -------------------------------------------------------------------------------------

    def def_vjp(self, rule: Rule) -> Rule:
        """Give the function its reverse rule; a decorator, which returns the rule.

        ``rule(upstream, *inputs)`` takes the cotangent of the value, in its nest, and the inputs,
        bound by the function's signature, defaults included, to one gradient for each input. Of a
        parameter ``output`` it is given the value, of ``variables`` the arrays the function reads
        from outside; it then returns ``(gradients, gradients of the variables)``. Raises RuleError
        when there is such a rule already, or the function has been traced.
        """
        self._define("vjp", rule)
        return rule

    def def_jvp(self, rule: Rule) -> Rule:
        """Give the function its forward rule; a decorator, which returns the rule.

        ``rule(tangents, *inputs)`` takes a tuple with the tangent of each input, in its nest, and
        the inputs, bound as for :meth:`def_vjp`, to the tangent of the value, in its nest. Of a
        parameter ``output`` it is given the value; of ``variables`` the arrays the function reads
        from outside, whose tangents are then a list at the end of ``tangents``. Raises RuleError as
        :meth:`def_vjp` does.
        """
        self._define("jvp", rule)
        return rule

    def def_partials(self, *partials: Any) -> Any:
        """Give an elementwise function its partial derivatives, one for each input.

        Either a function, ``rule(*inputs)``, with the value as ``output`` if it asks, that returns
        them (also as a decorator), or SymPy expressions, whose symbols are the inputs by name. Both
        modes follow. Raises RuleError as :meth:`def_vjp` does, and for what is neither.
        """
        if (
            len(partials) == 1
            and callable(partials[0])
            and not hasattr(partials[0], "free_symbols")
        ):
            return self._define("partials", partials[0])
        names = parameters_of(self.__wrapped__)
        if len(partials) != len(names):
            raise RuleError(
                f"{self.name}: {len(partials)} partial derivatives for {len(names)} arguments",
                found=f"its arguments: {', '.join(names)}",
                help="give one expression for each argument, in their order",
            )
        self._define("partials", numpy_function(partials, names, f"the partials of {self.name}"))
        return self

    def _define(self, kind: str, rule: Any) -> None:
        if not callable(rule):
            raise RuleError(
                f"{self.name}: a rule is a function, not a {type(rule).__name__}",
                help=f"write @{self.name}.def_{kind} above a function",
            )
        same = ("jvp", "partials") if kind != "vjp" else ("vjp",)
        if any(getattr(self._rules, one) is not None for one in same):
            raise RuleError(f"{self.name} has a {kind} rule already", help="define only one")
        if self._is_used:
            raise RuleError(
                f"{self.name} has been traced: another rule would change what is compiled",
                help=f"define its rules right below {self.name}",
            )
        setattr(self._rules, kind, rule)

    def unchecked(self) -> CustomGradient:
        """Return a function with the same rules that does not check them."""
        made = CustomGradient(self.__wrapped__, self.name, defaults=self._defaults)
        made._rules = self._rules
        return made

    # -- calls -------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's value; computed by NumPy when nothing is being traced."""
        if current() is not None:
            return self.__gradc_trace__(*args, **kwargs)
        if self.check:
            check_at(self.unchecked().__gradc_trace__, args, kwargs)
        found = self.__wrapped__(*args, **kwargs)
        if not self._rules.given and not self._needs_rules:
            return found
        return value_and_gradient(self.__wrapped__, self.name, self._rules, found)[0]

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build one ``call`` node in the trace that calls the function."""
        override = overrides_for(self)
        if override is not None:
            return override.__gradc_trace__(*args, **kwargs)
        self._is_used = True
        # what stands for a function of NumPy may use that function itself
        token = busy.set((*busy.get(), self))
        try:
            if not self._rules.given and not self._needs_rules:
                return call(self.__wrapped__, *args, **kwargs)
            function, name = self.__wrapped__, self.name
            arguments = Arguments(function, name, args, kwargs, defaults=self._defaults)
            value, node = TracedCall(function, name, self._rules, arguments).build()
        finally:
            busy.reset(token)
        if self.check:
            check_rules(node)
        return value

    def __gradc_pickled__(self) -> Any:
        """Return the function with its rules, as one that has not been traced."""
        return {**vars(self), "_is_used": False}

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method."""
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<gradc.custom_gradient {self.name}>"


@overload
def custom_gradient(function: AnyFunction, /) -> CustomGradient: ...


@overload
def custom_gradient(
    function: None = None, /, *, check: bool = False
) -> Callable[[AnyFunction], CustomGradient]: ...


@overload
def custom_gradient(function: AnyFunction, /, *, check: bool = False) -> CustomGradient: ...


def custom_gradient(function: Any = None, /, *, check: bool = False) -> Any:
    """Give a function derivatives of its own; a decorator, with or without arguments.

    Either in the form of ``tf.custom_gradient``: ``function(*args)`` returns ``(value, gradient)``,
    and ``gradient(*upstream)`` takes the cotangent of the value (one for each element when the
    value is a tuple or a list, each in the nest of its element) to one gradient for each argument,
    in its nest, or to a flat list of leaves; None is zero, and a number is the gradient of every
    element. Or the function returns its value alone, and has rules: ``@function.def_vjp``,
    ``@function.def_jvp`` or ``@function.def_partials``.

    A direction that is not given is the transpose of the other one; RuleError is raised when it is
    asked for and the rule is not linear. Rules are traced, hence differentiable in turn.

    A gradient function with a parameter ``variables`` is also given the arrays that the function
    reads from outside, in the order in which it reads them, and returns ``(gradients, gradients of
    the variables)``; where there are none, it is given None and returns the gradients alone.
    Without the parameter NoGradientError is raised when such an array is differentiated by.

    Parameters
    ----------
    check: whether the rules are verified, at the arguments of calls with numbers and at random ones
        where the function is traced: reverse against forward mode, and both against central
        differences of the value. Raises RuleError when they differ.

    Tracing raises GradientArityError when a rule returns the wrong number of gradients, ShapeError
    when one has not the shape of its argument. Called with numbers, the function returns its value,
    by NumPy.
    """
    if function is None:
        return functools.partial(custom_gradient, check=check)
    if not callable(function):
        raise TraceError(
            f"gradc.custom_gradient takes a function, not a {type(function).__name__}",
            help="write @gradc.custom_gradient above a function that returns (value, gradient)",
        )
    return CustomGradient(function, check=check)
