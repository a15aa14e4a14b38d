"""A call for which all is compiled: what its arguments become, what runs, what it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gradc.arguments import flags
from gradc.arguments.flags import exact_key
from gradc.calls.outputs import Outputs
from gradc.calls.signature import Bound, number_kind
from gradc.calls.tangents import as_tuple, like_argument
from gradc.runtime.executable import Executable
from gradc.runtime.specialize import Specialization
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.binding import bind_sizes
from gradc_ir.core.sizes import evaluate
from gradc_ir.core.types import Array, Type
from gradc_ir.errors import ShapeError


class Part(NamedTuple):
    """A part of a call whose leaves are inputs of the kernel.

    Parameters
    ----------
    path: the position or the name of the argument, then positions in tuples; the part itself where
        it is known; see ``is_known``.
    value: the object that is there.
    structure: its nest, None for a leaf alone.
    arrays: what its leaves were taken as.
    numbers: of each leaf, whether it is a Python number; as of Bound.
    is_known: whether it is the same at all calls, and no argument of theirs.
    """

    path: tuple[Any, ...]
    value: Any
    structure: Any
    arrays: tuple[Array, ...]
    numbers: tuple[Any, ...]
    is_known: bool = False


class Results(NamedTuple):
    """What the results of a kernel are to the user.

    Parameters
    ----------
    nest: takes all of them to what the call returns.
    numbers: of how many the ones without axes are numbers.
    counts: whether the last one is how many elements were not finite; nest takes that, too.
    second: what is made of those after the first ``numbers``, put beside the nest of those.
    """

    nest: Callable[[Sequence[Any]], Any]
    numbers: int
    counts: bool = False
    second: Any = None


class Prepared(NamedTuple):
    """A call that only has to be run.

    Parameters
    ----------
    executable: what is run.
    made: the specialization, whose captures and guards are read; None where there are none.
    inputs: the parts that are arguments of the function, in order.
    pushed: those after what is captured: tangents, cotangents.
    results: what comes of it.
    others: arguments and entries that must be the same objects: options, static ones, Nones.
    groups: which leaves of some inputs are one array; empty where that does not matter.
    out: the arrays that results are written into.
    static: static arguments and structures, which tell kinds of calls apart.
    is_quick: whether a plan may be made of it.
    """

    executable: Executable
    made: Specialization | None
    inputs: Sequence[Part]
    pushed: Sequence[Part]
    results: Results
    others: Sequence[tuple[tuple[Any, ...], Any]] = ()
    groups: tuple[Sequence[int], Sequence[int]] = ((), ())
    out: Outputs | None = None
    static: Any = ()
    is_quick: bool = True

    @property
    def kind(self) -> Any:
        """What tells calls apart that may go by different plans; hashable if static values are."""
        parts = (*self.inputs, *self.pushed)
        return (
            self.static,
            tuple([tuple([array.shape for array in part.arrays]) for part in parts]),
            tuple([part.numbers for part in parts]),
            None if self.out is None else self.out.kind,
            self.groups,
        )

    def arrays(self) -> list[Array]:
        """Return the arrays to run on, captured ones read now; show what the function prints."""
        leaves = [array for part in self.inputs for array in part.arrays]
        found = leaves if self.made is None else self.made.arrays(leaves)
        return [*found, *(array for part in self.pushed for array in part.arrays)]

    def run(self) -> Any:
        """Return what the call returns; with arrays for it, the results are written into those."""
        results = self.executable(self.arrays())
        if self.out is None:
            return self.results.nest(results)
        if self.results.counts:
            *results, count = results
            return self.out.filled(results), count
        return self.out.filled(results)

    def with_out(self, out: Any, is_known: bool = False) -> Prepared:
        """Return the call with its results written into arrays, if there are any."""
        if out is None:
            return self
        leaves = [array for part in self.inputs for array in part.arrays]
        captured = [] if self.made is None else [one.read() for one in self.made.traced.captures]
        pushed = [array for part in self.pushed for array in part.arrays]
        types = result_types(self.executable, [*leaves, *captured, *pushed])
        nest = self.results.nest
        if self.results.counts:
            types = types[:-1]
            return self._replace(
                out=Outputs(out, lambda found: nest([*found, 0])[0], types, is_known)
            )
        return self._replace(out=Outputs(out, nest, types, is_known))


def parts_of(
    bound: Bound, paths: dict[str, tuple[Any, ...]]
) -> tuple[list[Part], list[tuple[tuple[Any, ...], Any]], bool]:
    """Return the arguments of a function as parts of a call, by their paths in it.

    Also returns the static ones, which must be the same again, and whether a plan may be made: all
    have a path, and none is a static array, which may have other elements by then.
    """
    parts, known = [], not any(isinstance(value, np.ndarray) for _, value in bound.static)
    for i, (name, structure, span) in enumerate(zip(bound.names, bound.structure, bound.spans)):
        path = paths.get(name)
        known = known and path is not None
        parts.append(
            Part(
                path or (),
                bound.values[i] if bound.values else None,
                structure,
                bound.leaves[span.start : span.stop],
                bound.numbers[span.start : span.stop],
            )
        )
    static = [(paths[name], value) for name, value in bound.static if name in paths]
    return parts, static, known


def static_of(bound: Bound) -> Any:
    """Return what tells calls with these static arguments and flags from others."""
    static = tuple([(name, exact_key(value)) for name, value in bound.static])
    return bound.names, static, tuple(bound.structure)


def pushed_parts(
    bound: Bound, tangents: Sequence[Any], pushed: Sequence[Array], path: tuple[Any, ...]
) -> tuple[list[Part], list[tuple[tuple[Any, ...], Any]], bool]:
    """Return tangents of all arguments as parts of a call that has them in the tuple at a path.

    ``pushed`` are their leaves as they were taken. Also returns those that are None, which must be
    so again, and whether a plan may be made: not where an argument has leaves that are no floats.
    """
    parts: list[Part] = []
    others: list[tuple[tuple[Any, ...], Any]] = []
    rest = iter(pushed)
    for i, tangent in enumerate(tangents):
        if tangent is None:
            others.append(((*path, i), None))
            continue
        arrays = [bound.leaves[leaf] for leaf in bound.spans[i]]
        if any(array.dtype.kind != "f" for array in arrays):
            return [Part((), None, None, tuple(pushed), ())], [], False
        parts.append(part_of((*path, i), tangent, [next(rest) for _ in arrays]))
    return parts, others, True


def vector_parts(bound: Bound, positions: Sequence[int], vector: Any, several: bool) -> list[Part]:
    """Return the vector of a call of an hvp, its second argument, as parts of the call.

    Raises ShapeError unless there is one for each position, of the nest and shapes of its argument.
    """
    given = as_tuple(vector, "vector") if several else (vector,)
    if len(given) != len(positions):
        raise ShapeError(f"hvp: {len(positions)} arguments in wrt but {len(given)} vectors")
    return [
        part_of((1, i) if several else (1,), part, like_argument(bound, position, part, "vector"))
        for i, (position, part) in enumerate(zip(positions, given))
    ]


def part_of(path: tuple[Any, ...], value: Any, arrays: Sequence[Array]) -> Part:
    """Return a nest in a call as a part, whose leaves were taken as these arrays."""
    leaves, structure = flags.flatten(value)
    alone = len(leaves) == 1 and leaves[0] is value
    numbers = tuple(map(number_kind, leaves))
    return Part(path, value, None if alone else structure, tuple(arrays), numbers)


def result_types(executable: Executable, arrays: Sequence[Array]) -> list[Type]:
    """Return the types of what is computed from arrays, with the sizes it will have."""
    function = executable.function
    sizes = bind_sizes(function.param_types, [array.shape for array in arrays])
    return [
        type_.with_shape(tuple([evaluate(size, sizes) for size in type_.shape]))
        for type_ in function.result_types[: len(function.results) - executable.hidden]
    ]


def options_of(
    given: Mapping[str, Any], arguments: Iterable[str]
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield what a call passed by name that is no argument of the function, nor ``out``."""
    for name, value in given.items():
        if name not in arguments and name != "out":
            yield (name,), value
