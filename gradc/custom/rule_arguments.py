"""The arguments of one call of a function with rules of its own, and what rules return for them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gradc.arguments import pytree
from gradc.tracing import Tracer
from gradc.tracing.core import source
from gradc.tracing.core.selection import Selection
from gradc.tracing.core.source import trace_error
from gradc_ir.errors import GradientArityError
from gradc_ir.location import Location

AnyFunction = Callable[..., Any]


class Arguments:
    """The arguments of a call, bound by the function's signature.

    Parameters
    ----------
    function: what is called.
    name: what errors call it.
    args, kwargs: as they are given.
    defaults: whether rules are given the defaults of what is left out.

    Attributes
    ----------
    leaves: the leaves of all arguments, in the order of the signature.
    traced: the positions of leaves that are numbers; others, such as axis=0, stay what they are.
    """

    def __init__(
        self,
        function: AnyFunction,
        name: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        defaults: bool,
    ) -> None:
        self.function = function
        self.name = name
        bound = self._bound(args, kwargs)
        given = set(bound.arguments)
        if defaults:
            bound.apply_defaults()
        self.positional = len(bound.args)
        self.keywords = tuple(bound.kwargs)
        self.values = [*bound.args, *bound.kwargs.values()]
        self.names = self._names()
        self.is_given = [name in given or name not in bound.arguments for name in self.names]
        flat = [pytree.flatten(value) for value in self.values]
        self.structures = [structure for _, structure in flat]
        self.leaves = [leaf for leaves, _ in flat for leaf in leaves]
        for leaf in self.leaves:
            if isinstance(leaf, Selection):
                raise leaf.refused(f"be an argument of {name}", at=source.location())
        self.numeric = [any(map(_is_number, leaves)) for leaves, _ in flat]
        self.is_traced = [any(map(_is_traced, leaves)) for leaves, _ in flat]
        self.traced = [i for i, leaf in enumerate(self.leaves) if _is_traced(leaf)]

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> inspect.BoundArguments:
        try:
            return signature_of(self.function).bind(*args, **kwargs)
        except TypeError as error:
            raise trace_error(
                f"{self.name}: {error}",
            ) from None

    def _names(self) -> list[str]:
        names: list[str] = []
        for parameter in signature_of(self.function).parameters.values():
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                names.append(parameter.name)
        further = range(len(names), self.positional)
        names = [*names[: self.positional], *(f"argument {i}" for i in further)]
        return [*names, *self.keywords]

    def nests(self, leaves: Sequence[Any], rest: Sequence[Any] | None = None) -> list[Any]:
        """Return the arguments with other values for the traced leaves.

        ``rest``: what stands for the other leaves, by default they themselves.
        """
        filled = list(self.leaves if rest is None else rest)
        for i, leaf in zip(self.traced, leaves, strict=True):
            filled[i] = leaf
        iterator = iter(filled)
        return [
            pytree.unflatten(structure, [next(iterator) for _ in range(structure.leaves)])
            for structure in self.structures
        ]

    def call_form(self, leaves: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the same as positional arguments and keywords."""
        values = self.nests(leaves)
        keywords = dict(zip(self.keywords, values[self.positional :]))
        return values[: self.positional], keywords

    def paths(self) -> list[str]:
        """Return how each traced leaf is reached, such as ``p.w``."""
        every = [path for pair in zip(self.values, self.names) for path in pytree.paths(*pair)]
        return [every[i] for i in self.traced]

    def by_leaf(self, rule: AnyFunction, found: Any, what: str = "gradient") -> list[Any]:
        """Return what a rule returned, one a traced leaf; None where it says nothing.

        Left out may be arguments that are not traced, such as ``self`` or a power that is an
        integer, and those the caller left out.
        Raises GradientArityError when the count does not fit.
        """
        every = range(len(self.values))
        for chosen in (
            list(every),
            [i for i in every if self.numeric[i]],
            [i for i in every if self.is_traced[i]],
            [i for i in every if self.is_traced[i] and self.is_given[i]],
        ):
            parts = self._by_argument(found, chosen)
            if parts is not None:
                by_argument = dict(zip(chosen, parts))
                missing = [[None] * structure.leaves for structure in self.structures]
                flat = [leaf for i in every for leaf in by_argument.get(i, missing[i])]
                return [flat[i] for i in self.traced]
        raise self.wrong_count(rule, found, "", what)

    def _by_argument(self, found: Any, chosen: Sequence[int]) -> list[list[Any]] | None:
        """Return the leaves of each chosen argument, None when what was found does not fit."""
        structures = [self.structures[i] for i in chosen]
        if len(chosen) == 1:
            only = pytree.leaves_like(found, structures[0])
            if only is not None:
                return [only]
        if not isinstance(found, tuple | list):
            return None
        if len(found) == len(chosen):
            parts = [pytree.leaves_like(part, like) for part, like in zip(found, structures)]
            if all(part is not None for part in parts):
                return [part or [] for part in parts]
        if len(found) == sum(structure.leaves for structure in structures):
            rest = iter(found)
            if not any(map(_is_nest, found)):
                return [[next(rest) for _ in range(like.leaves)] for like in structures]
        return None

    def wrong_count(
        self, rule: AnyFunction, found: Any, wanted: str, what: str = "gradient"
    ) -> GradientArityError:
        """Return the error for a rule that returns more or fewer gradients than are wanted."""
        count = len(found) if isinstance(found, tuple | list) else 1
        names = [name for name, numeric in zip(self.names, self.numeric) if numeric]
        return GradientArityError(
            f"the {what} of {self.name} returned {counted(count, what)}, "
            f"but {self.name} has {counted(len(names), 'argument')}",
            at=line_of(rule),
            found=f"expected: {wanted or ', '.join(names)}",
            help=f"return one {what} for each argument, in their order; None for a zero {what}",
        )


def line_of(function: Any) -> Location | None:
    """Return the line on which a function is defined."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code and source.definition(code)


def signature_of(function: AnyFunction) -> inspect.Signature:
    """Return a function's signature, that of any arguments where it tells none."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):  # some of NumPy's functions have none
        return inspect.signature(lambda *args, **kwargs: None)


def takes(rule: AnyFunction, name: str) -> bool:
    """Whether a rule has a parameter of this name."""
    return name in signature_of(rule).parameters


def counted(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _is_traced(leaf: Any) -> bool:
    return isinstance(leaf, Tracer | np.ndarray | np.generic | float)


def _is_number(leaf: Any) -> bool:
    return _is_traced(leaf) or isinstance(leaf, int)


def _is_nest(found: Any) -> bool:
    return isinstance(found, tuple | list | dict)
