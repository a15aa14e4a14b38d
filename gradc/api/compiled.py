"""The compiled function: what ``gradc.compile`` returns, and its methods."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

from gradc.api.bound_method import Method
from gradc.api.inspected import Inspected, LastCall
from gradc.api.wrt_variables import push_along, take_variables
from gradc.arguments import pytree
from gradc.arguments.as_array import Array
from gradc.calls.preconditions import check_floats, check_mode
from gradc.calls.results import nest_floats, nest_results, nest_value, unflatten_parts
from gradc.calls.signature import (
    Bound,
    CallKey,
    Parameters,
    WideInteger,
    Wrt,
    call_key,
    choose_wrt,
    is_native,
    leaves_of,
    names_variables,
)
from gradc.calls.tangents import as_tuple, like_argument, pad_tangents, push_tangents
from gradc.calls.variable import Variable
from gradc.pipeline import Options, Request, using
from gradc.rules import as_rules
from gradc.runtime.fast_path import KnownCall
from gradc.runtime.pullback import Linearized, Pullback, final_functions
from gradc.runtime.specialize import Family, Signature, Specialization
from gradc.scopes import scopes_key, under_scopes
from gradc.traceback import boundary, cut
from gradc.tracing import PythonNumber, Traced, call, current, trace
from gradc.tracing.core.leaves import exact_key
from gradc_ir.core.types import Type
from gradc_ir.errors import ShapeError, TraceError

Function_ = Callable[..., Any]
# A function met with ever new sizes, static arguments or dtypes forgets the older ones.
_MOST_KNOWN_CALLS = 1024
_MOST_FAMILIES = 256


class Compiled(Inspected):
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
        **options: bool,
    ) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.options = Options(**options, rules=as_rules(rules))
        self.spec = spec
        names = static if isinstance(static, (tuple, list)) else (static,)
        self._parameters = Parameters(function, names)
        self._families: dict[Any, Family] = {}
        self._signatures: list[Signature] = []
        self._last: LastCall | None = None
        self._known_calls: dict[CallKey | None, KnownCall] = {}
        self.by_variables: dict[Any, tuple[Compiled, tuple[Variable, ...], Wrt]] = {}
        self.policed: dict[Any, Any] = {}

    # -- calls ------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's value."""
        key = None if kwargs else call_key(args, under_scopes("value"))
        try:
            found = self._known_calls.get(key)
            if found is not None:
                arrays = found.arrays(args)
                if arrays is not None:
                    return found.unpack(found.executable(arrays))
            if current() is not None:
                return self.__gradc_trace__(*args, **kwargs)
            return self._call_new(key, args, kwargs)
        except Exception as error:
            __tracebackhide__ = True
            raise cut(error)  # noqa: B904 - it is the same error

    def _call_new(self, key: CallKey | None, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        bound = self._bind(args, kwargs)
        made = self._family("value", bound, ()).find(bound.leaves)

        def finish(results: Sequence[Array]) -> Any:
            return nest_value(made.traced.out_tree, results)

        return self._call(key, bound, bound.leaves, made, finish)

    @boundary
    def grad(self, *args: Any, wrt: Wrt | None = None, **kwargs: Any) -> Any:
        """Return the gradient of a scalar value, in the nest of what it is with respect to.

        ``wrt`` is a position, a parameter's name, or a tuple of them; ``argnums`` is accepted for
        positions. Raises ShapeError when the value is not a scalar, DTypeError when it or the
        argument is not floating point.
        """
        self._parameters.refuse(("wrt", "argnums"), "grad")
        return self.derivative("grad", args, kwargs, choose_wrt(wrt, kwargs))

    @boundary
    def value_and_grad(
        self, *args: Any, wrt: Wrt | None = None, has_aux: bool = False, **kwargs: Any
    ) -> Any:
        """Return ``(value, gradient)``, or with ``has_aux`` ``((value, aux), gradient)``.

        The function returns ``(value, aux)`` when ``has_aux`` is set; aux is any nest.
        """
        self._parameters.refuse(("wrt", "argnums", "has_aux"), "value_and_grad")
        wrt = choose_wrt(wrt, kwargs)
        return self.derivative("value_and_grad", args, kwargs, wrt, has_aux=has_aux)

    @boundary
    def jvp(
        self, primals: Sequence[Any], tangents: Sequence[Any], wrt: Wrt | None = None
    ) -> tuple[Any, Any]:
        """Return ``(value, tangent)``; both arguments are tuples, and None is a zero tangent.

        There is one tangent for each primal, or with ``wrt`` one for each of its entries.
        """
        if current() is not None:
            return _transforms().jvp(self, primals, tangents, wrt)  # type: ignore[no-any-return]
        if wrt is not None:
            return push_along(self, primals, tangents, wrt)
        bound = self._bind(as_tuple(primals, "primals"), {})
        given = len(primals) - len(bound.static)
        tangents = pad_tangents(bound.names, given, as_tuple(tangents, "tangents"))
        wrt, pushed = push_tangents(bound, tangents, given)
        made = self._family("jvp", bound, leaves_of(bound, wrt, floats=True)).find(bound.leaves)
        results = made.executables[0]([*made.arrays(bound.leaves), *pushed])
        count = len(made.traced.function.results)
        return (
            nest_value(made.traced.out_tree, results[:count]),
            nest_floats(made.traced, results[count:]),
        )

    @boundary
    def vjp(self, *args: Any, wrt: Wrt | None = None, **kwargs: Any) -> tuple[Any, Pullback]:
        """Return ``(value, pullback)``; ``pullback(cotangent)`` is a tuple, one per argument.

        With ``wrt`` it returns what that asks for. The pullback holds the values it needs; the
        inputs it needs are copied.
        """
        self._parameters.refuse(("wrt",), "vjp")
        if current() is not None:
            fn = functools.partial(self.__wrapped__, **kwargs)
            return _transforms().vjp(fn, *args, wrt=wrt)  # type: ignore[no-any-return]
        if wrt is not None and names_variables(choose_wrt(wrt, {})):
            by, args, wrt = take_variables(self, args, wrt)
            return by.vjp(*args, wrt=wrt, **kwargs)  # type: ignore[no-any-return]
        bound = self._bind(args, kwargs, () if wrt is None else wrt)
        every = tuple(range(len(bound.names)))
        positions = every if wrt is None else self._parameters.positions(wrt, bound)
        leaves = leaves_of(bound, positions, floats=True)
        made = self._family("vjp", bound, leaves).find(bound.leaves)
        results = made.executables[0](made.arrays(bound.leaves))
        count = len(made.traced.function.results)
        value = nest_value(made.traced.out_tree, results[:count])
        single = wrt is not None and not isinstance(wrt, (tuple, list))
        return value, Pullback(made, bound, positions, single, results[:count], results[count:])

    @boundary
    def jacobian(
        self, *args: Any, wrt: Wrt | None = None, mode: str = "auto", **kwargs: Any
    ) -> Any:
        """Return the Jacobian: shape of the value followed by the shape of the argument.

        ``mode`` is ``"forward"``, ``"reverse"`` or ``"auto"`` (the one with fewer seeds). What the
        function returns that is not floating point has None in its place.
        """
        self._parameters.refuse(("wrt", "argnums", "mode"), "jacobian")
        check_mode(mode)
        return self.derivative("jacobian", args, kwargs, choose_wrt(wrt, kwargs), mode=mode)

    @boundary
    def hessian(self, *args: Any, wrt: Wrt | None = None, **kwargs: Any) -> Any:
        """Return the Hessian of a scalar value: the argument's shape twice."""
        self._parameters.refuse(("wrt", "argnums"), "hessian")
        return self.derivative("hessian", args, kwargs, choose_wrt(wrt, kwargs))

    def derivative(
        self,
        of: str,
        args: Sequence[Any],
        kwargs: dict[str, Any],
        wrt: Wrt,
        *,
        has_aux: bool = False,
        mode: str = "auto",
    ) -> Any:
        """Return grad, value_and_grad, jacobian or hessian, as ``of`` says."""
        request = under_scopes((of, wrt, mode, has_aux))
        key = None if kwargs or type(wrt) is list else call_key(args, request)
        found = self._known_calls.get(key)
        if found is not None:
            arrays = found.arrays(args)
            if arrays is not None:
                return found.unpack(found.executable(arrays))
        if current() is not None:
            return self._traced_derivative(of, wrt, has_aux, mode)(*args, **kwargs)
        if names_variables(wrt):
            fn, args, wrt = take_variables(self, args, wrt)
            return fn.derivative(of, args, kwargs, wrt, has_aux=has_aux, mode=mode)
        bound = self._bind(args, kwargs, wrt)
        positions = self._parameters.positions(wrt, bound)
        check_floats(self.__name__, bound, positions)
        leaves = leaves_of(bound, positions)
        given = bound.leaves
        made = self._family(of, bound, leaves, mode, has_aux).find(given)
        several = isinstance(wrt, (tuple, list))
        bound = bound.without_arrays()

        def like(parts: Sequence[Any]) -> Any:
            nested = unflatten_parts(bound, positions, parts)
            return nested if several else nested[0]

        def finish(results: Sequence[Array]) -> Any:
            if of == "grad":
                return like(results)
            if of == "value_and_grad":
                count = len(made.traced.function.results)
                value = nest_value(made.traced.out_tree, results[:count])
                return value, like(results[count:])
            width = len(leaves)
            heads = len(results) // width if width else _float_results(made)
            rows = [like(results[i * width : (i + 1) * width]) for i in range(heads)]
            if of == "hessian":
                return like(rows)
            return nest_results(made.traced.out_tree, made.traced.function.result_types, rows)

        return self._call(key, bound, given, made, finish)

    def _call(
        self,
        key: CallKey | None,
        bound: Bound,
        leaves: Sequence[Array],
        made: Specialization,
        finish: Callable[[Sequence[Array]], Any],
    ) -> Any:
        """Call the kernel; the next call with such arguments goes straight to it."""
        executable = made.executables[0]
        arrays = made.arrays(leaves)
        plain = all(structure is None for structure in bound.structure) and not bound.static
        plain = plain and made.traced.prints is None
        if key is not None and plain and len(leaves) == len(key) - 1 and is_native(key):
            if len(self._known_calls) >= _MOST_KNOWN_CALLS:
                self._known_calls = {}
            shapes = tuple(array.shape for array in arrays[len(leaves) :])
            self._known_calls[key] = KnownCall(executable, finish, made.traced, shapes)
        return finish(executable(arrays))

    @boundary
    def linearize(self, *args: Any) -> tuple[Any, Linearized]:
        """Return ``(value, push)``; ``push(*tangents)`` is the tangent of the value here."""
        if current() is not None:
            return _transforms().linearize(self, *args)  # type: ignore[no-any-return]
        bound = self._bind(args, {})
        wrt = leaves_of(bound, range(len(bound.names)), floats=True)
        made = self._family("linearize", bound, wrt).find(bound.leaves)
        results = made.executables[0](made.arrays(bound.leaves))
        count = len(made.traced.function.results)
        value = nest_value(made.traced.out_tree, results[:count])
        return value, Linearized(made, bound, len(args) - len(bound.static), results[count:])

    @boundary
    def hvp(self, args: Sequence[Any], vector: Any, wrt: Wrt = 0) -> Any:
        """Return the Hessian of a scalar value times a vector of the nest of ``wrt``."""
        if current() is not None:
            return _transforms().hvp(self, args, vector, wrt)
        if names_variables(wrt):
            fn, args, wrt = take_variables(self, as_tuple(args, "args"), wrt)
            return fn.hvp(args, vector, wrt)
        bound = self._bind(as_tuple(args, "args"), {}, wrt)
        positions = self._parameters.positions(wrt, bound)
        check_floats(self.__name__, bound, positions)
        several = isinstance(wrt, (tuple, list))
        given = as_tuple(vector, "vector") if several else (vector,)
        if len(given) != len(positions):
            raise ShapeError(f"hvp: {len(positions)} arguments in wrt but {len(given)} vectors")
        pushed = [
            array
            for position, part in zip(positions, given)
            for array in like_argument(bound, position, part, "vector")
        ]
        made = self._family("hvp", bound, leaves_of(bound, positions)).find(bound.leaves)
        results = made.executables[0]([*made.arrays(bound.leaves), *pushed])
        parts = unflatten_parts(bound, positions, results)
        return parts if several else parts[0]

    def _traced_derivative(self, of: str, wrt: Wrt, has_aux: bool, mode: str) -> Function_:
        """Return the transform that builds a derivative in the trace that asks for it."""
        further: dict[str, Any] = {"has_aux": True} if has_aux else {}
        if of == "jacobian":
            further["mode"] = mode
        transform: Function_ = getattr(_transforms(), of)(self, wrt, **further)
        return transform

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

    def _bind(self, args: Sequence[Any], kwargs: dict[str, Any], wrt: Wrt = ()) -> Bound:
        self._parameters = self._parameters.current(self.__wrapped__)
        bound = self._parameters.bind(args, kwargs, wrt)
        self._last = bound.without_arrays(), tuple((x.dtype, x.shape) for x in bound.leaves)
        return bound

    def _family(
        self, of: str, bound: Bound, wrt: tuple[int, ...], mode: str = "auto", has_aux: bool = False
    ) -> Family:
        key = (
            of,
            wrt,
            mode,
            has_aux,
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
            request = Request(of, wrt, mode, self.options)
            # the family outlives the call, whose arrays it must not keep
            bound = bound.without_arrays()
            family = Family(
                of,
                self.__name__,
                trace=lambda types: self._trace(bound, types),
                finish=lambda traced: final_functions(traced, request, has_aux),
                record=self._signatures.append,
                options=self.options,
            )
            while len(self._families) >= _MOST_FAMILIES:
                self._families.pop(next(iter(self._families)), None)
            family = self._families.setdefault(key, family)
        return family

    def _trace(self, bound: Bound, types: Sequence[Type]) -> Traced:
        # a Python number keeps its weak dtype: f32 array * 2.0 stays f32
        leaves = [
            PythonNumber(type_.dtype, wide=number is WideInteger) if number else type_
            for type_, number in zip(types, bound.numbers)
        ]
        values = [
            leaves[span.start]
            if structure is None
            else pytree.unflatten(structure, leaves[span.start : span.stop])
            for structure, span in zip(bound.structure, bound.spans)
        ]
        args, kwargs = self._parameters.call_form(bound.names, values, bound.static)
        with using(self.options):
            return trace(
                self.__wrapped__,
                args,
                kwargs,
                name=self.__name__ if self.__name__.isidentifier() else "f",
            )


def _float_results(made: Specialization) -> int:
    return sum(type_.dtype.is_float for type_ in made.traced.function.result_types)


def _transforms() -> Any:
    from gradc.api import transforms  # which is made of compiled functions

    return transforms
