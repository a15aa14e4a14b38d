"""The compiled function: what ``gradc.compile`` returns, and its methods."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, overload

from gradc import nest
from gradc.checks import check_floats, check_value
from gradc.pipeline import Options, Request, derive, using
from gradc.pullback import Linearized, Pullback, halves
from gradc.results import nest_floats, nest_value, unflatten_parts
from gradc.signature import Bound, Parameters, Wrt, bind_types, choose_wrt, leaves_of
from gradc.specialize import Family, Signature
from gradc.tangents import as_tuple, like_argument, push_tangents
from gradc.tracing import PythonNumber, Traced, call, trace
from gradc_ir.errors import ShapeError, TraceError
from gradc_ir.graph import Function
from gradc_ir.types import Type, dtype_of

if TYPE_CHECKING:
    from pathlib import Path

Function_ = Callable[..., Any]


class Compiled:
    """A NumPy function with native value and derivatives; made by :func:`compile`.

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
        stable: bool = True,
        fast: bool = False,
    ) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        self.options = Options(stable=stable, fast=fast)
        self.spec = spec
        self._parameters = Parameters(
            function, static if isinstance(static, (tuple, list)) else (static,)
        )
        self._families: dict[Any, Family] = {}
        self._signatures: list[Signature] = []
        self._last: Bound | None = None

    # -- calls ------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the function's value."""
        bound = self._bind(args, kwargs)
        made = self._family("value", bound, ()).find(bound.leaves)
        return nest_value(made.traced.out_tree, made.executables[0](made.arrays(bound.leaves)))

    def grad(self, *args: Any, wrt: Wrt | None = None, **kwargs: Any) -> Any:
        """Return the gradient of a scalar value, in the nest of what it is with respect to.

        ``wrt`` is a position, a parameter's name, or a tuple of them; ``argnums`` is accepted for
        positions. Raises ShapeError when the value is not a scalar, DTypeError when it or the
        argument is not floating point.
        """
        self._parameters.refuse(("wrt", "argnums"), "grad")
        return self.derivative("grad", args, kwargs, choose_wrt(wrt, kwargs))

    def value_and_grad(
        self, *args: Any, wrt: Wrt | None = None, has_aux: bool = False, **kwargs: Any
    ) -> Any:
        """Return ``(value, gradient)``, or with ``has_aux`` ``((value, aux), gradient)``.

        The function returns ``(value, aux)`` when ``has_aux`` is set; aux is any nest.
        """
        self._parameters.refuse(("wrt", "argnums", "has_aux"), "value_and_grad")
        wrt = choose_wrt(wrt, kwargs)
        return self.derivative("value_and_grad", args, kwargs, wrt, has_aux=has_aux)

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """Return ``(value, tangent)``; both arguments are tuples, and None is a zero tangent."""
        bound = self._bind(as_tuple(primals, "primals"), {})
        wrt, pushed = push_tangents(bound, as_tuple(tangents, "tangents"))
        made = self._family("jvp", bound, leaves_of(bound, wrt, floats=True)).find(bound.leaves)
        results = made.executables[0]([*made.arrays(bound.leaves), *pushed])
        count = len(made.traced.function.results)
        return (
            nest_value(made.traced.out_tree, results[:count]),
            nest_floats(made.traced, results[count:]),
        )

    def vjp(self, *args: Any, **kwargs: Any) -> tuple[Any, Pullback]:
        """Return ``(value, pullback)``; ``pullback(cotangent)`` is a tuple, one per argument.

        The pullback holds the values it needs; the inputs it needs are copied.
        """
        bound = self._bind(args, kwargs)
        wrt = tuple(range(len(bound.names)))
        made = self._family("vjp", bound, leaves_of(bound, wrt, floats=True)).find(bound.leaves)
        results = made.executables[0](made.arrays(bound.leaves))
        count = len(made.traced.function.results)
        value = nest_value(made.traced.out_tree, results[:count])
        return value, Pullback(made, bound, results[count:])

    def jacobian(
        self, *args: Any, wrt: Wrt | None = None, mode: str = "auto", **kwargs: Any
    ) -> Any:
        """Return the Jacobian: shape of the value followed by the shape of the argument.

        ``mode`` is ``"forward"``, ``"reverse"`` or ``"auto"`` (the one with fewer seeds).
        """
        self._parameters.refuse(("wrt", "argnums", "mode"), "jacobian")
        return self.derivative("jacobian", args, kwargs, choose_wrt(wrt, kwargs), mode=mode)

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
        """Return grad, value_and_grad, jacobian or hessian, ``of`` says which, at these arguments."""
        bound = self._bind(args, kwargs)
        positions = self._parameters.positions(wrt, bound)
        check_floats(self.__name__, bound, positions)
        leaves = leaves_of(bound, positions)
        made = self._family(of, bound, leaves, mode, has_aux).find(bound.leaves)
        results = made.executables[0](made.arrays(bound.leaves))
        several = isinstance(wrt, (tuple, list))

        def like(parts: Sequence[Any]) -> Any:
            nested = unflatten_parts(bound, positions, parts)
            return nested if several else nested[0]

        if of == "grad":
            return like(results)
        if of == "value_and_grad":
            count = len(made.traced.function.results)
            value = nest_value(made.traced.out_tree, results[:count])
            return value, like(results[count:])
        width = len(leaves)
        rows = [like(results[i : i + width]) for i in range(0, len(results), width)]
        return like(rows) if of == "hessian" else nest.unflatten(made.traced.out_tree, rows)

    def linearize(self, *args: Any) -> tuple[Any, Linearized]:
        """Return ``(value, push)``; ``push(*tangents)`` is the tangent of the value here."""
        bound = self._bind(args, {})
        wrt = leaves_of(bound, range(len(bound.names)), floats=True)
        made = self._family("linearize", bound, wrt).find(bound.leaves)
        results = made.executables[0](made.arrays(bound.leaves))
        count = len(made.traced.function.results)
        value = nest_value(made.traced.out_tree, results[:count])
        return value, Linearized(made, bound, results[count:])

    def hvp(self, args: Sequence[Any], vector: Any, wrt: Wrt = 0) -> Any:
        """Return the Hessian of a scalar value times a vector of the nest of ``wrt``."""
        bound = self._bind(as_tuple(args, "args"), {})
        positions = self._parameters.positions(wrt, bound)
        check_floats(self.__name__, bound, positions)
        several = isinstance(wrt, (tuple, list))
        given = tuple(vector) if several else (vector,)
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

    # -- inspection --------------------------------------------------------------------------------

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """Each compilation so far: of what, for which types, why, and how long it took."""
        return tuple(self._signatures)

    def ir(self, *specs_or_args: Any, of: str = "value", wrt: Wrt = 0) -> Function:
        """Return the final graph of what ``of`` names: for a spec, arguments, or the last call."""
        traced, request = self._request(specs_or_args, of, wrt)
        return derive(traced.function, request)

    def dump(
        self,
        *specs_or_args: Any,
        of: str = "value",
        stage: str = "final",
        spec: str | None = None,
        wrt: Wrt = 0,
        after: str | None = None,
        locations: bool = True,
        cpu: str = "native",
    ) -> str:
        """Return the text of what ``of`` names at a stage of its way.

        ``stage`` is traced, stable, derivative, final, loops, llvm or asm; ``after`` instead names
        a pass, or ``"all"``.
        """
        from gradc.dump import dump

        traced, request = self._request((spec,) if spec else specs_or_args, of, wrt)
        return dump(
            traced.function,
            request,
            stage=stage,
            after_pass=after,
            locations=locations,
            cpu=cpu,
        )

    def explain(
        self, *specs_or_args: Any, of: str = "value", spec: str | None = None, wrt: Wrt = 0
    ) -> str:
        """Return which rules fired at which line, what was captured, and what was baked in."""
        from gradc.explain import explain

        traced, request = self._request((spec,) if spec else specs_or_args, of, wrt)
        return explain(traced, request)

    def export(
        self,
        name: str,
        *specs_or_args: Any,
        spec: str | None = None,
        wrt: Wrt = 0,
        out: str | Path = ".",
        cpu: str = "x86-64-v3",
        triple: str | None = None,
    ) -> list[Path]:
        """Write ``name.o`` and ``name.h``: the value as ``name``, with its gradient as ``name_vg``.

        Returns the paths. Hidden inputs become further inputs of the kernels. Raises ExportError
        with the cure when the function cannot be exported.
        """
        from gradc.export import export

        traced, value = self._request((spec,) if spec else specs_or_args, "value", wrt)
        _, both = self._request((spec,) if spec else specs_or_args, "value_and_grad", wrt)
        functions = {"": derive(traced.function, value)}
        result = traced.function.result_types[0]
        if len(traced.function.results) == 1 and not result.shape and result.dtype.is_float:
            functions["vg"] = derive(traced.function, both)
        return export(functions, name, out, cpu=cpu, triple=triple, wrt=both.wrt)

    def argument_types(self, spec: str | None = None) -> tuple[Any, ...]:
        """Return the arguments a spec describes: nests whose leaves are types."""
        from gradc_ir.parser import parse_spec

        text = spec or self.spec
        if text is None:
            raise TraceError(
                f"{self.__name__}: which arguments? There is no spec and no call yet",
                help='give one: spec="x: f64[n,3]", or --spec on the command line',
            )
        pairs = parse_spec(text)
        names = [name for name, _ in pairs]
        if names != list(self._parameters.names)[: len(names)]:
            raise TraceError(
                f"the spec does not fit {self.__name__}",
                found=(
                    f"spec: {', '.join(names)}",
                    f"parameters: {', '.join(self._parameters.names)}",
                ),
            )
        return tuple(types for _, types in pairs)

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Inline the function into the trace that calls it."""
        return call(self.__wrapped__, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<gradc.compile {self.__name__}{self._parameters.signature}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method: the instance is the first, static, argument."""
        return self if instance is None else functools.partial(self, instance)

    # -- from arguments to kernels -----------------------------------------------------------------

    def _bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Bound:
        bound = self._parameters.bind(args, kwargs)
        self._last = bound
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
            bound.static,
            bound.numbers,
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
            family = Family(
                of,
                self.__name__,
                trace=lambda types: self._trace(bound, types),
                finish=lambda traced: _finish(traced, request, has_aux),
                record=self._signatures.append,
            )
            self._families[key] = family
        return family

    def _trace(self, bound: Bound, types: Sequence[Type]) -> Traced:
        # a Python number keeps its weak dtype: f32 array * 2.0 stays f32
        leaves = [
            PythonNumber(type_.dtype) if number else type_
            for type_, number in zip(types, bound.numbers)
        ]
        values = [
            leaves[span.start]
            if structure is None
            else nest.unflatten(structure, leaves[span.start : span.stop])
            for structure, span in zip(bound.structure, bound.spans)
        ]
        args, kwargs = self._parameters.call_form(bound, values)
        with using(self.options):
            return trace(
                functools.partial(self.__wrapped__, **dict(bound.static))
                if bound.static
                else self.__wrapped__,
                args,
                kwargs,
                name=self.__name__,
            )

    def _request(self, specs_or_args: Sequence[Any], of: str, wrt: Wrt) -> tuple[Traced, Request]:
        if not specs_or_args and self._last is not None and self.spec is None:
            bound = self._last
            types = [Type(dtype_of(leaf.dtype), leaf.shape) for leaf in bound.leaves]
            return self._trace(bound, types), self._request_of(bound, of, wrt)
        if specs_or_args and not isinstance(specs_or_args[0], str):
            bound = self._parameters.bind(specs_or_args, {})
            types = [Type(dtype_of(leaf.dtype), leaf.shape) for leaf in bound.leaves]
            return self._trace(bound, types), self._request_of(bound, of, wrt)
        spec = specs_or_args[0] if specs_or_args else None
        given = self.argument_types(spec)
        bound, types = bind_types(self._parameters.names, given)
        return self._trace(bound, types), self._request_of(bound, of, wrt)

    def _request_of(self, bound: Bound, of: str, wrt: Wrt) -> Request:
        if of == "value":
            return Request(of, (), options=self.options)
        positions = self._parameters.positions(wrt, bound)
        floats = of in ("jvp", "vjp")
        if not floats:
            check_floats(self.__name__, bound, positions)
        return Request(of, leaves_of(bound, positions, floats=floats), options=self.options)


def _finish(traced: Traced, request: Request, has_aux: bool) -> Sequence[Function]:
    if request.of in ("grad", "value_and_grad", "hvp", "hessian"):
        check_value(traced, has_aux)
    if request.of in ("vjp", "linearize"):
        return halves(traced.function, request)
    return (derive(traced.function, request),)


@overload
def compile(function: Function_, /) -> Compiled: ...


@overload
def compile(
    function: None = None,
    /,
    *,
    spec: str | None = None,
    static: Sequence[str | int] | str | int = (),
    stable: bool = True,
    fast: bool = False,
) -> Callable[[Function_], Compiled]: ...


@overload
def compile(
    function: Function_,
    /,
    *,
    spec: str | None = None,
    static: Sequence[str | int] | str | int = (),
    stable: bool = True,
    fast: bool = False,
) -> Compiled: ...


def compile(function: Function_ | None = None, /, **options: Any) -> Any:
    """Compile a NumPy function: ``@gradc.compile``, with or without arguments.

    Parameters
    ----------
    spec: the arguments, e.g. ``"x: f64[n,3], w: f64[3]"``, for inspection and export.
    static: names or positions of arguments that only steer the function: strings, flags, objects.
    stable: whether rules may replace expressions by equal ones that are never less accurate.
    fast: whether rules may also change rounding, the sign of zero, or nan.

    The function is compiled when it is called: for the dtypes, ranks and sizes of the first call,
    and with symbolic sizes when a second size arrives.
    """
    if function is None:
        return lambda wrapped: Compiled(wrapped, **options)
    if not callable(function):
        raise TraceError(
            f"gradc.compile takes a function, not {type(function).__name__}",
            help="write @gradc.compile above the def, or @gradc.compile(spec=…)",
        )
    return Compiled(function, **options)
