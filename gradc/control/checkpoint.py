"""Functions whose inner values reverse mode computes again instead of keeping them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from gradc.arguments import pytree
from gradc.control.bodies import check_callable, record, union
from gradc.control.leaf_types import leaf_type_of, tracers_of, values_of
from gradc.parallel.by_value import Travels
from gradc.traceback import boundary
from gradc.tracing import Tracer, call, current
from gradc_ir import build

_NUMBERS = (int, float, np.generic)
_TITLE = "gradc.checkpoint"
_RETURN = "return numbers and arrays, in any nest of dict, list and tuple"
_WHY_FIXED = (
    "it is an argument of a function under gradc.checkpoint, which runs more than once: assign to "
    "a copy, x = x.copy(), and return it"
)


@boundary
def checkpoint(fn: Callable[..., Any]) -> Checkpointed:
    """Return a function like ``fn`` whose inner values are not kept for reverse mode.

    Reverse mode keeps its arguments and what it reads from outside, and runs it once more where
    its cotangents are needed: less memory for one more evaluation. In the body of a loop it limits
    what each step keeps; ``gradc.scan(…, checkpoint=…)`` limits the number of steps that are kept.
    The value, forward mode and ``gradc.vmap`` are those of ``fn``. To be used as a decorator, too.

    Parameters
    ----------
    fn: any function of nests, to a nest. It is not to assign to arrays of its caller.

    Outside of traced code the function just calls ``fn``. Raises TraceError when ``fn`` is no
    function, and in traced code when it assigns to an argument.
    """
    check_callable(_TITLE, "fn", fn)
    return Checkpointed(fn)


class Checkpointed(Travels):
    """A function that is recorded as one node; see :func:`checkpoint`."""

    __gradc_parts__: ClassVar = ("__wrapped__",)

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.__wrapped__ = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the function returns; by NumPy when nothing is being traced."""
        if current() is not None:
            return self.__gradc_trace__(*args, **kwargs)
        return self.__wrapped__(*args, **kwargs)

    def __gradc_pickled__(self) -> Any:
        """Return the function."""
        return self.__wrapped__

    def __setstate__(self, function: Callable[..., Any]) -> None:
        """Become what was pickled."""
        Checkpointed.__init__(self, function)

    def __gradc_trace__(self, *args: Any, **kwargs: Any) -> Any:
        """Build one ``checkpoint`` node in the trace that calls the function.

        Its operands are what it captures and the traced leaves of its arguments; other leaves,
        such as axis=0, stay what they are.
        """
        leaves, structure = pytree.flatten((args, kwargs))
        places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tracer)]
        given = [leaves[i] for i in places]

        def run(inner: list[Tracer]) -> tuple[Any]:
            filled = list(leaves)
            for i, tracer in zip(places, inner, strict=True):
                tracer._why_fixed = _WHY_FIXED
                filled[i] = tracer
            inner_args, inner_kwargs = pytree.unflatten(structure, filled)
            return (call(self.__wrapped__, *inner_args, **inner_kwargs),)

        leaf_types = [leaf_type_of(leaf) for leaf in given]
        arguments = [(pytree.flatten(given)[1], leaf_types)]
        body = record(_TITLE, self.__wrapped__, run, arguments, [("result", _RETURN)])
        (result,) = body.results
        captured = union([body])
        function = body.closed(captured, body.leaf_types)
        results = build.checkpoint(function, [*captured, *values_of(given)])
        # a number that is known while tracing stays known
        found = [
            leaf if isinstance(leaf, _NUMBERS) else tracer
            for leaf, tracer in zip(result.leaves, tracers_of(results, body.leaf_types))
        ]
        return pytree.unflatten(result.structure, found)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method."""
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<gradc.checkpoint {getattr(self, '__name__', 'function')}>"
