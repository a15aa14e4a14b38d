"""Functions whose graphs are read when something looks into them; their types are known before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradc_ir.core.graph import Function
from gradc_ir.core.types import Types
from gradc_ir.forks import lock_across_forks

_reading = lock_across_forks()
_READ = ("params", "results", "location", "locations")


class Deferred(Function):
    """A function that is there by its types and names.

    Parameters
    ----------
    name, names: as of :class:`Function`.
    types: of the parameters and of the results.
    symbols: the function's ``size_symbols``.
    read: returns the function itself; called once, by the first that asks for its graph.
    digest: tells its graph apart from others.
    """

    __slots__ = ("_made_by", "_types", "digest")

    def __init__(
        self,
        name: str,
        names: tuple[str, ...],
        types: tuple[Types, Types],
        symbols: tuple[str, ...],
        read: Callable[[], Function],
        digest: bytes = b"",
    ) -> None:
        self.name = name
        self.names = names
        self.digest = digest
        self._types = types
        self._symbols = symbols
        self._nodes = None
        self._structure = None
        self._made_by: Callable[[], Function] | None = read

    @property
    def param_types(self) -> Types:
        """The types of the parameters."""
        return self._types[0]

    @property
    def result_types(self) -> Types:
        """The types of the results."""
        return self._types[1]

    def __getattr__(self, name: str) -> Any:
        """Return a part of the graph, which is read when the first of them is asked for."""
        if name not in _READ:
            raise AttributeError(name)
        with _reading:
            if self._made_by is not None:
                made = self._made_by()
                for each in _READ:
                    setattr(self, each, getattr(made, each))
                self._made_by = None
        return object.__getattribute__(self, name)
