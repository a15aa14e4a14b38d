"""Looking into a compiled function: graphs at any stage, rules that fired, kernels for C."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import numpy as np

from gradc.calls.derivation import OF_FLOATS
from gradc.calls.preconditions import check_floats
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
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.runtime.specialize import Signature, alone
from gradc.traceback import boundary
from gradc.tracing.captured.traced import Traced
from gradc.tracing.core.signals import NeedsConcreteSize, NeedsNumber
from gradc_ir.core.graph import Function, use_form
from gradc_ir.core.types import Type, dtype_of
from gradc_ir.errors import GradcError, TraceError

if TYPE_CHECKING:
    from pathlib import Path

    from gradc.costs.cost import Cost
    from gradc.exports.export import ExportOptions
    from gradc.reports.support import Support


def _picture(name: str) -> Callable[[Function], Any]:
    """Return what shows a graph in a notebook, loaded when one asks."""

    def shown(function: Function) -> Any:
        from gradc.pictures import notebook

        return getattr(notebook, name)(function)

    return shown


use_form("html", _picture("html_with_picture"))
use_form("svg", _picture("svg_of_function"))
use_form("latex", _picture("latex_of_function"))

_SPEC = 'give one: spec="x: f64[n,3]"'


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
    def ir(
        self,
        *specs_or_args: Any,
        of: str = "value",
        wrt: Wrt = 0,
        stage: str = "final",
        simple: bool = False,
    ) -> Function:
        """Return the graph of what ``of`` names: for a spec, arguments, or the last call.

        ``stage`` is traced, stable, derivative or final. With ``simple`` it is the mathematics of
        it, without what only rescues digits or saves time.
        """
        traced, request = self._request(specs_or_args, of, wrt)
        if simple:
            from gradc.reading.simple import simple as simplified

            return simplified(traced.function, request)
        if stage != "final":
            from gradc.reports.dump import graph

            return graph(traced.function, request, stage)
        from gradc.pipeline import derive  # which calls of what is kept on disk do without

        return derive(traced.function, request)

    @boundary
    @alone
    def cost(
        self, *specs_or_args: Any, of: str = "value", spec: str | None = None, wrt: Wrt = 0
    ) -> Cost:
        """Return what the kernel of what ``of`` names costs, by the lines of the user's.

        Operations, bytes and tape are expressions of the symbolic sizes; ``cost.at(n=1000)`` puts
        numbers in. Nothing is compiled or run.
        """
        from gradc.costs.cost import cost_of

        traced, request = self._request((spec,) if spec else specs_or_args, of, wrt)
        return cost_of(traced.function, request)

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
        triple: str | None = None,
        simple: bool = False,
    ) -> str:
        """Return the text of what ``of`` names at a stage of its way.

        ``stage`` is traced, stable, derivative, final, loops, llvm or asm; ``after`` instead names
        a pass, ``"all"`` for what each of them changed, or ``"capture"`` for what became of the
        loops and branches of Python's. With ``simple`` it is Python that
        people read: the mathematics, without what only rescues digits or saves time. ``cpu`` and
        ``triple`` say what machine code is for.
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
            triple=triple,
            plainly=simple,
        )

    def _repr_html_(self) -> str:
        """Return the compilations so far, and the mathematics of the value as a picture."""
        from html import escape

        from gradc.pictures.notebook import html_with_picture

        above = [repr(self), *map(str, self._signatures)]
        try:
            return html_with_picture(self.ir(simple=True), above)
        except GradcError as error:
            lines = "".join(f"<div><code>{escape(line)}</code></div>" for line in above)
            return f"{lines}<pre>{escape(str(error))}</pre>"

    def _repr_svg_(self) -> str | None:
        """Return the mathematics of the value as a picture; None where there is no spec or call."""
        from gradc.pictures.notebook import svg_of_function

        try:
            return svg_of_function(self.ir(simple=True))
        except GradcError:
            return None

    def _repr_latex_(self) -> str | None:
        """Return the mathematics of the value as equations; None where there is no spec or call."""
        from gradc.pictures.notebook import latex_of_function

        try:
            return latex_of_function(self.ir(simple=True))
        except GradcError:
            return None

    @boundary
    @alone
    def report(
        self, *specs_or_args: Any, of: str = "value", spec: str | None = None, wrt: Wrt = 0
    ) -> str:
        """Return a page of HTML about what ``of`` names, which needs nothing else to be shown.

        Source, graph, derivative, rules that fired, loops and assembly stand side by side; pointing
        at a line marks what comes from it everywhere.
        """
        from gradc.pictures.report import report

        traced, request = self._request((spec,) if spec else specs_or_args, of, wrt)
        return report(traced.function, request)

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
        outputs: str | Sequence[str] | None = None,
        wrt: Wrt | None = None,
        bake: str | Sequence[str] = (),
        shared: str | Sequence[str] = (),
        docs: bool = False,
        **options: Unpack[ExportOptions],
    ) -> list[Path]:
        """Write kernels for C: ``name.o`` and ``name.h``, whose paths are returned.

        C has arguments in the order of the spec, or of the call that is exported: entries of a dict
        as they were written, fields as they were declared. Results are named by keys and fields.
        Hidden inputs become further inputs of the kernels.

        Parameters
        ----------
        outputs: which functions: ``"value"`` (called ``name`` in C), ``"vg"`` (``name_vg``, value
            and gradient), ``"grad"``, ``"jvp"``, ``"vjp"``, ``"hvp"``, ``"jac"``, ``"hess"``,
            ``"jac_sparse"`` and ``"hess_sparse"`` (two functions each, of where the elements are
            and of the elements), or several; with ``_batch`` behind one it is of many points at
            once, along a leading axis.
        of: the same beside the value. By default it is ``"vg"``, of a function of one float.
        wrt: by which arguments, the first by default.
        bake: captured arrays that become constants of the kernels, by name, or ``"all"``.
        shared: arguments that all points of a batch have in common.
        docs: whether the header has formulas of what each function computes.
        out: the folder.
        target: LLVM's name of the machine (also ``triple``), by default this one's.
        cpu: LLVM's name of the CPU, by default the target's baseline; ``native`` for this one.
        optimize: how hard LLVM tries, 0, 1 or 2; by default what suits the function. ``"size"`` is
            for small machines: short code rather than fast, with the same results.
        link: ``"object"``, ``"static"`` or ``"shared"`` library, ``"ir"`` or ``"asm"``.
        blas: whether large contractions call BLAS, which the program must then be linked with.
        fma: for a CPU without fused multiply-add: ``"emulate"`` keeps all bits and is slow,
            ``"split"`` also rounds the products of sums and has other bits.
        helpers: whether the object may call the compiler's library where the CPU has no
            instruction.
        soft_double: whether functions of the object's own may compute with doubles where the CPU
            has none, to the same bits and slowly.
        structs: whether there is ``name_struct`` of each function, with a struct a side.
        parallel: whether there is ``name_parallel``, whose caller says what runs its tasks.
        package: whether ``example_main.c``, which compares with numbers from Python, and files for
            pkg-config and CMake are written beside it.

        A gradient that goes back through a loop without a known number of steps takes ``tape``, how
        many there is room for, as its last size. Raises ExportError, with the cure, when the
        function cannot be exported.
        """
        from gradc.exports.export import export, kinds_asked
        from gradc.exports.plan import Asked

        given = (spec,) if spec else specs_or_args
        kinds = kinds_asked(of, outputs)
        return export(name, [(self, Asked(name, given, kinds, wrt, bake, shared, docs))], options)

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
                return self._at(bound).trace(types, is_last=of == "value", at_hand={}), bound
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
