"""One compiled form of a function: final graph, kernel or interpreter, and the nests around it."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gradc.signature import Array
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
    functions of the mathematics library.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.kernel: Kernel | None = None
        self.reason = "" if self._compile() else self._why()

    def _compile(self) -> bool:
        if jit_disabled():
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
        from gradc_codegen.prepare import unsupported

        return f"interpreted: no native form of {', '.join(unsupported(self.function))} yet"

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """Return the results for the arrays, one a parameter.

        Raises IndexError with the user's line when a traced index lies outside its axis.
        """
        if self.kernel is None:
            return list(interpret(self.function, arrays))
        from gradc_codegen.entry import KernelStatus

        try:
            return self.kernel(arrays)
        except KernelStatus:
            # the interpreter knows the user's line; it raises the same error, with it
            return list(interpret(self.function, arrays))


KERNEL_NAME = "gradc_kernel"
