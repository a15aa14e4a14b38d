"""TensorFlow's ``ForwardAccumulator`` and ``GradientTape`` over NumPy.

A NumPy array cannot be watched where it is. So ``acc.primals`` and ``x = tape.watch(x)`` hand back
values that compute as arrays do and record what is done with them while a recorder is open; what is
asked for later is derived from that record, by gradc's own transforms, and may be derived again by
a recorder around it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from gradc.api import transforms
from gradc.arguments import pytree
from gradc.arguments.as_array import as_array
from gradc.tracing import call
from gradc_ir.core.types import Array
from gradc_ir.errors import PolicyError, ShapeError, TraceError

_open: ContextVar[tuple[_Recorder, ...]] = ContextVar("gradc_recorders", default=())
_Known = Mapping[int, Any]


class Recorded(NDArrayOperatorsMixin):
    """An array that remembers what it was computed from; ``value`` is the array."""

    __array_priority__ = 1000.0
    __hash__ = object.__hash__

    def __init__(
        self,
        value: Any,
        build: Callable[[_Known], Any] | None = None,
        operands: Sequence[Recorded] = (),
        recorders: Iterable[_Recorder] = (),
    ) -> None:
        if isinstance(value, np.ndarray):
            value.setflags(write=False)  # what was computed from it must stay true
        self.value = value
        self._build = build
        self._operands = tuple(operands)
        self._recorders = frozenset(recorders)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Return the array."""
        return np.array(self.value, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Compute and record."""
        return _record(getattr(ufunc, method) if method != "__call__" else ufunc, inputs, options)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Compute and record."""
        return _record(function, args, kwargs)

    def __getitem__(self, index: Any) -> Any:
        """Return a part, recorded."""
        return _record(lambda array: array[index], (self,), {})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self.value, name)
        if callable(found):
            return lambda *args, **kwargs: _record(
                lambda array, *args, **kwargs: getattr(array, name)(*args, **kwargs),
                (self, *args),
                kwargs,
            )
        if isinstance(found, np.ndarray):
            return _record(lambda array: getattr(array, name), (self,), {})
        return found

    def __len__(self) -> int:
        """Return the size of the first axis."""
        return len(self.value)

    def __float__(self) -> float:
        """Return the number, unrecorded."""
        return float(self.value)

    def __bool__(self) -> bool:
        """Return whether the number is true, unrecorded."""
        return bool(self.value)

    def __repr__(self) -> str:
        return f"Recorded({self.value!r})"


def _record(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Return what a function gives for arrays, recorded while a recorder is open."""
    if kwargs.get("out") is not None:
        raise TraceError(
            "a recorded value cannot be written to, and cannot be written into an array",
            help="write x = x + 1 instead of x += 1, and leave out= out",
        )
    leaves, structure = pytree.flatten((tuple(args), dict(kwargs)))
    # a copy, since the caller may change the array before a derivative is asked for
    leaves = [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]
    value = _apply(function, structure, map(_plain, leaves))
    recorders = _open.get()
    operands = [leaf for leaf in leaves if isinstance(leaf, Recorded)]
    if not recorders:
        return value

    def build(known: _Known) -> Any:
        return _apply(partial(call, function), structure, _values(leaves, known))

    if not isinstance(value, (tuple, list)):
        return Recorded(value, build, operands, recorders)
    return type(value)(
        Recorded(part, _entry(build, i), operands, recorders) for i, part in enumerate(value)
    )


def _entry(build: Callable[[_Known], Any], i: int) -> Callable[[_Known], Any]:
    return lambda known: build(known)[i]


def _apply(function: Callable[..., Any], structure: pytree.Structure, leaves: Iterable[Any]) -> Any:
    args, kwargs = pytree.unflatten(structure, leaves)
    return function(*args, **kwargs)


def _plain(leaf: Any) -> Any:
    return leaf.value if isinstance(leaf, Recorded) else leaf


# -- what was recorded, as a function --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Replay:
    """The function from watched values to others, as one recorder saw it."""

    recorder: _Recorder
    watched: Sequence[Recorded]
    targets: Sequence[Recorded]
    known: _Known

    def __call__(self, *values: Any) -> Any:
        """Return the targets; called only in traces."""
        return self.__gradc_trace__(*values)

    def __gradc_trace__(self, *values: Any) -> list[Any]:
        """Do again, in the running trace, what was recorded."""
        known = dict(self.known) | {id(one): value for one, value in zip(self.watched, values)}
        for node in _moving(self.targets, self.watched, self.recorder):
            known[id(node)] = _built(node, known)
        return list(_values(self.targets, known))


def _built(node: Recorded, known: _Known) -> Any:
    assert node._build is not None
    return node._build(known)


def _moving(
    targets: Sequence[Recorded], watched: Sequence[Recorded], recorder: _Recorder | None
) -> list[Recorded]:
    """Return what was computed from watched values, on the way to targets, operands first.

    With a recorder only what was computed while that was open.
    """
    moves: dict[int, bool] = {id(one): True for one in watched}
    order: list[Recorded] = []
    stack: list[tuple[Recorded, bool]] = [(target, False) for target in targets]
    while stack:
        node, ready = stack.pop()
        if id(node) in moves:
            continue
        if node._build is None or (recorder is not None and recorder not in node._recorders):
            moves[id(node)] = False
        elif ready:
            moves[id(node)] = any(moves[id(operand)] for operand in node._operands)
            if moves[id(node)]:
                order.append(node)
        else:
            stack.append((node, True))
            stack += [(operand, False) for operand in node._operands]
    return order


class _Recorder:
    """A block in which what is done with watched values is recorded."""

    _outer: tuple[_Recorder, ...] = ()

    def __init__(self) -> None:
        self._watched: list[Recorded] = []

    def __enter__(self) -> Self:
        """Record from now on."""
        self._outer = _open.get()
        self._token = _open.set((*self._outer, self))
        return self

    def __exit__(self, *exception: object) -> None:
        """Record no more."""
        _open.reset(self._token)

    def _watch(self, leaf: Any, path: str) -> Recorded:
        if isinstance(leaf, Recorded):
            found = leaf
        else:
            array = as_array(path, leaf)
            if array.dtype.kind != "f":
                raise TraceError(
                    f"{path} is {array.dtype}, which has no derivative",
                    help="watch floating-point arrays",
                )
            found = Recorded(array.copy()[()])
        self._watched.append(found)
        return found

    def _connects(self, watched: Sequence[Recorded], target: Recorded) -> bool:
        """Whether a target was computed from a watched value."""
        is_watched = any(target is one for one in watched)
        return is_watched or bool(_moving([target], watched, self))

    def _derived(
        self,
        derive: Callable[[_Replay], list[Any]],
        watched: Sequence[Recorded],
        targets: Sequence[Recorded],
        further: Sequence[Any],
    ) -> list[Any]:
        """Return a derivative of what was recorded: recorded in turn where there is one around."""
        found = derive(_Replay(self, watched, targets, {}))
        if not self._outer:
            return found
        operands = [leaf for leaf in (*watched, *targets, *further) if isinstance(leaf, Recorded)]
        recorders = {*self._outer, *_open.get()} - {self}

        def build(known: _Known) -> list[Any]:
            # what this was computed from is computed again where the outer one asks for it
            known = dict(known)
            outer = [one for one in operands if id(one) in known]
            for node in _moving(targets, outer, None):
                if id(node) not in known:
                    known[id(node)] = _built(node, known)
            return derive(_Replay(self, watched, targets, known))

        return [
            None if part is None else Recorded(part, _entry(build, i), operands, recorders)
            for i, part in enumerate(found)
        ]


def _values(leaves: Sequence[Any], known: _Known) -> tuple[Any, ...]:
    return tuple(known.get(id(leaf), _plain(leaf)) for leaf in leaves)


def _checked_policy(unconnected_gradients: str) -> None:
    if unconnected_gradients not in ("none", "zero"):
        raise PolicyError(
            f"unconnected_gradients={unconnected_gradients!r} is no policy",
            help="choose 'none' or 'zero'",
        )


# -- the two recorders -----------------------------------------------------------------------------


class ForwardAccumulator(_Recorder):
    """Computes Jacobian-vector products of what is computed within the ``with`` block.

    Parameters
    ----------
    primals: an array or a nest of arrays; compute with ``acc.primals``, which record.
    tangents: the vector: a nest of the same structure and shapes.

    Raises ShapeError, a ValueError, when nest or shapes differ, and when one array stands twice
    among the primals.
    """

    def __init__(self, primals: Any, tangents: Any) -> None:
        super().__init__()
        leaves, structure = pytree.flatten(primals)
        paths = pytree.paths(primals, "primals")
        _refuse_duplicates(leaves, paths)
        given, other = pytree.flatten(tangents)
        if structure != other:
            raise ShapeError(
                "the tangents have not the nest of the primals",
                found=f"primals: {structure}    tangents: {other}",
            )
        for path, leaf, tangent in zip(paths, leaves, given):
            if np.shape(leaf) != np.shape(tangent):
                raise ShapeError(
                    f"the tangent of {path} has shape {np.shape(tangent)}, "
                    f"{path} has {np.shape(leaf)}"
                )
        watched = [self._watch(leaf, path) for path, leaf in zip(paths, leaves)]
        self._tangents = [
            tangent if isinstance(tangent, Recorded) else np.asarray(tangent, one.value.dtype)
            for tangent, one in zip(given, watched)
        ]
        self.primals = pytree.unflatten(structure, watched)

    def jvp(self, primals: Any, unconnected_gradients: str = "none") -> Any:
        """Return the products of the Jacobian of each of ``primals`` and the tangents.

        ``primals`` is a nest of values computed in the block. What does not depend on the watched
        ones has None, or with ``"zero"`` zeros. Raises PolicyError, a ValueError, for another
        policy.
        """
        _checked_policy(unconnected_gradients)
        leaves, structure = pytree.flatten(primals)

        def derive(replay: _Replay) -> list[Any]:
            values = _values(self._watched, replay.known)
            tangents = _values(self._tangents, replay.known)
            return list(transforms.jvp(replay, values, tangents)[1])

        found = []
        for leaf in leaves:
            targets = [leaf] if isinstance(leaf, Recorded) else []
            if targets and self._connects(self._watched, leaf):
                found += self._derived(derive, self._watched, targets, self._tangents)
            else:
                found.append(_unconnected(leaf, unconnected_gradients))
        return pytree.unflatten(structure, found)


class GradientTape(_Recorder):
    """Records what is computed from watched values within the ``with`` block, for gradients.

    ``persistent`` tapes may be asked more than once.
    """

    def __init__(self, persistent: bool = False) -> None:
        super().__init__()
        self._persistent = persistent
        self._used = False

    def watch(self, tensor: Any) -> Any:
        """Return the values to compute with, in the nest that is given: ``x = tape.watch(x)``."""
        leaves, structure = pytree.flatten(tensor)
        paths = pytree.paths(tensor, "tensor")
        return pytree.unflatten(
            structure, [self._watch(leaf, path) for leaf, path in zip(leaves, paths)]
        )

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: str = "none",
    ) -> Any:
        """Return the gradient of the sum of ``target`` by each of ``sources``, in their nest.

        ``sources`` are what ``watch`` returned. ``output_gradients`` weighs the elements of the
        target. What the target does not depend on has None, or with ``"zero"`` zeros. Raises
        TraceError when a tape that is not persistent is asked twice, or for what is not watched.
        """
        _checked_policy(unconnected_gradients)
        if self._used and not self._persistent:
            raise TraceError(
                "a GradientTape gives gradients once", help="write GradientTape(persistent=True)"
            )
        self._used = True
        leaves, structure = pytree.flatten(sources)
        for path, leaf in zip(pytree.paths(sources, "sources"), leaves):
            if not any(leaf is one for one in self._watched):
                raise TraceError(
                    f"{path} is not watched by this tape", help="write x = tape.watch(x)"
                )
        targets = [leaf for leaf in pytree.flatten(target)[0] if isinstance(leaf, Recorded)]
        targets = [leaf for leaf in targets if self._connects(leaves, leaf)]
        weights = pytree.flatten(output_gradients)[0] or [None] * len(targets)
        seeds = [
            np.ones_like(leaf.value) if weight is None else weight
            for leaf, weight in zip(targets, weights)
        ]

        def derive(replay: _Replay) -> list[Any]:
            _, pullback = transforms.vjp(replay, *_values(leaves, replay.known))
            return list(pullback(list(_values(seeds, replay.known))))

        found = self._derived(derive, leaves, targets, seeds) if targets else leaves
        return pytree.unflatten(
            structure,
            [
                part
                if any(self._connects([leaf], one) for one in targets)
                else _unconnected(leaf, unconnected_gradients)
                for leaf, part in zip(leaves, found)
            ],
        )


def _unconnected(leaf: Any, policy: str) -> Any:
    return None if policy == "none" else np.zeros_like(_plain(leaf))[()]


def _refuse_duplicates(leaves: Sequence[Any], paths: Sequence[str]) -> None:
    seen: dict[int, str] = {}
    for leaf, path in zip(leaves, paths):
        first = seen.setdefault(id(leaf), path)
        if first != path and not isinstance(leaf, (int, float)):
            raise ShapeError(
                f"{first} and {path} are the same array",
                help="give it once, with the sum of the two tangents",
            )
