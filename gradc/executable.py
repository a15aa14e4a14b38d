"""One compiled form of a function: final graph, kernel or interpreter, and the nests around it."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradc.conversion import Array
from gradc.debugging import interpret_finite, wants_finite
from gradc_ir.errors import GradcError, ShapeError
from gradc_ir.graph import Function
from gradc_ir.interpret import interpret

if TYPE_CHECKING:
    from gradc_codegen.entry import Kernel

_lock = threading.Lock()


def jit_disabled() -> bool:
    """Whether ``GRADC_DISABLE_JIT`` asks for the interpreter."""
    return os.environ.get("GRADC_DISABLE_JIT", "") not in ("", "0")


class Executable:
    """A final function that can be called with arrays.

    The kernel is built on construction, unless the function holds an op that has no native form yet
    or ``GRADC_DISABLE_JIT`` is set: then the interpreter runs it, to the same bits for all but the
    functions of the mathematics library. With ``finite`` or ``GRADC_DEBUG_NANS`` it is interpreted
    too, and the first value that is not finite is an error.
    """

    def __init__(self, function: Function, finite: bool = False) -> None:
        self.function = function
        self.finite = finite or wants_finite()
        self.kernel: Kernel | None = None
        self.reason = "" if self._compile() else self._why()

    def _compile(self) -> bool:
        if jit_disabled() or self.finite:
            return False
        from gradc_codegen.prepare import unsupported

        if unsupported(self.function):
            return False
        from gradc_codegen.entry import Kernel
        from gradc_codegen.jit import compile_module
        from gradc_codegen.lower import lower

        with _lock:
            text = lower(self.function, KERNEL_NAME)
            self.kernel = Kernel(self.function, compile_module(text), KERNEL_NAME)
        return True

    def _why(self) -> str:
        if jit_disabled():
            return "interpreted: GRADC_DISABLE_JIT is set"
        if self.finite:
            return "interpreted: looking for what is not finite"
        from gradc_codegen.prepare import unsupported

        return f"interpreted: no native form of {', '.join(unsupported(self.function))} yet"

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """Return the results for the arrays, one a parameter.

        Raises IndexError with the user's line when a traced index lies outside its axis,
        NonFiniteError when it was asked to look.
        """
        if self.finite:
            return interpret_finite(self.function, arrays)
        if self.kernel is None:
            return list(interpret(self.function, arrays))
        from gradc_codegen.entry import KernelStatus

        try:
            return self.kernel(arrays)
        except KernelStatus:
            # the interpreter knows the user's line; it raises the same error, with it
            return list(interpret(self.function, arrays))
        except ValueError as error:
            if isinstance(error, GradcError):
                raise
            raise ShapeError(f"{self.function.name}: a result would be too big: {error}") from error


KERNEL_NAME = "gradc_kernel"
