"""The compiled function: what ``gradc.compile`` returns, and its methods."""

# A method that asks is annotated with what it is to be seen as: it returns what is answered.
# mypy: disable-error-code="no-any-return"

from __future__ import annotations

import dataclasses
import functools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Generic,
    ParamSpec,
    TypeAlias,
    TypeVar,
    overload,
)

from gradc.api import nested_transforms
from gradc.api.asks import Doors, asks
from gradc.api.inspected import Inspected, LastCall
from gradc.api.method import Method, bind_as_methods
from gradc.api.native_calls import CalledFromC
from gradc.api.sparse.methods import SparseDerivatives
from gradc.api.typed import Answers, Multiplies, P, Pushes, R
from gradc.calls.derivation import OF_FLOATS, VALUE, Derivation
from gradc.calls.outputs import assigned
from gradc.calls.preconditions import check_floats, check_mode, check_moves
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
from gradc.calls.tangents import as_tuple, hvp_arguments, push_tangents
from gradc.calls.variable import Variable
from gradc.parallel.by_value import Travels
from gradc.requests.options import Options
from gradc.runtime.families import Families
from gradc.runtime.prepared import (
    Part,
    Prepared,
    Results,
    options_of,
    parts_of,
    pushed_parts,
    static_of,
    vector_parts,
)
from gradc.runtime.quick_call import UNTOLD, Call, CalledByAttribute, Learner, quick_call
from gradc.runtime.specialize import Signature, Specialization
from gradc.traceback import boundary
from gradc.tracing.captured.top import is_tracing
from gradc_ir.forks import loading

if TYPE_CHECKING:
    from gradc.runtime.bound_call import BoundCall

Function_ = Callable[..., Any]
Q = ParamSpec("Q")
S = TypeVar("S")
_MOST_FORMS, _MOST_SIGNATURES = 32, 1000
_OUT = frozenset({"out"})

Form: TypeAlias = "Compiled[..., Any]"


class Compiled(
    Travels,
    CalledByAttribute,
    Inspected,
    CalledFromC,
    SparseDerivatives,
    Generic[P, R],
    is_method=True,
):
    """A NumPy function with native value and derivatives; made by :func:`gradc.compile`.

    Calling it returns what the function would: NumPy arrays, NumPy scalars for 0-d results, in the
    function's own nest. A compiled function never changes its arguments: an argument that the
    function writes to is a private copy.
    """

    __gradc_parts__: ClassVar = ("__wrapped__",)

    def __init__(
        self,
        function: Callable[P, R],
        *,
        spec: str | None = None,
        static: Sequence[str | int] | str | int = (),
        rules: Sequence[Any] = (),
        **options: Any,
    ) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.options = Options(**options, rules=_rules(rules))
        self.spec = spec
        names = static if isinstance(static, (tuple, list)) else (static,)
        self._parameters = Parameters(function, names)
        self._signatures: deque[Signature] = deque(maxlen=_MOST_SIGNATURES)
        self._families = Families(self.__name__)
        self._last: LastCall | None = None
        self._forms_by_variables: dict[
            Any, tuple[Compiled[..., Any], tuple[Variable, ...], Wrt]
        ] = {}
        self._own_plans = None
        self._doors = Doors(self)
        self._learners: dict[str, Learner] = {}
        called, self._learners["__call__"] = quick_call(
            self, Compiled._value, self.made_again(), "__call__", called=True
        )
        self.be_called(called)

    if TYPE_CHECKING:

        @overload
        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...
        @overload
        def __call__(self, *args: Any, out: Any, **kwargs: Any) -> Any: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Return the value; the arrays of ``out``, if there are any, with it in them."""

    # -- calls ------------------------------------------------------------------------------------

    def _value(self, call: Call, args: Any, kwargs: dict[str, Any]) -> Any:
        """Return the function's value, and tell how."""
        found = self._valued(call, *args, **kwargs)
        return call.answer(found) if isinstance(found, Prepared) else found

    def _valued(self, call: Call, /, *args: Any, **kwargs: Any) -> Any:
        return self.answered(VALUE, call, args, kwargs)

    @boundary
    def bind(self, /, *args: Any, **kwargs: Any) -> BoundCall[R]:
        """Return a function without parameters that calls this with these arguments.

        They are checked now. Arrays among them, and what the function reads from outside, are read
        at each call; one of another size then is a ShapeError. With ``out=`` the results go there.
        ``f.value_and_grad.bind`` and its like do the same for derivatives.
        """
        with loading:  # few calls are bound
            from gradc.runtime.bound_call import BoundCall

        return BoundCall(self, Compiled._valued, args, kwargs)

    @asks
    def grad(
        self, call: Call, /, *args: Any, wrt: Wrt | None = None, **kwargs: Any
    ) -> Answers[P, Any]:
        """Return the gradient of a scalar value, in the nest of what it is with respect to.

        ``wrt`` is a position, a parameter's name, or a tuple of them; ``argnums`` is accepted for
        positions. ``out`` is written into. Raises ShapeError when the value is not a scalar,
        DTypeError when it or the argument is not floating point.
        """
        self._parameters.refuse(("wrt", "argnums"), "grad")
        return self.answered(Derivation("grad", choose_wrt(wrt, kwargs)), call, args, kwargs)

    @asks
    def value_and_grad(
        self,
        call: Call,
        /,
        *args: Any,
        wrt: Wrt | None = None,
        has_aux: bool = False,
        **kwargs: Any,
    ) -> Answers[P, tuple[R, Any]]:
        """Return ``(value, gradient)``, or with ``has_aux`` ``((value, aux), gradient)``.

        The function returns ``(value, aux)`` when ``has_aux`` is set; aux is any nest.
        """
        self._parameters.refuse(("wrt", "argnums", "has_aux"), "value_and_grad")
        asked = Derivation("value_and_grad", choose_wrt(wrt, kwargs), "auto", has_aux)
        return self.answered(asked, call, args, kwargs)

    @asks
    def jacobian(
        self,
        call: Call,
        /,
        *args: Any,
        wrt: Wrt | None = None,
        mode: str = "auto",
        sparse: bool = False,
        **kwargs: Any,
    ) -> Answers[P, Any]:
        """Return the Jacobian: shape of the value followed by the shape of the argument.

        ``mode`` is ``"forward"``, ``"reverse"`` or ``"auto"`` (the one with fewer seeds). What the
        function returns that is not floating point has None in its place. With ``sparse`` it is a
        ``scipy.sparse.csr_array`` with a row for each element of the value, which is one array, and
        a column for each of the argument; in as many passes as the pattern has colours.
        """
        self._parameters.refuse(("wrt", "argnums", "mode", "sparse"), "jacobian")
        check_mode(mode)
        if sparse:
            return self._sparse("jacobian", wrt, mode, args, kwargs)
        asked = Derivation("jacobian", choose_wrt(wrt, kwargs), mode)
        return self.answered(asked, call, args, kwargs)

    @asks
    def hessian(
        self,
        call: Call,
        /,
        *args: Any,
        wrt: Wrt | None = None,
        sparse: bool = False,
        **kwargs: Any,
    ) -> Answers[P, Any]:
        """Return the Hessian of a scalar value: the argument's shape twice.

        With ``sparse`` it is a ``scipy.sparse.csr_array``, as of :meth:`jacobian`.
        """
        self._parameters.refuse(("wrt", "argnums", "sparse"), "hessian")
        if sparse:
            return self._sparse("hessian", wrt, "auto", args, kwargs)
        return self.answered(Derivation("hessian", choose_wrt(wrt, kwargs)), call, args, kwargs)

    @asks
    def jvp(
        self,
        call: Call,
        primals: Sequence[Any],
        tangents: Sequence[Any],
        wrt: Wrt | None = None,
        *,
        out: Any = None,
    ) -> Pushes[R]:
        """Return ``(value, tangent)``; both arguments are tuples, and None is a zero tangent.

        There is one tangent for each primal, or with ``wrt`` one for each of its entries.
        """
        wrt = None if wrt is None else choose_wrt(wrt, {})
        return self.pushed(Derivation("jvp", wrt), primals, tangents, call, out)

    @asks
    def vjp(
        self, call: Call, /, *args: Any, wrt: Wrt | None = None, **kwargs: Any
    ) -> Answers[P, tuple[R, Callable[[Any], Any]]]:
        """Return ``(value, pullback)``; ``pullback(cotangent)`` is a tuple, one per argument.

        With ``wrt`` it returns what that asks for. The pullback holds the values it needs; the
        inputs it needs are copied.
        """
        self._parameters.refuse(("wrt",), "vjp")
        wrt = None if wrt is None else choose_wrt(wrt, {})
        return self.pulled(Derivation("vjp", wrt), args, kwargs, call)

    @asks
    def linearize(self, call: Call, /, *args: Any) -> Answers[P, tuple[R, Callable[..., R]]]:
        """Return ``(value, push)``; ``push(*tangents)`` is the tangent of the value here."""
        if is_tracing():
            found: Any = nested_transforms.linearize(self, args)
            return found
        with loading:  # few ask for half a derivative
            from gradc.runtime.pullback import Linearized

        bound, made, answer, prepared = self._prepared(
            Derivation("linearize", None), args, {}, call
        )
        push = Linearized(made.push, answer, bound, len(args) - len(bound.static))
        halved: Any = push.after(prepared)
        return halved

    @asks
    def hvp(
        self,
        call: Call,
        args: Any,
        vector: Any,
        /,
        *rest: Any,
        wrt: Wrt | None = None,
        out: Any = None,
    ) -> Multiplies:
        """Return the Hessian of a scalar value times a vector of the nest of ``wrt``.

        ``args`` is the tuple of arguments. ``f.hvp(x, vector, *rest)`` means
        ``f.hvp((x, *rest), vector)``, so that ``hessp=f.hvp`` serves SciPy's minimize.
        """
        whole = isinstance(args, tuple | list)
        args, wrt = hvp_arguments("hvp", args, rest, wrt)
        asked = Derivation("hvp", wrt)
        if is_tracing():
            return assigned(out, nested_transforms.hvp(self, asked, args, vector))
        if names_variables(wrt):
            form, args, wrt = self._by_variables(args, wrt)
            return form.hvp(args, vector, wrt=wrt, out=out)
        # of hvp((x, y), v) and of hvp(x, v, y)
        paths = [(0, i) if whole else (i + (i > 0),) for i in range(len(args))]
        bound, positions = self._bind(asked, args, {})
        pushed = vector_parts(bound, positions, vector, asked.several)
        options = [((2,), chosen) for chosen in rest if whole]
        made, answer, bound = self._made(asked, bound, positions)
        prepared = self._call(call, made, answer, bound, args, paths, pushed)
        others = (*prepared.others, *options_of(call.given, ()), *options)
        found: Any = prepared._replace(others=others).with_out(out)
        return found

    # -- derivations ------------------------------------------------------------------------------

    def answered(
        self, asked: Derivation, call: Call, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> Any:
        """Return a value, gradient, Jacobian or Hessian in a trace, else the call to be run.

        Under policies it is in a pair with the number of elements that were not finite.
        """
        out = kwargs.pop("out", None) if "out" not in self._parameters.names else None
        if is_tracing():
            fn = self.__wrapped__ if asked.of == "value" else self
            return assigned(out, nested_transforms.derivative(fn, asked, args, kwargs))
        if asked.wrt is not None and names_variables(asked.wrt):
            form, args, wrt = self._by_variables(args, asked.wrt)
            found = form.answered(asked._replace(wrt=wrt), call, args, kwargs)
            return found._replace(is_quick=False).with_out(out)
        return self._prepared(asked, args, kwargs, call)[3].with_out(out)

    def derivative(
        self, asked: Derivation, args: Sequence[Any], kwargs: dict[str, Any], call: Call = UNTOLD
    ) -> Any:
        """Return what :meth:`answered` prepares."""
        found = self.answered(asked, call, args, kwargs)
        return call.answer(found) if isinstance(found, Prepared) else found

    def pushed(
        self,
        asked: Derivation,
        primals: Any,
        tangents: Any,
        call: Call = UNTOLD,
        out: Any = None,
    ) -> Any:
        """Return ``(value, tangent)`` in a trace, else the call; under policies with a count.

        There is one tangent for each primal, or for each entry of ``asked.wrt``.
        """
        if is_tracing():
            return assigned(out, nested_transforms.jvp(self, asked, primals, tangents))
        primals, tangents = as_tuple(primals, "primals"), as_tuple(tangents, "tangents")
        if asked.wrt is not None:
            form, primals, wrt = self._by_variables(primals, asked.wrt)
            from gradc.api.wrt_variables import tangents_of_primals  # which few need

            tangents = tangents_of_primals(form._parameters.names, primals, tangents, wrt)
            found = form.pushed(asked._replace(wrt=None), primals, tangents, call, out)
            return found._replace(is_quick=False)
        moved = [i for i, tangent in enumerate(tangents) if tangent is not None]
        bound, _ = self._bind(asked, primals, {}, moved)
        positions, pushed = push_tangents(bound, tangents, len(primals) - len(bound.static))
        parts, nones, quick = pushed_parts(bound, tangents, pushed, (1,))
        made, answer, bound = self._made(asked, bound, positions)
        paths = [(0, i) for i in range(len(primals))]
        prepared = self._call(call, made, answer, bound, primals, paths, parts)
        return prepared._replace(
            others=(*prepared.others, *nones),
            is_quick=prepared.is_quick
            and quick
            and len(call.args) == 2
            and {*call.given} <= {"out"},
            static=(prepared.static, tuple(positions)),
        ).with_out(out)

    def pulled(
        self,
        asked: Derivation,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        call: Call = UNTOLD,
    ) -> Any:
        """Return ``(value, pullback)`` in a trace, else the call.

        What the pullback returns is, under policies, in a pair.
        """
        if is_tracing():
            return nested_transforms.vjp(functools.partial(self.__wrapped__, **kwargs), asked, args)
        if asked.wrt is not None and names_variables(asked.wrt):
            form, args, wrt = self._by_variables(args, asked.wrt)
            found = form.pulled(asked._replace(wrt=wrt), args, kwargs, call)
            return found._replace(is_quick=False)
        with loading:  # few ask for half a derivative
            from gradc.runtime.pullback import Pullback

        _, made, answer, prepared = self._prepared(asked, args, kwargs, call)
        return Pullback(made.executables[1], answer).after(prepared)

    def _prepared(
        self, asked: Derivation, args: Sequence[Any], kwargs: dict[str, Any], call: Call
    ) -> tuple[Bound, Specialization, Answer, Prepared]:
        """Return a call that has the function's arguments as its own."""
        bound, positions = self._bind(asked, args, kwargs)
        made, answer, bound = self._made(asked, bound, positions)
        paths = [(i,) for i in range(len(args))]
        prepared = self._call(call, made, answer, bound, args, paths, ())
        others = (*prepared.others, *options_of(call.given, kwargs))
        groups = (leaves_of(bound, positions) if asked.groups else (), asked.groups)
        results = prepared.results._replace(counts=made.request.policies is not None)
        quick = prepared.is_quick and not asked.casts_integers
        prepared = prepared._replace(others=others, groups=groups, results=results, is_quick=quick)
        return bound, made, answer, prepared

    def _call(
        self,
        call: Call,
        made: Specialization,
        answer: Answer,
        bound: Bound,
        args: Sequence[Any],
        paths: Sequence[tuple[Any, ...]],
        pushed: Sequence[Part],
    ) -> Prepared:
        """Return a call of the first executable, with the paths of arguments by position."""
        by_name = dict(zip(self._parameters.positional(len(args)), paths)) | {
            name: (name,) for name in call.given
        }
        parts, static, known = parts_of(bound, by_name)
        results = Results(answer.nest, len(answer.types))
        return Prepared(
            made.executables[0], made, parts, pushed, results, static,
            static=static_of(bound), is_quick=known,
        )  # fmt: skip

    @functools.cached_property
    def finite(self) -> Form:
        """The same function with ``debug_nans``, which names where what is not finite began."""
        return self.like(self.__wrapped__, self._parameters.static, debug_nans=True)

    def made_again(self) -> Callable[[], Compiled[P, R]]:
        """Return what makes an equal one, and does not refer to this one."""
        static, options = sorted(self._parameters.static), dict(vars(self.options))
        return functools.partial(
            Compiled, self.__wrapped__, spec=self.spec, static=static, **options
        )

    def like(self, function: Function_, static: Iterable[str] = (), **options: bool) -> Form:
        """Return another function compiled with the options of this one, but for those given."""
        return Compiled(function, static=sorted(static), **{**vars(self.options), **options})

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Inline the function into the trace that calls it."""
        return self.answered(VALUE, UNTOLD, args, kwargs)

    def __gradc_pickled__(self) -> Any:
        """Return the function and its options."""
        static, options = sorted(self._parameters.static), dict(vars(self.options))
        return self.__wrapped__, self.spec, static, options

    def __setstate__(self, parts: Any) -> None:
        """Become what was pickled."""
        function, spec, static, options = parts
        Compiled.__init__(self, function, spec=spec, static=static, **options)

    def __repr__(self) -> str:
        return f"<gradc.compile {self.__name__}{self._parameters.signature}>"

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Compiled[P, R]: ...
    @overload
    def __get__(
        self: Compiled[Concatenate[S, Q], R], instance: S, owner: type | None = None
    ) -> Compiled[Q, R]: ...
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
        if asked.wrt is not None:
            check_moves(self.__name__, bound, positions)
        if asked.casts_integers:
            bound = bound.with_floats(positions)
        if asked.of not in OF_FLOATS:
            check_floats(self.__name__, bound, positions)
        return bound, positions

    def _by_variables(self, args: Sequence[Any], wrt: Wrt) -> tuple[Form, tuple[Any, ...], Wrt]:
        """Return the form, arguments and ``wrt`` of the same derivative, by arguments alone."""
        if not names_variables(wrt):
            return self, tuple(args), wrt
        key = type(wrt), tuple([(id(e),) if type(e) is Variable else e for e in listed(wrt)])
        found = self._forms_by_variables.get(key)
        if found is None:
            from gradc.api.wrt_variables import ByVariables, split_variables  # which few need

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
    ) -> tuple[Specialization, Answer, Bound]:
        """Return what computes a derivation at arguments, what its results are, and the arguments.

        These are as the kernel takes them: without Python ints that a shape needs.
        """
        made, bound = self._families.find(
            asked, lambda one: leaves_of(one, positions), bound, self._at, self._signatures.append
        )
        self._last = bound.without_arrays(), tuple((x.dtype, x.shape) for x in bound.leaves)
        # the arrays of this call are not kept
        policies = made.request.policies
        answer = Answer(asked, made.traced, policies, bound.without_arrays(), positions)
        return made, answer, bound


bind_as_methods(Compiled)


def _rules(given: Sequence[Any]) -> tuple[Any, ...]:
    """Return the rules of an option."""
    if isinstance(given, tuple | list) and not given:
        return ()
    from gradc.rules import as_rules  # which most functions do without

    return as_rules(given)
