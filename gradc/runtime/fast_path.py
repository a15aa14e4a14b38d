"""The short way of a call: arguments like earlier ones go straight to the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradc.tracing import Traced
from gradc.tracing.core.state import CodeOf, Entry, SameObject
from gradc_ir.core.types import Array
from gradc_ir.errors import TraceError


class KnownCall:
    """A kernel that calls with plain arrays go straight to, while what it captured still fits."""

    __slots__ = ("captures", "codes", "guards", "names", "run", "shapes", "unpack")

    def __init__(
        self,
        run: Callable[[Sequence[Array]], list[Array]],
        unpack: Callable[[Sequence[Array]], Any],
        traced: Traced,
        shapes: tuple[tuple[int, ...], ...],
    ) -> None:
        self.run = run
        self.unpack = unpack
        # most guards are of names and code that stay the same objects: asked in two quick loops
        self.names = []
        self.codes = []
        self.guards = []
        for guard in traced.guards:
            fetch = guard.fetch if type(guard) is SameObject else None
            if type(fetch) is Entry:
                self.names.append((fetch.holder, fetch.key, guard.value))
            elif type(fetch) is CodeOf:
                self.codes.append((fetch.function, guard.value))
            else:
                self.guards.append(guard)
        self.captures = traced.captures
        self.shapes = shapes

    def arrays(self, args: Sequence[Array]) -> Sequence[Array] | None:
        """Return the arguments and the captured arrays; None when the kernel is not for them."""
        for holder, key, value in self.names:
            if holder.get(key) is not value:
                return None
        for function, code in self.codes:
            if function.__code__ is not code:
                return None
        for guard in self.guards:
            if not guard.holds():
                return None
        if not self.captures:
            return args
        try:
            captured = [capture.read() for capture in self.captures]
        except TraceError:
            return None
        if tuple([array.shape for array in captured]) != self.shapes:
            return None
        return [*args, *captured]
