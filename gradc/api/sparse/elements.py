"""The elements of a derivative as a function: of seeds, of their places, and of the arguments."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from gradc.api.nested_trace import NestedTrace
from gradc.api.wrt_variables import signature_after
from gradc.autodiff.terms.leaves import OtherTerms
from gradc.calls.derivation import Derivation
from gradc.calls.signature import Pairs, Parameters, Wrt
from gradc.sparsity.seeds import BySeeds, ByTerms
from gradc.tracing import call, value_of
from gradc.tracing.captured.captures import SameElements
from gradc.tracing.core.signals import NeedsConcreteSize
from gradc.tracing.core.state import running
from gradc_ir import build
from gradc_ir.core.graph import Value


class Elements:
    """A function of seeds, if any, and places, then of the arguments, to elements of a derivative.

    Parameters
    ----------
    fn: the user's function.
    static: the names of its parameters that only steer it.
    of: ``"jacobian"`` or ``"hessian"``.
    wrt: the one argument it is by.
    by: what they are made by, which says what comes before the arguments.
    """

    __gradc_parts__: ClassVar = ("__wrapped__", "static", "of", "wrt", "by")

    def __init__(
        self,
        fn: Callable[..., Any],
        static: Iterable[str],
        of: str,
        wrt: Wrt,
        by: BySeeds | ByTerms,
    ) -> None:
        functools.update_wrapper(self, fn, updated=())
        self.__wrapped__ = fn
        self.static = tuple(sorted(static))
        self.of, self.wrt, self.by = of, wrt, by
        self.__signature__ = signature_after(fn, by.names)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the elements; called only in traces."""
        return self.__gradc_trace__(*args, **kwargs)

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the derivative in the trace that calls it."""
        count = len(self.by.names)
        given = args[:count]
        sizes = [value_of(one).type.shape[0] for one in given]
        parameters = Parameters(self.__wrapped__, self.static)
        pairs = parameters.pairs(args[count:], kwargs, self.wrt)
        (position,) = parameters.positions(self.wrt, pairs)
        function = _OfValues(self.__wrapped__, parameters, pairs)
        values = [value for _, value in pairs.dynamic]
        trace = NestedTrace(
            function, values, {}, Derivation(self.of, position, self.by.mode(sizes))
        )
        if isinstance(self.by, ByTerms) and self.by.fixed is not None:
            trace.operands = _fixed(trace.operands, self.by.fixed.captures)
        try:
            return trace.run(given)[0]
        except OtherTerms:
            # they are of the sizes that the plan was made for
            sizes += [size for value in map(value_of, values) for size in value.type.shape]
            symbolic = [size for size in sizes if not isinstance(size, int)]
            raise NeedsConcreteSize(symbolic[0], "a sparse derivative", None) from None


def _fixed(operands: Sequence[Value], names: Sequence[str]) -> list[Value]:
    """Return operands, captured arrays of some names as the constants that they are now.

    The trace then holds for these elements.
    """
    root = running().root
    captures = dict(zip(root.params[len(root.params) - len(root.captures) :], root.captures))
    found = []
    for operand in operands:
        capture = captures.get(operand)
        if capture is not None and capture.name in names:
            array = capture.read().copy()
            guard = SameElements(capture.name, array, capture.fetch)
            root.guards[id(operand), "elements"] = guard
            operand = build.constant(array)
        found.append(operand)
    return found


class _OfValues:
    """A function of the arguments of a call that are values, one after another."""

    def __init__(self, fn: Callable[..., Any], parameters: Parameters, pairs: Pairs) -> None:
        functools.update_wrapper(self, fn, updated=())
        self.__wrapped__ = fn
        self._parameters, self._pairs = parameters, pairs
        kind = inspect.Parameter.POSITIONAL_ONLY
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(_plain(name, i), kind) for i, name in enumerate(pairs.names)]
        )

    def __gradc_trace__(self, *values: Any) -> Any:
        """Inline the function, with what only steers it as it is."""
        steering = dict(self._pairs.static)
        names = (*self._pairs.names, *steering)
        args, kwargs = self._parameters.call_form(names, (*values, *steering.values()))
        return call(self.__wrapped__, *args, **kwargs)

    def __call__(self, *values: Any) -> Any:
        """Return the function's value; called only in traces."""
        return self.__gradc_trace__(*values)


def _plain(name: str, place: int) -> str:
    """Return what a parameter is called that may be an entry of others: ``args[1]``."""
    return name if name.isidentifier() else f"argument_{place}"
