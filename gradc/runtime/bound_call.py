"""A call with its arguments bound: checked once, then made anew each time it is called."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from gradc.arguments import flags
from gradc.runtime.prepared import Part, Prepared
from gradc.runtime.quick_call import Call, CalledByAttribute, quick_call
from gradc.traceback import boundary
from gradc.tracing.captured.top import is_tracing
from gradc_codegen.calls import cells
from gradc_ir.core.types import Type, dtype_of
from gradc_ir.errors import ShapeError, TraceError

Method = Callable[..., Any]
R = TypeVar("R")


class BoundCall(CalledByAttribute, Generic[R]):
    """A function without parameters that makes a call with the arguments it was bound with.

    Parameters
    ----------
    owner: what the call is of, and ``method`` a function of it, the call and the arguments, that
        prepares the call.
    args, kwargs: the arguments. Arrays among them are read at each call, as is what the function
        reads from outside; numbers and nests are as they were.

    Calling it returns new results, or those that were bound as ``out``. Raises what the call would
    when it is bound, and ShapeError at a call when an array has another size by then.
    """

    if TYPE_CHECKING:

        def __call__(self) -> R:
            """Return what the call returns."""

    @boundary
    def __init__(
        self, owner: Any, method: Method, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if is_tracing():
            raise TraceError(
                "a call cannot be bound inside a function that is traced",
                help="call the function itself",
            )
        # nests as they are now; their arrays are the same ones
        self._args, self._kwargs = flags.copied((args, kwargs))
        self._owner, self._method = owner, method
        self._bound = [
            (leaf, leaf.dtype, leaf.shape)
            for leaf in flags.leaves((self._args, self._kwargs))
            if isinstance(leaf, np.ndarray)
        ]
        again = functools.partial(BoundCall, owner, method, self._args, self._kwargs)
        call, learner = quick_call(self, BoundCall._answer, again, "bound", called=True)
        self.be_called(call)
        version = cells.version()
        prepared = self._prepared()
        if isinstance(prepared, Prepared):
            learner.add(Call(learner, (), {}, version), _known(prepared))

    def _prepared(self) -> Any:
        call = Call(None, self._args, dict(self._kwargs), cells.version())
        return self._method(self._owner, call, *self._args, **self._kwargs)

    def _answer(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args or kwargs:
            raise TraceError(
                "a bound call takes no arguments: it has those that it was bound with",
                help="bind it again with others",
            )
        for array, dtype, shape in self._bound:
            if array.shape != shape or array.dtype != dtype:
                raise ShapeError(
                    "an array that a call was bound with has another size by now",
                    found=f"bound as {Type(dtype_of(dtype), shape)}, now "
                    f"{Type(dtype_of(array.dtype), array.shape)}",
                    help="bind the call again",
                )
        found = self._prepared()
        return call.answer(_known(found)) if isinstance(found, Prepared) else found

    def __reduce__(self) -> Any:
        """Pickle with the arguments as they are now."""
        return BoundCall, (self._owner, self._method, self._args, self._kwargs)

    def __repr__(self) -> str:
        return f"<bound call of {self._owner!r}>"


def _known(prepared: Prepared) -> Prepared:
    """Return a call whose arguments are the same objects at all calls."""
    inputs, pushed = _leaf_by_leaf(prepared.inputs), _leaf_by_leaf(prepared.pushed)
    out = prepared.out
    if out is not None:
        out.is_known = True
    return prepared._replace(inputs=inputs, pushed=pushed, others=(), groups=((), ()))


def _leaf_by_leaf(parts: Any) -> list[Part]:
    found = []
    for part in parts:
        leaves = [part.value] if part.structure is None else flags.leaves(part.value)
        steady = len(leaves) == len(part.arrays)
        for i, (array, number) in enumerate(zip(part.arrays, part.numbers)):
            leaf = leaves[i] if steady else array
            found.append(Part((), leaf, None, (array,), (number,), is_known=True))
    return found
