"""Arguments of a call: bound to parameters, flattened to arrays, checked."""

from __future__ import annotations

import inspect
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from gradc.arguments import flags, pytree
from gradc.arguments.as_array import as_array
from gradc.calls.variable import Variable
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import Array, Type, dtype_of
from gradc_ir.errors import DTypeError, TraceError

Entry: TypeAlias = int | str | Variable
Wrt: TypeAlias = Entry | Sequence[Entry]
Number: TypeAlias = type | None


class Bound(NamedTuple):
    """The arguments of one call.

    ``names`` and ``values`` are the parameters and what was given for them, static ones left out;
    ``static`` holds those. ``leaves`` are the arrays of all values in order, ``structure`` their
    nest, ``spans`` the range of leaves of each value, ``numbers`` the kind of each leaf.
    ``places`` are the names that a position of ``wrt`` counts: also those of parameters that are
    left to default values, which are no values of the call.
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    static: tuple[tuple[str, Any], ...]
    leaves: tuple[Array, ...]
    numbers: tuple[Number, ...]
    structure: Any
    spans: tuple[range, ...]
    places: tuple[str, ...]

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the leaves."""
        return tuple(leaf.shape for leaf in self.leaves)

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of the leaves."""
        return tuple(Type(dtype_of(leaf.dtype), leaf.shape) for leaf in self.leaves)

    @property
    def paths(self) -> list[str]:
        """How each leaf is reached, such as ``p.w``."""
        return [path for position in range(len(self.names)) for path in self.paths_at(position)]

    def paths_at(self, position: int) -> list[str]:
        """Return how each leaf of a value is reached."""
        name, structure = self.names[position], self.structure[position]
        return [name] if structure is None else flags.paths(structure, name)

    def steers(self, position: int) -> bool:
        """Whether a value is a flag, of which the graph is made, and holds no number."""
        structure = self.structure[position]
        return structure is not None and flags.is_lone_flag(structure)

    @property
    def flags(self) -> dict[str, Any]:
        """What steers the function, by how it is reached; static arguments are not among it."""
        return {
            path: flag
            for name, structure in zip(self.names, self.structure)
            if structure is not None
            for path, flag in flags.described(structure, name).items()
        }

    def fixing(self, leaves: Iterable[int]) -> Bound:
        """Return these arguments with some integers, by their leaves, as flags; arrays stay."""
        fixed = [i for i in leaves if self.numbers[i] in (int, WideInteger, np.integer)]
        if not fixed:
            return self
        given: list[Any] = [*self.leaves]
        for i in fixed:
            given[i] = given[i][()] if self.numbers[i] is np.integer else int(given[i])
        numbers = [number for i, number in enumerate(self.numbers) if i not in fixed]
        pairs = tuple(zip(self.names, self.nests(given)))
        bound = flatten_arguments(pairs, self.static, self.places, fixed=frozenset(fixed))
        return bound._replace(values=self.values, numbers=tuple(numbers))

    def followed_by(self, more: Bound) -> Bound:
        """Return these arguments and, after them, others."""
        start = len(self.leaves)
        spans = tuple(range(span.start + start, span.stop + start) for span in more.spans)
        return Bound(*map(operator.add, self, more._replace(spans=spans)))

    def nests(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Return other leaves in the nests of these arguments."""
        return tuple(
            leaves[span.start]
            if structure is None
            else pytree.unflatten(structure, leaves[span.start : span.stop])
            for structure, span in zip(self.structure, self.spans)
        )

    def with_floats(self, positions: Iterable[int]) -> Bound:
        """Return these arguments with floats of the same value for integers at some positions."""
        leaves, numbers = list(self.leaves), list(self.numbers)
        for leaf in leaves_of(self, [i for i in positions if i < len(self.spans)]):
            if leaves[leaf].dtype.kind != "f":
                leaves[leaf], numbers[leaf] = leaves[leaf].astype(np.float64), None
        return self._replace(leaves=tuple(leaves), numbers=tuple(numbers))

    def without_arrays(self) -> Bound:
        """Return the same without the arrays, to be kept after the call."""
        return self._replace(values=(), leaves=())


NamedValues: TypeAlias = tuple[tuple[str, Any], ...]


class Pairs(NamedTuple):
    """Arguments with their names: those that are values, the static ones, and what wrt counts."""

    dynamic: NamedValues
    static: NamedValues
    places: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the values."""
        return tuple([name for name, _ in self.dynamic])


def definition(function: Any) -> tuple[Any, ...]:
    """Return what a reload puts anew into a function that stays: its code and default values."""
    function = getattr(function, "__func__", function)
    return tuple(
        getattr(function, name, None) for name in ("__code__", "__defaults__", "__kwdefaults__")
    )


class Parameters:
    """The parameters of a function, and how calls bind to them."""

    def __init__(self, function: Callable[..., Any], static: Sequence[str | int] = ()) -> None:
        self._made_of = definition(function)
        self.name = getattr(function, "__name__", type(function).__name__)
        try:
            self.signature = inspect.signature(function)
        except (TypeError, ValueError):
            raise TraceError(
                f"{self.name} has no signature that Python could tell",
                help=f"wrap it: lambda x: {self.name}(x)",
            ) from None
        self.names = tuple(self.signature.parameters)
        kinds = {p.kind for p in self.signature.parameters.values()}
        self.plain = kinds <= {inspect.Parameter.POSITIONAL_OR_KEYWORD}
        self.static = frozenset(self._static_name(entry) for entry in listed(static))

    def current(self, function: Callable[..., Any]) -> Parameters:
        """Return these, or new ones when the function has other code or default values by now."""
        found = definition(function)
        if all(new is old for new, old in zip(found, self._made_of)):
            return self
        made = Parameters(function)
        made.static = self.static & frozenset(made.names)
        return made

    def add_static(self, entry: str | int) -> None:
        """Make one more parameter static."""
        self.static = self.static | {self._static_name(entry)}

    def _static_name(self, entry: str | int) -> str:
        if isinstance(entry, int) and -len(self.names) <= entry < len(self.names):
            return self.names[entry]
        if entry in self.names:
            return str(entry)
        raise TraceError(
            f"static: {self.name} has no parameter {entry!r}",
            found=f"parameters: {', '.join(self.names)}",
        )

    def refuse(self, reserved: Sequence[str], method: str) -> None:
        """Refuse the method form for a function with a parameter of a reserved name."""
        for name in reserved:
            if name in self.names:
                raise TraceError(
                    f"{self.name} has a parameter called {name!r}, which .{method} reads itself",
                    help=f"use gradc.{method}({self.name}, …)(…) instead",
                )

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any], wrt: Wrt = ()) -> Bound:
        """Bind a call's arguments; raises TraceError if they do not fit, DTypeError for a leaf."""
        return flatten_arguments(*self.pairs(args, kwargs, wrt))

    def positional(self, count: int) -> list[str]:
        """Return what the first arguments of a call are called, as they are bound."""
        found: list[str] = []
        for name, parameter in self.signature.parameters.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                found += [f"{name}[{i}]" for i in range(count - len(found))]
            elif parameter.kind is not parameter.VAR_KEYWORD:
                found.append(name)
        return found[:count]

    def pairs(self, args: Sequence[Any], kwargs: Mapping[str, Any], wrt: Wrt = ()) -> Pairs:
        """Return a call's arguments with their names, in the order of parameters.

        A parameter that is left to its default value is among them when that is an array, which may
        change, or when ``wrt`` asks for it. Any other default is left to the function, where it is
        a known value. Raises TraceError where Python would raise TypeError.
        """
        if self.plain and not kwargs and len(args) == len(self.names) and not self.static:
            return Pairs(tuple(zip(self.names, args)), (), self.names)
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TraceError(f"{self.name}(): {error}") from None
        given = set(bound.arguments)
        bound.apply_defaults()
        dynamic: list[tuple[str, Any]] = []
        static: list[tuple[str, Any]] = []
        left: set[str] = set()
        for name, value in bound.arguments.items():
            kind = self.signature.parameters[name].kind
            pairs = static if name in self.static else dynamic
            if kind is inspect.Parameter.VAR_POSITIONAL:
                pairs += [(f"{name}[{i}]", item) for i, item in enumerate(value)]
            elif kind is inspect.Parameter.VAR_KEYWORD:
                pairs += list(value.items())
            elif name in given or name not in self.static:
                pairs.append((name, value))
                left |= {name} - given
        names = [name for name, _ in (*dynamic, *static)]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise TraceError(
                f"{self.name}(): two arguments are called {twice!r}",
                help="rename the positional parameter, or the one in **",
            )
        places = tuple(name for name, _ in dynamic)
        if left:
            left -= asked(wrt, places)
            dynamic = [
                pair for pair in dynamic if pair[0] not in left or isinstance(pair[1], np.ndarray)
            ]
        return Pairs(tuple(dynamic), tuple(static), places)

    def with_asked(
        self, bound: Bound, types: Sequence[Type], wrt: Wrt
    ) -> tuple[Bound, Sequence[Type]]:
        """Return arguments and types, and after them what ``wrt`` asks for among the defaults."""
        wanted = asked(wrt, bound.places) - {*bound.names, *(name for name, _ in bound.static)}
        defaults = [
            (name, parameter.default)
            for name, parameter in self.signature.parameters.items()
            if name in wanted and parameter.default is not parameter.empty
        ]
        if not defaults:
            return bound, types
        more = flatten_arguments(defaults)
        return bound.followed_by(more), [*types, *more.types]

    def call_form(
        self, names: Sequence[str], values: Sequence[Any], static: NamedValues = ()
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return named values, in the order of parameters, as positional and keyword arguments.

        From the first parameter on that is left to its default they are passed by name. Static
        values are marked as such.
        """
        given = dict(zip(names, values)) | {name: flags.Static(value) for name, value in static}
        args: list[Any] = []
        by_name: dict[str, Any] = {}
        leading = True
        for name, parameter in self.signature.parameters.items():
            if parameter.kind is parameter.VAR_POSITIONAL:
                for i in itertools.takewhile(lambda i: f"{name}[{i}]" in given, itertools.count()):  # noqa: B023
                    args.append(given.pop(f"{name}[{i}]"))
            elif parameter.kind is parameter.VAR_KEYWORD:
                continue
            elif name not in given:
                leading = False
            elif parameter.kind is parameter.KEYWORD_ONLY or not leading:
                by_name[name] = given.pop(name)
            else:
                args.append(given.pop(name))
        return tuple(args), by_name | given

    def positions(self, wrt: Wrt, bound: Bound | Pairs) -> tuple[int, ...]:
        """Return the positions, among the bound values, that ``wrt`` names."""
        found = []
        for entry in listed(choose_wrt(wrt, {})):
            if not isinstance(entry, str):
                if not -len(bound.places) <= entry < len(bound.places):
                    raise TraceError(
                        f"wrt: {self.name} has {len(bound.places)} parameters, not position {entry}"
                    )
                entry = bound.places[entry]
            if entry in self.static:
                given = dict(bound.static).get(entry, self.signature.parameters[entry].default)
                raise static_argument(self.name, entry, given, bound.names)
            if entry not in bound.names:
                raise TraceError(
                    f"wrt: {self.name} has no parameter {entry!r} to differentiate by",
                    found=f"parameters: {', '.join(bound.places)}",
                )
            found.append(bound.names.index(entry))
        return tuple(found)


def static_argument(name: str, chosen: str, value: Any, others: Sequence[str]) -> TraceError:
    """Return the error for an argument to differentiate by that steers a function."""
    return TraceError(
        f"wrt: {chosen} is static: it steers {name}, and there is no derivative by it",
        found=f"{chosen} = {value!r:.60}",
        help=f"differentiate by {' or '.join(others)}" if others else "pass numbers or arrays",
    )


def asked(wrt: Wrt, places: Sequence[str]) -> set[str]:
    """Return the names that ``wrt`` asks for, as far as there are such parameters."""
    found = set()
    for entry in listed(choose_wrt(wrt, {})):
        if isinstance(entry, str):
            found.add(entry)
        elif -len(places) <= entry < len(places):
            found.add(places[entry])
    return found


def listed(entries: Any) -> tuple[Any, ...]:
    """Return entries as a tuple, also a single one."""
    return tuple(entries) if isinstance(entries, (tuple, list)) else (entries,)


def flatten_arguments(
    pairs: Sequence[tuple[str, Any]],
    static: NamedValues = (),
    places: tuple[str, ...] = (),
    leaf: Callable[[str, Any], Any] = as_array,
    fixed: frozenset[int] = frozenset(),
) -> Bound:
    """Flatten named values to arrays; raises DTypeError for a leaf that is no number or array.

    ``leaf`` makes an array of a leaf and the path to it; in a trace leaves stay what they are.
    Leaves that are ``fixed`` are taken for flags.
    """
    leaves: list[Array] = []
    numbers: list[Number] = []
    spans: list[range] = []
    structures: list[Any] = []
    for name, value in pairs:
        start = len(leaves)
        if type(value) in _LEAF_TYPES and start not in fixed:
            leaves.append(leaf(name, value))
            numbers.append(number_kind(value))
            structures.append(None)
        else:
            flat, structure = flags.flatten(value, frozenset(i - start for i in fixed))
            is_leaf = len(flat) == 1 and flat[0] is value
            try:
                leaves += [leaf(name, one) for one in flat]
            except DTypeError:
                # only an error needs to know how each leaf is reached
                for path, one in zip(flags.paths(structure, name), flat):
                    leaf(path, one)
                raise
            numbers += map(number_kind, flat)
            structures.append(None if is_leaf else structure)
        spans.append(range(start, len(leaves)))
    return Bound(
        tuple(name for name, _ in pairs),
        tuple(value for _, value in pairs),
        static,
        tuple(leaves),
        tuple(numbers),
        tuple(structures),
        tuple(spans),
        places,
    )


_LEAF_TYPES = frozenset({np.ndarray, float, int, np.float64, np.float32, np.int64, np.bool_})


class WideInteger:
    """Stands for the type of a Python int outside of int32: NumPy refuses it among int32 arrays."""


def number_kind(leaf: Any) -> Number:
    """Return float or int for Python's numbers, whose dtypes yield, WideInteger, or np.integer."""
    if type(leaf) is int:
        return int if -(2**31) <= leaf < 2**31 else WideInteger
    return float if type(leaf) is float else np.integer if isinstance(leaf, np.integer) else None


def is_variable(entry: Any) -> bool:
    """Whether an entry of ``wrt`` is a Variable, or what traced code sees of one."""
    if isinstance(entry, Variable | int | str):
        return isinstance(entry, Variable)
    from gradc.tracing.array.variables import variable_of  # few ask for anything else

    return variable_of(entry) is not None


def names_variables(wrt: Wrt) -> bool:
    """Whether ``wrt`` names a Variable."""
    return any(map(is_variable, listed(wrt)))


def choose_wrt(wrt: Wrt | None, kwargs: dict[str, Any]) -> Wrt:
    """Return ``wrt``, or ``argnums`` taken out of the keywords, or 0.

    Raises TraceError when both are given, or what is neither a position nor a name, nor a tuple of
    them.
    """
    if "argnums" in kwargs:
        if wrt is not None:
            raise TraceError("wrt and argnums are the same thing: give one of them")
        wrt = kwargs.pop("argnums")
    if wrt is None or type(wrt) is int or type(wrt) is str:
        return 0 if wrt is None else wrt
    for entry in listed(wrt):
        number = isinstance(entry, (int, str, np.integer)) and not isinstance(entry, bool)
        if not number and not is_variable(entry):
            raise TraceError(
                f"wrt: {entry!r:.60} is neither a position nor a parameter's name",
                help="pass a position, a name, a gradc.Variable, or a tuple of them",
            )
    return tuple(wrt) if isinstance(wrt, list) else wrt


def bind_types(names: Sequence[str], given: Sequence[Any]) -> tuple[Bound, list[Type]]:
    """Return arguments given as nests of types: bound as if by arrays, and the flat types."""
    types = [type_ for value in given for type_ in pytree.flatten(value)[0]]
    arrays = [pytree.map_leaves(_empty, value) for value in given]
    bound = flatten_arguments(list(zip(names, arrays)), places=tuple(names))
    return bound, types


def _empty(type_: Type) -> Array:
    return np.empty((0,) * type_.rank, dtype=type_.dtype.numpy)


def leaves_of(bound: Bound, positions: Sequence[int]) -> tuple[int, ...]:
    """Return the leaves of the values at these positions."""
    return tuple([leaf for position in positions for leaf in bound.spans[position]])
