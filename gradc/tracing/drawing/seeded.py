"""Generators of random numbers that traced code makes from a seed: what they draw is known.

NumPy's own and Python's draw, while the function is traced, what they would at every call.
"""

from __future__ import annotations

import copy
import operator
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from gradc.tracing.array.operators import operate
from gradc.tracing.captured.top import state
from gradc.tracing.core.as_tracer import as_tracer, cast, contains_unknown, plain_nest
from gradc.tracing.core.signals import Draws
from gradc.tracing.core.source import location, trace_error
from gradc.tracing.core.state import Trace
from gradc.tracing.core.symbolic_size import SymbolicSize
from gradc.tracing.core.table import call
from gradc.tracing.core.tracer import Tracer, shape_of
from gradc.tracing.drawing.arrays import drawn_array
from gradc.tracing.drawing.refused import CURE, Random
from gradc.tracing.registry.dispatch import wrap_known

_PYTHONS = ("Random",)
_NUMPYS = (
    "default_rng", "Generator", "RandomState", "SeedSequence", "BitGenerator",
    "MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64",
)  # fmt: skip
# the types of functions that are compiled, of which Cython has its own
_FUNCTIONS = ("cython_function_or_method", "builtin_function_or_method")
_MADE = ("Generator", "RandomState", "SeedSequence", "BitGenerator", "Random", *_NUMPYS[5:])


class RandomModule(Random):
    """``numpy.random`` or ``random``: what makes a generator from a seed is there."""

    def __init__(self, module: types.ModuleType, name: str) -> None:
        super().__init__(name)
        self.__gradc_original__ = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__gradc_original__, name)
        if name.startswith("__"):
            return value
        return made_from_seeds(value) or super().__getattr__(name)


def made_from_seeds(value: Any) -> Maker | None:
    """Return what stands for a function or a class that makes generators, None for all others."""
    if not isinstance(value, type) and type(value).__name__ not in _FUNCTIONS:
        return None
    module, name = value.__module__, value.__name__
    if module == "random":
        return Maker(value, "random.Random") if name in _PYTHONS else None
    if type(module) is str and module.startswith("numpy.random") and name in _NUMPYS:
        return Maker(value, f"np.random.{name}")
    return None


class Maker:
    """A function or a class that makes a generator, of numbers known while tracing."""

    def __init__(self, original: Any, name: str) -> None:
        self.__gradc_original__ = original
        self.__name__ = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a generator that begins as the seed says."""
        args, kwargs = _known_all(args), {key: _known(value) for key, value in kwargs.items()}
        given = [*args, *kwargs.values()]
        if any(type(value) is Random for value in given):
            raise trace_error(
                f"{self.__name__} of a generator from outside of the traced function", help=CURE
            )
        if any(map(contains_unknown, given)):
            raise trace_error(
                f"the seed of {self.__name__} is not known while the function is traced",
                help="write a number, or pass the seed as a Python int or a static argument",
            )
        if all(value is None for value in given):
            raise trace_error(
                f"{self.__name__} without a seed inside a traced function: the numbers would be "
                "drawn once, while tracing",
                help=f"give it a seed, {self.__name__}(0), or draw outside of the function and "
                "pass the numbers as an argument",
            )
        return _wrapped(self.__gradc_original__(*map(_own, args), **_own_all(kwargs)))

    def __eq__(self, other: object) -> bool:
        return self.__gradc_original__ is getattr(other, "__gradc_original__", other)

    def __hash__(self) -> int:
        return hash(self.__gradc_original__)

    def __repr__(self) -> str:
        return repr(self.__gradc_original__)


class Seeded:
    """A generator that a traced function has made.

    Parameters
    ----------
    source: the generator, bit generator or sequence of seeds it stands for.
    """

    __slots__ = ("_source", "_trace")

    def __init__(self, source: Any) -> None:
        object.__setattr__(self, "_source", source)
        object.__setattr__(self, "_trace", state.top)
        if state.top is not None:
            state.top.root.generators.append(self)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """The class of what it stands for, which isinstance asks for."""
        return type(self._source)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._source, name)
        if name.startswith("__"):
            return found
        if not callable(found):
            return _wrapped(found)
        return lambda *args, **kwargs: self._drawn(name, args, kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        raise trace_error(
            f"the function assigns to {name} of a generator of random numbers",
            help="make a generator from the seed that it is to begin with",
        )

    def __deepcopy__(self, memo: Any) -> Any:
        return _wrapped(copy.deepcopy(self._source))

    __copy__ = None

    def __repr__(self) -> str:
        return repr(self._source)

    def _drawn(self, name: str, args: Any, kwargs: dict[str, Any]) -> Any:
        args, kwargs = _known_all(args), {key: _known(value) for key, value in kwargs.items()}
        if self._is_pythons():
            return self.draw(name, args, kwargs)  # it is Python code, and takes what is traced
        if kwargs.get("out") is not None:
            raise trace_error(f"out= of {name} is not supported", help="use what it returns")
        if name == "shuffle":
            return _shuffled(self, *args, **kwargs)
        if any(map(contains_unknown, (*args, *kwargs.values()))):
            record = _RECORDED.get(name)
            if record is None:
                raise trace_error(
                    f"{name} of numbers that are not known while the function is traced",
                    help="draw with known ones, such as rng.standard_normal(n), and write what "
                    "is to be made of them",
                )
            return record(self, *args, **kwargs)
        return self.draw(name, plain_nest(args), {k: plain_nest(v) for k, v in kwargs.items()})

    def draw(self, name: str, args: Any = (), kwargs: Any = types.MappingProxyType({})) -> Any:
        """Have it draw, by a method and what that takes, all of which is known."""
        trace = state.top
        if trace is None or trace is self._trace:
            return _wrapped(self.run(name, args, kwargs))
        return self._drawn_in(trace, name, args, kwargs)

    def run(self, name: str, args: Any, kwargs: Any) -> Any:
        """Draw now."""
        return getattr(self._source, name)(*map(_own, args), **_own_all(kwargs))

    def sample(self, name: str, args: Any, kwargs: Any) -> Any:
        """Return what it would draw now."""
        return getattr(copy.deepcopy(self._source), name)(*args, **kwargs)

    def is_of(self, trace: Trace) -> bool:
        """Whether it was made in a trace."""
        return trace is self._trace

    def _drawn_in(self, trace: Trace, name: str, args: Any, kwargs: Any) -> Any:
        """Draw in a body, which does not run as often as it is traced."""
        title = f"{self.title}.{name}"
        inner: Trace | None = trace
        while inner is not None and inner is not self._trace:
            if inner.draws is None and inner.adopt is not None:
                raise Draws(title, location())
            if inner.draws is None:
                break
            inner = inner.outer
        if inner is self._trace:
            if any(isinstance(value, list | Tracer) for value in (*args, *kwargs.values())):
                raise Draws(title, location())  # Python's take what is traced, and change lists
            return trace.draws.draw(self, name, args, kwargs)
        raise trace_error(
            f"{title} in a function that is recorded by itself, of a generator made outside of it",
            help="draw before, and have the body take the numbers from there",
        )

    @property
    def title(self) -> str:
        """What a user calls it."""
        return type(self._source).__name__

    def _is_pythons(self) -> bool:
        return not type(self._source).__module__.startswith("numpy.")

    def now(self) -> Any:
        """Return its state, None for one that has none to go back to."""
        return _STATES[_kind(self._source)][0](self._source)

    def put_back(self, before: Any) -> None:
        """Have it be in a state again that it was in."""
        _STATES[_kind(self._source)][1](self._source, before)


def _kind(source: Any) -> str:
    return next((name for name in _STATES if hasattr(source, name)), "")


def _set_state(source: Any, before: Any) -> None:
    source.state = before


def _set_bits(source: Any, before: Any) -> None:
    source.bit_generator.state = before


# a method or an attribute by which a kind of generator is told -> reading and setting its state
_STATES: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], None]]] = {
    "set_state": (lambda x: x.get_state(legacy=False), lambda x, before: x.set_state(before)),
    "setstate": (lambda x: x.getstate(), lambda x, before: x.setstate(before)),
    "bit_generator": (lambda x: copy.deepcopy(x.bit_generator.state), _set_bits),
    "state": (lambda x: copy.deepcopy(x.state), _set_state),
    "": (lambda x: None, lambda x, before: None),
}


def _own(value: Any) -> Any:
    if type(value) is Seeded:
        return value._source
    if type(value) is list and any(type(each) is Seeded for each in value):
        return [_own(each) for each in value]
    return value


def _own_all(named: dict[str, Any]) -> dict[str, Any]:
    return {key: _own(value) for key, value in named.items()}


def _wrapped(found: Any) -> Any:
    """Return what a generator gave as traced code sees it: generators, and known arrays."""
    if type(found) is list:
        return [_wrapped(each) for each in found]
    if any(base.__name__ in _MADE for base in type(found).__mro__):
        return Seeded(found)
    return drawn_array(found) if type(found) is np.ndarray else wrap_known(found, [])


def _known(value: Any) -> Any:
    """Return an argument with the sizes and whole numbers in it asked for, which are known then."""
    if isinstance(value, SymbolicSize):
        return operator.index(value)
    if type(value) is Tracer and value.known is None:
        return operator.index(value) if value.weak is int else value  # type: ignore[arg-type]
    if type(value) in (tuple, list) and contains_unknown(value):
        return type(value)(map(_known, value))
    return value


def _known_all(values: Any) -> Any:
    return tuple(map(_known, values))


# -- draws by what is known when the program runs --------------------------------------------------


def _together(size: Any, *parameters: Any) -> Any:
    """Return the shape of what is drawn: as NumPy's, that of the parameters where none is given."""
    if contains_unknown(size):
        raise trace_error(
            "how many numbers are drawn is not known while the function is traced",
            help="draw as many as it may be, and take some: rng.normal(size=most)[:n]",
        )
    if size is not None or not any(type(x) is Tracer and x.type.shape for x in parameters):
        return plain_nest(size)
    shapes = [shape_of(as_tracer(x)) for x in parameters]
    return np.broadcast_shapes(*[tuple(_known(n) for n in shape) for shape in shapes])


def _double(parameter: Any) -> Any:
    """Return a parameter in the precision in which NumPy draws."""
    return cast(parameter, np.float64, copy=False) if type(parameter) is Tracer else parameter


def _moved(name: str, first: tuple[float, float]) -> Callable[..., Any]:
    """Return a draw that is moved by its first parameter and stretched by its second."""

    def record(rng: Seeded, loc: Any = first[0], scale: Any = first[1], size: Any = None) -> Any:
        drawn = rng.draw(name, (0.0, 1.0, _together(size, loc, scale)))
        return operate("add", _double(loc), operate("multiply", _double(scale), drawn))

    return record


def _stretched(name: str) -> Callable[..., Any]:
    def record(rng: Seeded, scale: Any = 1.0, size: Any = None) -> Any:
        return operate("multiply", _double(scale), rng.draw(name, (1.0, _together(size, scale))))

    return record


def _uniform(rng: Seeded, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
    drawn = rng.draw("uniform", (0.0, 1.0, _together(size, low, high)))
    low, high = _double(low), _double(high)
    return operate("add", low, operate("multiply", operate("subtract", high, low), drawn))


def _lognormal(rng: Seeded, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None) -> Any:
    return call("exp", _moved("normal", (0.0, 1.0))(rng, mean, sigma, size))


def _choice(rng: Seeded, a: Any, size: Any = None, *rest: Any, **options: Any) -> Any:
    axis = options.pop("axis", rest[2] if len(rest) > 2 else 0)
    if any(map(contains_unknown, (size, *rest, *options.values()))):
        raise trace_error(
            "choice with probabilities that are not known while the function is traced",
            help="draw u = rng.random(n), and search np.cumsum(p) for it",
        )
    array = as_tracer(a)
    drawn = (_known(shape_of(array)[axis]), *plain_nest((size, *rest[:2])))
    named = {key: plain_nest(value) for key, value in options.items()}
    return call("take", array, rng.draw("choice", drawn, named), axis)


def _permutation(rng: Seeded, x: Any, axis: int = 0) -> Any:
    array = as_tracer(x)
    order = rng.draw("permutation", (_known(shape_of(array)[axis]),))
    return call("take", array, order, axis)


def _shuffled(rng: Seeded, x: Any, axis: int = 0) -> None:
    if type(x) is list:
        order = rng.draw("permutation", (len(x),))
        if contains_unknown(order):
            raise Draws(f"{rng.title}.shuffle", location())
        x[:] = [x[i] for i in plain_nest(order)]
    else:
        x[...] = _permutation(rng, x, axis)


_RECORDED: dict[str, Callable[..., Any]] = {
    **{name: _moved(name, (0.0, 1.0)) for name in ("normal", "laplace", "gumbel", "logistic")},
    **{name: _stretched(name) for name in ("exponential", "rayleigh")},
    "uniform": _uniform,
    "lognormal": _lognormal,
    "choice": _choice,
    "permutation": _permutation,
}
