"""The families of a function: which calls share kernels, and why others need some of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gradc.arguments.flags import exact_key
from gradc.calls.derivation import Derivation
from gradc.calls.signature import Bound, WideInteger
from gradc.calls.traceable import Traceable
from gradc.runtime.specialize import Family, Signature, Specialization
from gradc.scopes import scopes_key
from gradc.tracing.core.signals import NeedsNumber
from gradc_ir.classes.named import NamedTuple
from gradc_ir.errors import TraceError
from gradc_ir.telling.log import log

# A function met with ever new static arguments or dtypes forgets the older ones.
_MOST_GROUPS = 256
# So many values of a flag are one kernel each before it is said in the log.
_MANY_VALUES = 16


class _Key(NamedTuple):
    """What the calls of a group have in common."""

    asked: Derivation
    leaves: tuple[int, ...]
    names: tuple[str, ...]
    structure: Any
    static: Any
    wide: tuple[bool, ...]
    scopes: tuple[Any, ...]
    dtypes: Any


class _Group:
    """The families of calls that differ in the forms of numbers alone, Python's or NumPy's.

    Attributes
    ----------
    deciding: the leaves whose forms any trace so far depends on.
    fixed: the leaves that are needed as numbers where they are integers and no arrays.
    """

    def __init__(self) -> None:
        self.deciding: tuple[int, ...] = ()
        self.fixed: frozenset[int] = frozenset()
        self.families: dict[tuple[Any, ...], tuple[Family, Bound]] = {}

    def forms(self, bound: Bound) -> tuple[Any, ...]:
        """Return the forms of those leaves in a call."""
        found = [bound.numbers[leaf] for leaf in self.deciding]
        return tuple([None if number is np.integer else number for number in found])

    def learn(self, deciding: frozenset[int]) -> None:
        """Tell families apart by the forms of further leaves."""
        self.deciding = tuple(sorted({*self.deciding, *deciding}))
        self.families = {self.forms(bound): (one, bound) for one, bound in self.families.values()}


class Families:
    """All that was compiled of a function.

    Parameters
    ----------
    name: of the function.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._groups: dict[_Key, _Group] = {}
        self._values: dict[Any, set[Any]] = {}

    def find(
        self,
        asked: Derivation,
        by: Callable[[Bound], tuple[int, ...]],
        bound: Bound,
        source: Callable[[Bound], Traceable],
        record: Callable[[Signature], None],
    ) -> tuple[Specialization, Bound]:
        """Return what computes a derivation at arguments, and these as it takes them.

        ``by`` returns the leaves that it is with respect to, ``source`` the function at arguments
        of a structure, to be traced; ``record`` is told of a compilation. Integers that a shape
        needs are flags of the arguments that are returned. Raises what tracing raises.
        """
        while True:
            key = self._key(asked, by(bound), bound)
            group = self._group(key, bound)
            fixed = bound.fixing(group.fixed)
            if fixed is not bound:
                bound = fixed
                continue
            found = group.families.get(group.forms(bound))
            if found is None:
                kept = bound.without_arrays()  # the family outlives the call
                family = Family(
                    key.asked, key.leaves, source(kept), record,
                    self._reason(key, group, bound),
                )  # fmt: skip
                found = group.families.setdefault(group.forms(bound), (family, kept))
            try:
                made = found[0].find(bound.leaves)
            except NeedsNumber as needed:
                # it was never traced: what comes in other forms has a family of its own
                group.families.pop(group.forms(bound), None)
                group.fixed |= frozenset(needed.leaves)
                continue
            if made.traced.deciding.issubset(group.deciding):
                return made, bound
            group.learn(made.traced.deciding)

    def __len__(self) -> int:
        return len(self._groups)

    def all(self) -> Iterator[Family]:
        """Yield the families."""
        for group in self._groups.values():
            yield from (family for family, _ in group.families.values())

    def _key(self, asked: Derivation, leaves: tuple[int, ...], bound: Bound) -> _Key:
        return _Key(
            asked._replace(wrt=None),
            leaves,
            bound.names,
            bound.structure,
            tuple([(name, exact_key(value)) for name, value in bound.static]),
            tuple([number is WideInteger for number in bound.numbers]),
            scopes_key(),
            tuple(
                [(leaf.dtype.char, *(size == 1 for size in leaf.shape)) for leaf in bound.leaves]
            ),
        )

    def _group(self, key: _Key, bound: Bound) -> _Group:
        try:
            group = self._groups.get(key)
        except TypeError:
            raise TraceError(
                f"{self._name}: a static argument must be hashable",
                found=", ".join(f"{name}: {type(value).__name__}" for name, value in bound.static),
            ) from None
        if group is None:
            while len(self._groups) >= _MOST_GROUPS:
                self._groups.pop(next(iter(self._groups)), None)
            group = self._groups.setdefault(key, _Group())
        return group

    def _reason(self, key: _Key, group: _Group, bound: Bound) -> str:
        """Return why there is none yet for a call, in words, and say it where flags have many."""
        steering = bound.flags | dict(bound.static)
        new = []
        for path, value in steering.items():
            known = self._values.setdefault((key.asked, path), set())
            if exact_key(value) in known:
                continue
            new.append(f"{path} is {_shown(value)}")
            if len(known) > _MANY_VALUES:
                continue
            known.add(exact_key(value))
            if len(known) == _MANY_VALUES + 1:
                log(
                    "compile",
                    "%s: %s has had %d values, each with a kernel of its own; "
                    "what changes at every call is better an array, or a np.bool_",
                    self._name, path, len(known),
                )  # fmt: skip
        alike = [other for other in self._groups if other[:2] == key[:2] and other is not key]
        if group.families:
            forms = zip(group.deciding, group.forms(bound))
            return "; ".join(f"{bound.paths[leaf]} is {_form(number)}" for leaf, number in forms)
        if not any(self._groups[other].families for other in alike):
            return "first call"
        if new:
            return "; ".join(new)
        last = alike[-1]
        if last.names != key.names:
            return "other arguments are given"
        if last.structure != key.structure:
            return "arguments in another nest, or other flags"
        if last.dtypes != key.dtypes:
            return _changed(last.dtypes, key.dtypes, bound.paths)
        return "other rules, gradients or static arguments"


def _shown(value: Any) -> str:
    return f"{getattr(value, '__name__', None) or repr(value):.40}"


def _form(number: Any) -> str:
    return "NumPy's, which does not yield to other dtypes" if number is None else "Python's"


def _changed(old: Sequence[Any], new: Sequence[Any], paths: Sequence[str]) -> str:
    for before, now, path in zip(old, new, paths):
        if before[0] != now[0]:
            return f"{path} is {np.dtype(now[0])}"
        if len(before) != len(now):
            return f"{path} has {len(now) - 1} axes"
        if before != now:
            return f"a size of {path} is 1, or is no longer"
    return "other arguments are given"
