"""Looking into a compiled function: graphs at any stage, rules that fired, kernels for C."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gradc.calls.derivation import OF_A_SCALAR, OF_FLOATS
from gradc.calls.preconditions import check_floats, check_value
from gradc.calls.signature import (
    Bound,
    Parameters,
    Wrt,
    bind_types,
    flatten_arguments,
    leaves_of,
    names_variables,
)
from gradc.calls.traceable import Traceable
from gradc.pipeline import KINDS, Options, Request, derive
from gradc.runtime.specialize import Signature, alone
from gradc.traceback import boundary
from gradc.tracing import NeedsConcreteSize, Traced
from gradc.tracing.core.signals import NeedsNumber
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Type, dtype_of
from gradc_ir.errors import ExportError, GradcError, TraceError

if TYPE_CHECKING:
    from pathlib import Path

    from gradc.reports.support import Support


_SPEC = 'give one: spec="x: f64[n,3]"'


def _kinds(
    name: str, of: str | Sequence[str] | None, wrt: Wrt | None, results: Sequence[Type]
) -> tuple[str, ...]:
    """Return what is exported beside the value of a function."""
    if of is not None:
        kinds = (of,) if isinstance(of, str) else tuple(of)
        for kind in kinds:
            if kind not in KINDS:
                raise ExportError(f"of is {kind!r}", help=f"write one of {', '.join(KINDS)}")
        return tuple(dict.fromkeys(kind for kind in kinds if kind != "value"))
    if len(results) == 1 and not results[0].shape and results[0].dtype.is_float:
        return ("value_and_grad",)
    if wrt is not None:
        several = ", ".join(map(str, results))
        raise ExportError(
            f"{name} returns {several}, not one float: there is no gradient by {wrt!r} to export",
            help='choose of="jacobian", "jvp" or "vjp" (gradc export --of), or leave wrt out',
        )
    return ()


# The arguments of the last call without their arrays, and the dtypes and shapes of those.
LastCall: TypeAlias = tuple[Bound, tuple[tuple[Any, tuple[int, ...]], ...]]


def _with_leaves(bound: Bound, kinds: Sequence[tuple[Any, tuple[int, ...]]]) -> Bound:
    """Return the arguments with empty arrays in place of those that were not kept."""
    leaves = tuple(np.empty((0,) * len(shape), dtype=dtype) for dtype, shape in kinds)
    return bound._replace(leaves=leaves, values=bound.nests(leaves))


class Inspected(ABC):
    """The methods of a compiled function that show what it is made of."""

    __name__: str
    __wrapped__: Callable[..., Any]
    options: Options
    spec: str | None
    _parameters: Parameters
    _signatures: deque[Signature]
    _last: LastCall | None

    @abstractmethod
    def _by_variables(
        self, args: Sequence[Any], wrt: Wrt
    ) -> tuple[Inspected, tuple[Any, ...], Wrt]:
        """Return the function, arguments and ``wrt`` of the same derivative, by arguments alone."""

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """The last thousand compilations: of what, for which types, why, and how long they took."""
        return tuple(self._signatures)

    @boundary
    @alone
    def ir(self, *specs_or_args: Any, of: str = "value", wrt: Wrt = 0) -> Function:
        """Return the final graph of what ``of`` names: for a spec, arguments, or the last call."""
        traced, request = self._request(specs_or_args, of, wrt)
        return derive(traced.function, request)

    @boundary
    @alone
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
        a pass, ``"all"``, or ``"capture"``: what became of the loops and branches of Python's.
        """
        from gradc.reports.dump import dump, dump_capture

        traced, request = self._request((spec,) if spec else specs_or_args, of, wrt)
        if after == "capture":
            return dump_capture(traced)
        return dump(
            traced.function,
            request,
            stage=stage,
            after_pass=after,
            locations=locations,
            cpu=cpu,
        )

    def _repr_html_(self) -> str:
        """Return the compilations so far and the graph of the value beside the user's lines."""
        from html import escape

        from gradc_ir.text.display import html_of_function

        parts = [f"<div><code>{escape(repr(self))}</code></div>"]
        parts += [f"<div><code>{escape(str(each))}</code></div>" for each in self._signatures]
        try:
            parts.append(html_of_function(self.ir()))
        except GradcError as error:
            parts.append(f"<pre>{escape(str(error))}</pre>")
        return "".join(parts)

    @boundary
    @alone
    def explain(
        self, *specs_or_args: Any, of: str = "value", spec: str | None = None, wrt: Wrt = 0
    ) -> str:
        """Return which rules fired at which line, what was captured, and what was baked in."""
        from gradc.reports.explain import explain

        traced, request = self._request((spec,) if spec else specs_or_args, of, wrt)
        return explain(traced, request)

    @boundary
    @alone
    def support(self, *specs_or_args: Any, spec: str | None = None) -> Support:
        """Return everything the function does that is not supported, for a spec or for arguments.

        The function is traced to its end: what cannot be recorded is noted with its line, and NumPy
        runs it on sample values (the arguments, when they are given). The result prints as a
        screen of text; it has ``ok``, ``problems``, and whether ``value``, ``forward`` and
        ``reverse`` exist. Nothing is compiled.
        """
        from gradc.reports.support import survey

        given = (spec,) if spec else specs_or_args
        bound, types = self._bound(given)
        samples = bound.leaves if given and not isinstance(given[0], str) else ()
        return survey(
            self.__name__,
            self._at(bound).trace,
            types,
            bound.paths,
            samples,
            self.options,
        )

    @boundary
    @alone
    def export(
        self,
        name: str,
        *specs_or_args: Any,
        spec: str | None = None,
        of: str | Sequence[str] | None = None,
        wrt: Wrt | None = None,
        out: str | Path = ".",
        cpu: str | None = None,
        triple: str | None = None,
        blas: bool = False,
        fma: str | None = None,
        helpers: bool = False,
    ) -> list[Path]:
        """Write ``name.o`` and ``name.h``: the value as ``name``, with its gradient as ``name_vg``.

        ``of`` says what is written beside the value: ``"value"`` (nothing), ``"value_and_grad"``,
        ``"grad"``, ``"jvp"``, ``"vjp"``, ``"hvp"``, ``"jacobian"``, ``"hessian"``, or several; all
        but ``name_vg`` are called ``name_jvp`` and so on. By default it is the gradient, of a
        function of one float. ``wrt``: by which arguments, the first by default.

        C has arguments in the order of the spec, or of the call that is exported: entries of a dict
        as they were written, fields as they were declared. Results are named by keys and fields.

        ``cpu`` is the target's baseline by default, ``triple`` is this machine. Returns the paths.
        With ``blas`` large contractions call BLAS, which the program must then be linked with.
        For a CPU without fused multiply-add ``fma`` is ``"emulate"``, which keeps all bits and is
        slow, or ``"split"``, which also rounds the products of sums and has other bits. With
        ``helpers`` the object may call the compiler's library where the CPU has no instruction,
        such as for doubles on one that has floats alone. Hidden
        inputs become further inputs of the kernels. A gradient that goes back through a loop
        without a known number of steps takes ``tape``, how many there is room for, as its last
        size. Raises ExportError, with the cure, when the function cannot be exported.
        """
        from gradc.calls.c_arguments import SUFFIXES, written
        from gradc.runtime.export import export
        from gradc_codegen.abi import Order

        given = (spec,) if spec else specs_or_args
        asked = 0 if wrt is None else wrt
        by, bound, types, wrt_of = self._arranged(given, "value_and_grad", asked)
        traced, bound = by._traced(bound, types, "value_and_grad", wrt_of)
        requests = [Request("value", (), options=self.options)]
        for kind in _kinds(self.__name__, of, wrt, traced.function.result_types):
            if kind in OF_A_SCALAR:
                check_value(traced, has_aux=False)
            requests.append(by._request_of(bound, kind, wrt_of))
        functions, orders, names = {}, {}, {}
        for request in requests:
            suffix = SUFFIXES[request.of]
            functions[suffix] = derive(traced.function, request)
            found = written(bound, traced, request, functions[suffix])
            orders[suffix], names[suffix] = Order(found.inputs, found.outputs), found.names
        return export(
            functions,
            name,
            out,
            cpu=cpu,
            triple=triple,
            outputs=names,
            orders=orders,
            blas=blas,
            fma=fma,
            helpers=helpers,
        )

    def argument_types(self, spec: str | None = None) -> tuple[Any, ...]:
        """Return the arguments a spec describes: nests whose leaves are types."""
        from gradc_ir.text.parser import parse_spec

        text = spec or self.spec
        if text is None:
            raise TraceError(
                f"{self.__name__}: which arguments? There is no spec and no call yet",
                help=f"{_SPEC}, or --spec on the command line",
            )
        if not isinstance(text, str):
            raise TraceError(f"a spec is a text, not {type(text).__name__}", help=_SPEC)
        pairs = parse_spec(text)
        names = [name for name, _ in pairs]
        left = list(self._parameters.signature.parameters.values())[len(names) :]
        if names != list(self._parameters.names)[: len(names)] or any(
            parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            for parameter in left
        ):
            raise TraceError(
                f"the spec does not fit {self.__name__}",
                found=(
                    f"spec: {', '.join(names)}",
                    f"parameters: {', '.join(self._parameters.names)}",
                ),
            )
        return tuple(types for _, types in pairs)

    def _request(self, specs_or_args: Sequence[Any], of: str, wrt: Wrt) -> tuple[Traced, Request]:
        by, bound, types, wrt = self._arranged(specs_or_args, of, wrt)
        traced, bound = by._traced(bound, types, of, wrt)
        return traced, by._request_of(bound, of, wrt)

    def _arranged(
        self, specs_or_args: Sequence[Any], of: str, wrt: Wrt
    ) -> tuple[Inspected, Bound, Sequence[Type], Wrt]:
        """Return whom to trace, at which arguments, by which of them: variables become some."""
        bound, types = self._bound(specs_or_args)
        if of != "value" and names_variables(wrt):
            by, values, wrt = self._by_variables((), wrt)
            variables = flatten_arguments(tuple(zip(by._parameters.names, values)))
            variables = variables._replace(places=variables.names)
            return by, variables.followed_by(bound), [*variables.types, *types], wrt
        return self, bound, types, wrt

    def _traced(
        self, bound: Bound, types: Sequence[Type], of: str, wrt: Wrt
    ) -> tuple[Traced, Bound]:
        if of != "value":
            bound, types = self._parameters.with_asked(bound, types, wrt)
        while True:
            try:
                return self._at(bound).trace(types, is_last=of == "value"), bound
            except NeedsConcreteSize as needed:
                raise needed.error() from None
            except NeedsNumber as needed:
                types = [type_ for i, type_ in enumerate(types) if i not in needed.leaves]
                bound = bound.fixing(needed.leaves)

    def _at(self, bound: Bound) -> Traceable:
        """Return the function at arguments of this structure, to be traced."""
        name = self.__name__
        return Traceable(self.__wrapped__, name, self._parameters, bound, self.options)

    def _bound(self, specs_or_args: Sequence[Any]) -> tuple[Bound, Sequence[Type]]:
        """Return the arguments that a spec, arguments or the last call stand for, and types."""
        if not specs_or_args and self._last is not None and self.spec is None:
            types = [Type(dtype_of(dtype), shape) for dtype, shape in self._last[1]]
            return _with_leaves(*self._last), types
        if specs_or_args and not isinstance(specs_or_args[0], str):
            bound = self._parameters.bind(specs_or_args, {})
            return bound, bound.types
        given = self.argument_types(specs_or_args[0] if specs_or_args else None)
        return bind_types(self._parameters.names, given)

    def _request_of(self, bound: Bound, of: str, wrt: Wrt) -> Request:
        if of == "value":
            return Request(of, (), options=self.options)
        positions = self._parameters.positions(wrt, bound)
        leaves = leaves_of(bound, positions)
        if of in OF_FLOATS:
            leaves = tuple(leaf for leaf in leaves if bound.leaves[leaf].dtype.kind == "f")
        else:
            check_floats(self.__name__, bound, positions)
        return Request(of, leaves, options=self.options)
