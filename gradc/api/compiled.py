"""The compiled function: what ``gradc.compile`` returns, and its methods."""

from __future__ import annotations

import dataclasses
import functools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradc.api import nested_transforms
from gradc.api.asks import Asked, asks
from gradc.api.inspected import Inspected, LastCall
from gradc.api.method import Method
from gradc.api.wrt_variables import ByVariables, split_variables, tangents_of_primals
from gradc.calls.derivation import OF_FLOATS, VALUE, Derivation
from gradc.calls.preconditions import check_floats, check_mode
from gradc.calls.results import Answer
from gradc.calls.signature import (
    Bound,
    Parameters,
    Wrt,
    choose_wrt,
    leaves_of,
    listed,
    names_variables,
)
from gradc.calls.tangents import as_tuple, hvp_arguments, like_argument, push_tangents
from gradc.calls.variable import Variable
from gradc.pipeline import Options
from gradc.rules import as_rules
from gradc.runtime.pullback import Linearized, Pullback
from gradc.runtime.quick_call import CalledByAttribute, Learner, quick_call
from gradc.runtime.specialize import Family, Signature, Specialization
from gradc.scopes import scopes_key
from gradc.traceback import boundary
from gradc.tracing import call, current
from gradc.tracing.core.leaves import exact_key
from gradc_codegen.calls import cells
from gradc_ir.errors import ShapeError, TraceError

Function_ = Callable[..., Any]
# A function met with ever new sizes, static arguments or dtypes forgets the older ones.
_MOST_FAMILIES = 256
_MOST_FORMS = 32
_MOST_SIGNATURES = 1000


class Compiled(CalledByAttribute, Inspected):
    """A NumPy function with native value and derivatives; made by :func:`gradc.compile`.

    Calling it returns what the function would: NumPy arrays, NumPy scalars for 0-d results, in the
    function's own nest. A compiled function never changes its arguments: an argument that the
    function writes to is a private copy.
    """

    def __init__(
        self,
        function: Function_,
        *,
        spec: str | None = None,
        static: Sequence[str | int] | str | int = (),
        rules: Sequence[Any] = (),
        **options: Any,
    ) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.options = Options(**options, rules=as_rules(rules))
        self.spec = spec
        names = static if isinstance(static, (tuple, list)) else (static,)
        self._parameters = Parameters(function, names)
        self._families: dict[Any, Family] = {}
        self._signatures: deque[Signature] = deque(maxlen=_MOST_SIGNATURES)
        self._last: LastCall | None = None
        self._forms_by_variables: dict[Any, tuple[Compiled, tuple[Variable, ...], Wrt]] = {}
        self._asking: dict[str, Callable[..., Any]] = {}
        self._learners: dict[str, Learner] = {}
        self.__call__, self._learners["__call__"] = quick_call(
            self, Compiled._value, self.made_again(), "__call__"
        )

    # -- calls ------------------------------------------------------------------------------------

    def _value(self, args: Any, kwargs: dict[str, Any], learner: Learner) -> Any:
        """Return the function's value, and tell how."""
        return self.derivative(VALUE, args, kwargs, given=kwargs, learner=learner)

    @asks
    def grad(self, *args: Any, wrt: Wrt | None = None, **kwargs: Any) -> Asked:
        """Return the gradient of a scalar value, in the nest of what it is with respect to.

        ``wrt`` is a position, a parameter's name, or a tuple of them; ``argnums`` is accepted for
        positions. Raises ShapeError when the value is not a scalar, DTypeError when it or the
        argument is not floating point.
        """
        self._parameters.refuse(("wrt", "argnums"), "grad")
        return Derivation("grad", choose_wrt(wrt, kwargs)), args, kwargs

    @asks
    def value_and_grad(
        self, *args: Any, wrt: Wrt | None = None, has_aux: bool = False, **kwargs: Any
    ) -> Asked:
        """Return ``(value, gradient)``, or with ``has_aux`` ``((value, aux), gradient)``.

        The function returns ``(value, aux)`` when ``has_aux`` is set; aux is any nest.
        """
        self._parameters.refuse(("wrt", "argnums", "has_aux"), "value_and_grad")
        return Derivation("value_and_grad", choose_wrt(wrt, kwargs), "auto", has_aux), args, kwargs

    @asks
    def jacobian(
        self, *args: Any, wrt: Wrt | None = None, mode: str = "auto", **kwargs: Any
    ) -> Asked:
        """Return the Jacobian: shape of the value followed by the shape of the argument.

        ``mode`` is ``"forward"``, ``"reverse"`` or ``"auto"`` (the one with fewer seeds). What the
        function returns that is not floating point has None in its place.
        """
        self._parameters.refuse(("wrt", "argnums", "mode"), "jacobian")
        check_mode(mode)
        return Derivation("jacobian", choose_wrt(wrt, kwargs), mode), args, kwargs

    @asks
    def hessian(self, *args: Any, wrt: Wrt | None = None, **kwargs: Any) -> Asked:
        """Return the Hessian of a scalar value: the argument's shape twice."""
        self._parameters.refuse(("wrt", "argnums"), "hessian")
        return Derivation("hessian", choose_wrt(wrt, kwargs)), args, kwargs

    @boundary
    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], wrt: Wrt | None = None
    ) -> tuple[Any, Any]:
        """Return ``(value, tangent)``; both arguments are tuples, and None is a zero tangent.

        There is one tangent for each primal, or with ``wrt`` one for each of its entries.
        """
        wrt = None if wrt is None else choose_wrt(wrt, {})
        return self.pushed(Derivation("jvp", wrt), primals, tangents)

    @boundary
    def vjp(self, *args: Any, wrt: Wrt | None = None, **kwargs: Any) -> tuple[Any, Function_]:
        """Return ``(value, pullback)``; ``pullback(cotangent)`` is a tuple, one per argument.

        With ``wrt`` it returns what that asks for. The pullback holds the values it needs; the
        inputs it needs are copied.
        """
        self._parameters.refuse(("wrt",), "vjp")
        wrt = None if wrt is None else choose_wrt(wrt, {})
        return self.pulled(Derivation("vjp", wrt), args, kwargs)

    @boundary
    def linearize(self, *args: Any) -> tuple[Any, Function_]:
        """Return ``(value, push)``; ``push(*tangents)`` is the tangent of the value here."""
        if current() is not None:
            return nested_transforms.linearize(self, args)
        asked = Derivation("linearize", None)
        bound, positions = self._bind(asked, args, {})
        made, answer = self._made(asked, bound, positions)
        results = made.run(bound.leaves)
        given = len(args) - len(bound.static)
        push = Linearized(made.push, answer, bound, given, results[len(answer.types) :])
        return answer.value(results), push

    @boundary
    def hvp(self, args: Any, vector: Any, *rest: Any, wrt: Wrt | None = None) -> Any:
        """Return the Hessian of a scalar value times a vector of the nest of ``wrt``.

        ``args`` is the tuple of arguments. ``f.hvp(x, vector, *rest)`` means
        ``f.hvp((x, *rest), vector)``, so that ``hessp=f.hvp`` serves SciPy's minimize.
        """
        args, wrt = hvp_arguments("hvp", args, rest, wrt)
        asked = Derivation("hvp", wrt)
        if current() is not None:
            return nested_transforms.hvp(self, asked, args, vector)
        if names_variables(wrt):
            form, args, wrt = self._by_variables(args, wrt)
            return form.hvp(args, vector, wrt=wrt)
        bound, positions = self._bind(asked, args, {})
        given = as_tuple(vector, "vector") if asked.several else (vector,)
        if len(given) != len(positions):
            raise ShapeError(f"hvp: {len(positions)} arguments in wrt but {len(given)} vectors")
        pushed = [
            array
            for position, part in zip(positions, given)
            for array in like_argument(bound, position, part, "vector")
        ]
        made, answer = self._made(asked, bound, positions)
        return answer.nest(made.run(bound.leaves, pushed))

    # -- derivations ------------------------------------------------------------------------------

    def answered(self, asked: Asked, given: dict[str, Any], learner: Learner | None) -> Any:
        """Return the value, gradient, Jacobian or Hessian at the arguments of a call.

        ``given`` is what the call passed by name, ``learner`` is told how it was answered.
        """
        return self.derivative(*asked, given=given, learner=learner)

    def derivative(
        self,
        asked: Derivation,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        *,
        given: dict[str, Any] | None = None,
        learner: Learner | None = None,
    ) -> Any:
        """Return the value, gradient, Jacobian or Hessian at these arguments.

        Under policies it is in a pair with the number of elements that were not finite. ``learner``
        is told of a call that passed ``given`` by name.
        """
        if current() is not None:
            return nested_transforms.derivative(self, asked, args, kwargs)
        if asked.wrt is not None and names_variables(asked.wrt):
            form, args, wrt = self._by_variables(args, asked.wrt)
            return form.derivative(asked._replace(wrt=wrt), args, kwargs)
        version = cells.version()
        bound, positions = self._bind(asked, args, kwargs)
        made, answer = self._made(asked, bound, positions)
        found = answer.nest(made.run(bound.leaves))
        if learner is not None and not asked.casts_integers:
            names = self._parameters.positional(len(args))
            learner.learn(names, args, given or {}, bound, made, answer, version)
        return found

    def pushed(self, asked: Derivation, primals: Any, tangents: Any) -> tuple[Any, Any]:
        """Return ``(value, tangent)``; under policies a pair with a count, as :meth:`derivative`.

        There is one tangent for each primal, or for each entry of ``asked.wrt``.
        """
        if current() is not None:
            return nested_transforms.jvp(self, asked, primals, tangents)
        primals, tangents = as_tuple(primals, "primals"), as_tuple(tangents, "tangents")
        if asked.wrt is not None:
            form, primals, wrt = self._by_variables(primals, asked.wrt)
            tangents = tangents_of_primals(form._parameters.names, primals, tangents, wrt)
            return form.pushed(asked._replace(wrt=None), primals, tangents)
        moved = [i for i, tangent in enumerate(tangents) if tangent is not None]
        bound, _ = self._bind(asked, primals, {}, moved)
        positions, pushed = push_tangents(bound, tangents, len(primals) - len(bound.static))
        made, answer = self._made(asked, bound, positions)
        found: tuple[Any, Any] = answer.nest(made.run(bound.leaves, pushed))
        return found

    def pulled(
        self, asked: Derivation, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> tuple[Any, Function_]:
        """Return ``(value, pullback)``; what that returns is, under policies, in a pair."""
        if current() is not None:
            return nested_transforms.vjp(functools.partial(self.__wrapped__, **kwargs), asked, args)
        if asked.wrt is not None and names_variables(asked.wrt):
            form, args, wrt = self._by_variables(args, asked.wrt)
            return form.pulled(asked._replace(wrt=wrt), args, kwargs)
        bound, positions = self._bind(asked, args, kwargs)
        made, answer = self._made(asked, bound, positions)
        results = made.run(bound.leaves)
        return answer.value(results), Pullback(made.executables[1], answer, results)

    @functools.cached_property
    def finite(self) -> Compiled:
        """The same function with ``debug_nans``, which names where what is not finite began."""
        return self.like(self.__wrapped__, self._parameters.static, debug_nans=True)

    def made_again(self) -> Callable[[], Compiled]:
        """Return what makes an equal one, and does not refer to this one."""
        static, options = sorted(self._parameters.static), dict(vars(self.options))
        return functools.partial(
            Compiled, self.__wrapped__, spec=self.spec, static=static, **options
        )

    def like(self, function: Function_, static: Iterable[str] = (), **options: bool) -> Compiled:
        """Return another function compiled with the options of this one, but for those given."""
        return Compiled(function, static=sorted(static), **{**vars(self.options), **options})

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Inline the function into the trace that calls it."""
        return call(self.__wrapped__, *args, **kwargs)

    def __copy__(self) -> Compiled:
        """Return itself, as a function does."""
        return self

    def __deepcopy__(self, memo: Any) -> Compiled:
        """Return itself, as a function does."""
        return self

    def __reduce__(self) -> str:
        """Pickle as a function is pickled, by its name."""
        return str(vars(self).get("__qualname__", self.__name__))

    def __repr__(self) -> str:
        return f"<gradc.compile {self.__name__}{self._parameters.signature}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method; the instance is the first argument, static unless it is a dataclass."""
        return self if instance is None else Method(self, instance)

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the instance for static: its attributes are read by the function."""
        if not dataclasses.is_dataclass(owner) and self._parameters.plain:
            self._parameters.add_static(0)

    # -- from arguments to kernels -----------------------------------------------------------------

    def _bind(
        self,
        asked: Derivation,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        moved: Iterable[int] = (),
    ) -> tuple[Bound, tuple[int, ...]]:
        """Return the arguments, and the positions of those that are differentiated by.

        ``moved`` are these of a jvp. Raises DTypeError where a transform refuses what is no float.
        """
        self._parameters = self._parameters.current(self.__wrapped__)
        wrt: Wrt = () if asked.wrt is None else asked.wrt
        bound = self._parameters.bind(args, kwargs, wrt)
        self._last = bound.without_arrays(), tuple((x.dtype, x.shape) for x in bound.leaves)
        positions = self._parameters.positions(wrt, bound)
        if asked.wrt is None:
            positions = tuple(moved) if asked.of == "jvp" else tuple(range(len(bound.names)))
        if asked.casts_integers:
            bound = bound.with_floats(positions)
        if asked.of not in OF_FLOATS:
            check_floats(self.__name__, bound, positions)
        return bound, positions

    def _by_variables(self, args: Sequence[Any], wrt: Wrt) -> tuple[Compiled, tuple[Any, ...], Wrt]:
        """Return the form, arguments and ``wrt`` of the same derivative, by arguments alone."""
        if not names_variables(wrt):
            return self, tuple(args), wrt
        key = type(wrt), tuple([(id(e),) if type(e) is Variable else e for e in listed(wrt)])
        found = self._forms_by_variables.get(key)
        if found is None:
            variables, chosen = split_variables(wrt)
            names = [variable.name or f"variable_{i}" for i, variable in enumerate(variables)]
            # the form keeps the variables, so that no other one has the id
            function = ByVariables(self.__wrapped__, variables, names)
            form = self.like(function, self._parameters.static)
            form._signatures = self._signatures
            while len(self._forms_by_variables) >= _MOST_FORMS:
                self._forms_by_variables.pop(next(iter(self._forms_by_variables)), None)
            found = self._forms_by_variables[key] = form, variables, chosen
        form, variables, chosen = found
        return form, (*[variable.read() for variable in variables], *args), chosen

    def _made(
        self, asked: Derivation, bound: Bound, positions: Sequence[int]
    ) -> tuple[Specialization, Answer]:
        """Return what computes a derivation at arguments, and what its results are to the user."""
        made = self._family(asked, bound, leaves_of(bound, positions)).find(bound.leaves)
        # the arrays of this call are not kept
        policies = made.request.policies
        return made, Answer(asked, made.traced, policies, bound.without_arrays(), positions)

    def _family(self, asked: Derivation, bound: Bound, leaves: tuple[int, ...]) -> Family:
        asked = asked._replace(wrt=None)
        key = (
            asked,
            leaves,
            bound.names,
            bound.structure,
            tuple([(name, exact_key(value)) for name, value in bound.static]),
            bound.numbers,
            scopes_key(),
            tuple(
                [(leaf.dtype.char, *(size == 1 for size in leaf.shape)) for leaf in bound.leaves]
            ),
        )
        try:
            family = self._families.get(key)
        except TypeError:
            raise TraceError(
                f"{self.__name__}: a static argument must be hashable",
                found=", ".join(f"{name}: {type(value).__name__}" for name, value in bound.static),
            ) from None
        if family is None:
            # the family outlives the call, whose arrays it must not keep
            source = self._at(bound.without_arrays())
            family = Family(asked, leaves, source, self._signatures.append)
            while len(self._families) >= _MOST_FAMILIES:
                self._families.pop(next(iter(self._families)), None)
            family = self._families.setdefault(key, family)
        return family
