"""From a compiled function to the C functions of it: graphs, their order and their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gradc.calls.c_arguments import written
from gradc.calls.derivation import OF_A_SCALAR
from gradc.calls.preconditions import check_value
from gradc.calls.signature import Bound, Wrt
from gradc.exports.bake import Baked, baked
from gradc.exports.batch import of_many
from gradc.exports.formulas import formulas
from gradc.exports.kinds import VALUE, Kind, with_value
from gradc.exports.sparse import sparse_forms
from gradc.exports.words import words_in
from gradc.pipeline import derive, nested
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.runtime.export import Entry
from gradc.runtime.trace_anew import least_sizes
from gradc.tracing import Traced
from gradc_codegen.abi import Order, Signature
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Type
from gradc_ir.errors import ExportError


class Source(Protocol):
    """What an export asks of a compiled function."""

    __name__: str
    options: Options

    def _arranged(
        self, specs_or_args: Sequence[Any], of: str, wrt: Wrt
    ) -> tuple[Any, Bound, Sequence[Type], Wrt]: ...


@dataclass(frozen=True)
class Asked:
    """What is exported of one function.

    Parameters
    ----------
    name: what C calls its value.
    given: a spec, or the arguments of a call; empty for the function's own spec, or the last call.
    kinds: which functions; None for the value and, of one float, its gradient.
    wrt: by which arguments; None for the first.
    bake: captured arrays that become constants.
    shared: arguments that all points of a batch have in common.
    docs: whether the header has formulas.
    """

    name: str
    given: tuple[Any, ...] = ()
    kinds: tuple[Kind, ...] | None = None
    wrt: Wrt | None = None
    bake: str | Sequence[str] = ()
    shared: str | Sequence[str] = ()
    docs: bool = False


@dataclass(frozen=True)
class Plan:
    """One function's share of an export.

    Parameters
    ----------
    entries: the C functions.
    arguments: the leaves that the function was given in a call, by the names of parameters; empty
        for a spec.
    traced: the function, without the captured arrays that were baked.
    baked: those.
    """

    entries: tuple[Entry, ...]
    arguments: dict[str, Any]
    traced: Traced
    baked: tuple[Baked, ...]

    def is_current(self) -> bool:
        """Whether what the function reads from outside of it is what it was."""
        return all(guard.holds() for guard in self.traced.guards) and all(
            one.is_current() for one in self.baked
        )


def plan(source: Source, asked: Asked) -> Plan:
    """Return what is written of a function; raises ExportError, or what its derivatives raise."""
    first = 0 if asked.wrt is None else asked.wrt
    by, bound, types, wrt = source._arranged(asked.given, "value_and_grad", first)
    traced, bound = by._traced(bound, types, "value_and_grad", wrt)
    traced, constants = baked(source.__name__, traced, asked.bake)
    kinds = _kinds(source.__name__, asked, traced.function.result_types)
    shared = _shared(source.__name__, bound, traced, asked.shared)
    entries: list[Entry] = []
    for kind in kinds:
        if kind.of in OF_A_SCALAR:
            check_value(traced, has_aux=False)
        request = by._request_of(bound, kind.of, wrt)
        if kind.sparse:
            made = _sparse(source.__name__, asked, kind, bound, traced, request, shared)
            # the elements at one point and at many are in the same places
            entries += made[any(one.name == made[0].name for one in entries) :]
            continue
        function = (
            of_many(nested(traced.function, request, is_last=True), request.options, shared)
            if kind.many
            else derive(traced.function, request)
        )
        entries.append(_entry(asked, kind, bound, traced, request, function))
    leaves = zip(traced.function.names, bound.leaves)
    called = bool(asked.given) and not isinstance(asked.given[0], str)
    return Plan(tuple(entries), dict(leaves) if called else {}, traced, constants)


def _sparse(
    name: str,
    asked: Asked,
    kind: Kind,
    bound: Bound,
    traced: Traced,
    request: Request,
    shared: Sequence[int],
) -> list[Entry]:
    """Return where the elements of a sparse derivative are, and these elements."""
    forms = sparse_forms(name, traced, request)
    where = Entry(
        kind.pattern_name(asked.name),
        forms.pattern,
        [f"{kind.suffix}_{part}" for part in ("rows", "columns", "starts")],
        summary=kind.pattern_summary,
    )
    function = (
        of_many(forms.values, request.options, shared)
        if kind.many
        else derive(forms.values, Request(options=request.options))
    )
    names = (f"{kind.suffix}_values",)
    return [where, _entry(asked, kind, bound, traced, request, function, names)]


def _entry(
    asked: Asked,
    kind: Kind,
    bound: Bound,
    traced: Traced,
    request: Request,
    function: Function,
    names: Sequence[str] = (),
) -> Entry:
    found = written(bound, traced, request, function)
    order = Order(found.inputs, found.outputs)
    called = names or found.names
    signature = Signature.of(function, called, order=order)
    return Entry(
        kind.name(asked.name),
        function,
        called,
        order,
        kind.summary,
        formulas(function, signature, order) if asked.docs and not kind.sparse else (),
        least_sizes(traced),
    )


def _kinds(name: str, asked: Asked, results: Sequence[Type]) -> tuple[Kind, ...]:
    if asked.kinds is not None:
        return asked.kinds
    if len(results) == 1 and not results[0].shape and results[0].dtype.is_float:
        return with_value([Kind("value_and_grad", "vg")])
    if asked.wrt is not None:
        several = ", ".join(map(str, results))
        raise ExportError(
            f"{name} returns {several}, not one float: there is no gradient by {asked.wrt!r} to "
            "export",
            help='choose of="jacobian", "jvp" or "vjp" (gradc export --of), or leave wrt out',
        )
    return (VALUE,)


def _shared(
    name: str, bound: Bound, traced: Traced, shared: str | Sequence[str]
) -> tuple[int, ...]:
    """Return the parameters that are the same for all points: of arguments, and captured arrays."""
    count = len(traced.function.params)
    found = list(range(count - len(traced.captures), count))
    for word in words_in(shared):
        if word not in bound.names:
            raise ExportError(
                f"shared: {name} has no argument {word!r}",
                found=f"arguments: {', '.join(bound.names)}",
            )
        found += bound.spans[bound.names.index(word)]
    if len(set(found)) == count and count:
        raise ExportError(
            f"shared: all arguments of {name} are shared, so that its points are all the same",
            help="leave out those that differ from point to point",
        )
    return tuple(found)
