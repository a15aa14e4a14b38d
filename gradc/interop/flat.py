"""A function of leaves to leaves, and the functions that its derivatives are, to any order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.api.compile import compiled
from gradc.api.compiled import Compiled
from gradc.api.transforms import jvp, vjp
from gradc.api.vmap import vmap
from gradc.arguments import pytree
from gradc.exports.bake import EVERY
from gradc.exports.kinds import VALUE
from gradc.exports.plan import Asked, Plan, plan
from gradc.runtime.specialize import working
from gradc_ir.core.types import Type
from gradc_ir.text.spec import print_spec

Leaves = tuple[Any, ...]


class Flat:
    """A function from arrays to a tuple of arrays, with what hosts ask of it.

    Each of its derivatives is one again, made once, so that a host can differentiate any number of
    times.

    Parameters
    ----------
    function: takes leaves and returns a tuple of them; it can be traced.
    name: for kernels and errors.
    owner: the compiled function whose options hold.

    Attributes
    ----------
    pulled_from: the function whose cotangents it computes, by which of how many arguments; None for
        what is no such function.
    """

    def __init__(
        self, function: Callable[..., Leaves], name: str, owner: Compiled[..., Any]
    ) -> None:
        self.function = function
        self.name = name
        self.owner = owner
        self.pulled_from: tuple[Flat, tuple[int, ...], int] | None = None
        self._derived: dict[Any, Flat] = {}
        self._pairs: dict[tuple[int, ...], Compiled[..., tuple[Leaves, Leaves]]] = {}

    @functools.cached_property
    def compiled(self) -> Compiled[..., Leaves]:
        """The function, compiled."""
        made: Compiled[..., Leaves] = self.owner.like(self.function)
        made.__name__ = self.name
        return made

    def planned(self, types: Sequence[Type]) -> Plan:
        """Return how the kernel for these types is made, with captured arrays as constants."""
        names = [f"x{i}" for i in range(len(types))]
        text = f"lambda {', '.join(names)}: function({', '.join(names)})"
        form = self.owner.like(eval(text, {"function": self.function}))
        spec = print_spec(list(zip(names, types)))
        with working():
            return plan(form, Asked(self.name, (spec,), (VALUE,), bake=EVERY))

    def pushed(self, moved: Sequence[int], count: int) -> Flat:
        """Return the tangents of the float results, of ``count`` arguments and some tangents.

        ``moved`` are the arguments that have one, in the order in which tangents follow.
        """
        moved = tuple(moved)

        def push(*given: Any) -> Leaves:
            at: list[Any] = [None] * count
            for i, tangent in zip(moved, given[count:]):
                at[i] = tangent
            values, tangents = jvp(self.function, given[:count], tuple(at))
            return tuple(t for v, t in zip(values, tangents) if _is_float(v))

        return self._kept(("pushed", moved, count), push, "jvp")

    def pulled(self, moved: Sequence[int], count: int) -> Flat:
        """Return the cotangents of ``moved`` arguments, of all and of one a float result."""
        moved = tuple(moved)

        def pull(*given: Any) -> Leaves:
            arguments = given[:count]

            def of_moved(*parts: Any) -> Leaves:
                every = list(arguments)
                for i, part in zip(moved, parts):
                    every[i] = part
                return self.function(*every)

            values, back = vjp(of_moved, *(arguments[i] for i in moved))
            rest = iter(given[count:])
            return tuple(back(tuple(next(rest) if _is_float(v) else None for v in values)))

        found = self._kept(("pulled", moved, count), pull, "vjp")
        found.pulled_from = self, moved, count
        return found

    def with_gradient(self, moved: Sequence[int]) -> Flat:
        """Return the value, and behind it the gradient by ``moved`` arguments, of one kernel.

        What does not return one float alone is returned as it is.
        """
        moved = tuple(moved)

        def both(*given: Any) -> Leaves:
            values, gradients = self._with_gradient(moved, given)
            return (*values, *gradients)

        return self._kept(("gradient", moved), both, "grad")

    def paired(self, moved: Sequence[int]) -> Compiled[..., tuple[Leaves, Leaves]]:
        """Return the compiled pair of ``(values, gradients)``, of which the second may be empty."""
        moved = tuple(moved)
        found = self._pairs.get(moved)
        if found is None:
            found = self.owner.like(lambda *given: self._with_gradient(moved, given))
            found.__name__ = self.name
            self._pairs[moved] = found
        return found

    def _with_gradient(self, moved: tuple[int, ...], given: Sequence[Any]) -> tuple[Leaves, Leaves]:
        def of_moved(*parts: Any) -> Leaves:
            every = list(given)
            for i, part in zip(moved, parts):
                every[i] = part
            return self.function(*every)

        values, back = vjp(of_moved, *(given[i] for i in moved))
        if len(values) != 1 or values[0].shape != () or not _is_float(values[0]):
            return values, ()
        return values, tuple(back((np.ones((), values[0].dtype),)))

    def chosen(self, positions: Sequence[int]) -> Flat:
        """Return the function with some of its results alone."""
        positions = tuple(positions)
        if self.pulled_from is not None:  # whose results are one a moved argument
            origin, moved, count = self.pulled_from
            return origin.pulled([moved[i] for i in positions], count)

        def some(*given: Any) -> Leaves:
            results = self.function(*given)
            return tuple(results[i] for i in positions)

        return self._kept(("chosen", positions), some, "part")

    def mapped(self, flags: Sequence[bool]) -> Flat:
        """Return the function over a leading axis of the arguments that are flagged."""
        axes = tuple(0 if flag else None for flag in flags)
        return self._kept(("mapped", axes), vmap(self.function, axes), "batch")

    def _kept(self, key: Any, function: Callable[..., Leaves], suffix: str) -> Flat:
        found = self._derived.get(key)
        if found is None:
            found = self._derived[key] = Flat(function, f"{self.name}_{suffix}", self.owner)
        return found


def flat_of(
    function: Callable[..., Any], rebuild: Callable[[Sequence[Any]], tuple[Any, dict[str, Any]]]
) -> tuple[Flat, Callable[[Sequence[Any]], Any]]:
    """Return a function of leaves, and what puts its results back into the nest they are in.

    Parameters
    ----------
    rebuild: makes positional and named arguments of the leaves.
    """
    owner = compiled(function)
    trees: list[pytree.Structure] = []

    def of_leaves(*leaves: Any) -> Leaves:
        args, kwargs = rebuild(leaves)
        found, structure = pytree.flatten(owner(*args, **kwargs))
        trees[:] = [structure]
        return tuple(found)

    def nest(results: Sequence[Any]) -> Any:
        return pytree.unflatten(trees[0], results)

    name = owner.__name__ if owner.__name__.isidentifier() else "kernel"
    return Flat(of_leaves, name, owner), nest


def _is_float(value: Any) -> bool:
    return bool(np.issubdtype(value.dtype, np.floating))
