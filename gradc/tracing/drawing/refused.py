"""What draws random numbers by a state from outside, which a graph cannot hold: it is refused."""

from __future__ import annotations

import functools
from typing import Any, NoReturn

from gradc.tracing.core.source import trace_error

# What draws random numbers, by name: few programs load the modules that have these classes.
_GENERATORS = {
    ("numpy.random._generator", "Generator"),
    ("numpy.random.mtrand", "RandomState"),
    ("random", "Random"),
}

# Modules of Python's that draw.
DRAWING = ("random", "secrets")

CURE = (
    "draw them outside and pass them as an argument, or by a generator that the function makes, "
    "np.random.default_rng(0)"
)


class Random:
    """A source of randomness, which a graph cannot hold."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Random(f"{self._name}.{name}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raise TraceError."""
        raise trace_error(
            f"{self._name} inside a traced function: the numbers would be drawn once, "
            "while tracing",
            help=CURE,
        )


def is_random(value: Any) -> bool:
    """Whether a value draws random numbers."""
    kind: type = type(value)
    owner: type = type(getattr(value, "__self__", None))
    return _draws(kind) or _draws(owner)


@functools.lru_cache(maxsize=1024)
def _draws(kind: type) -> bool:
    return any((base.__module__, base.__name__) in _GENERATORS for base in kind.__mro__)
