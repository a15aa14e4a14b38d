"""One compiled form of a function: final graph, kernel or interpreter, and the nests around it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array
from gradc_ir.errors import GradcError, LoopError, ShapeError
from gradc_ir.forks import Depth, lock_across_forks

if TYPE_CHECKING:
    from gradc.tracing.checks.checks import Checks
    from gradc_codegen.interface.python_kernel import Kernel

_lock = lock_across_forks(Depth.KERNEL)


class Executable:
    """A final function that can be called with arrays.

    The kernel is built on construction, unless ``GRADC_DISABLE_JIT`` is set: then the interpreter
    runs it, to the same bits for all but the functions of the mathematics library. With ``finite``
    or ``GRADC_DEBUG_NANS`` it is interpreted too, and the first value that is not finite is an
    error. With ``blas`` the kernel leaves large contractions to BLAS, which rounds otherwise.
    ``threads`` are those its long loops run on.

    Attributes
    ----------
    kernel: the machine code, None where the function is interpreted.
    reason: why it is interpreted.
    hidden: how many of the function's results, its last ones, only say what it has to raise.
    run: takes the arrays, one a parameter, to the results, as calling the executable does.
    """

    def __init__(
        self,
        function: Function,
        finite: bool = False,
        blas: bool = False,
        checks: Checks | None = None,
        threads: int = 1,
    ) -> None:
        self.function = function
        self.hidden = 0 if checks is None else checks.hidden
        self.kernel: Kernel | None = None
        self.reason = ""
        # no method of its own: in a circle the kernel would stay until Python looks for those
        self.run: Callable[[Sequence[Array]], list[Array]]
        if _is_set("GRADC_DISABLE_JIT"):
            self.reason = "interpreted: GRADC_DISABLE_JIT is set"
            self.run = functools.partial(_interpret, function)
        if finite or _is_set("GRADC_DEBUG_NANS"):
            from gradc.runtime.find_nonfinite import interpret_finite  # few ever look

            self.reason = self.reason or "interpreted: looking for what is not finite"
            self.run = functools.partial(interpret_finite, function)
        if not self.reason:
            from gradc_codegen.compile_function import compile_function  # which loads LLVM

            with _lock:
                self.kernel = compile_function(
                    function,
                    blas=blas,
                    code=None if checks is None else checks.position(function),
                    threads=threads,
                )
            self.run = functools.partial(_run_kernel, self.kernel)
        if checks is not None:
            self.run = functools.partial(_run_checked, self.run, checks)

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """Return the results for the arrays, one a parameter.

        Raises, with the user's line: IndexError when a traced index lies outside its axis,
        LoopError when a loop takes more steps than its limit or than there is memory for,
        NonFiniteError when it was asked to look, and what the function itself raises.
        """
        return self.run(arrays)


def _interpret(function: Function, arrays: Sequence[Array]) -> list[Array]:
    from gradc_ir.interpreter.interpret import interpret  # few calls are interpreted

    return list(interpret(function, arrays))


def _run_checked(
    run: Callable[[Sequence[Array]], list[Array]], checks: Checks, arrays: Sequence[Array]
) -> list[Array]:
    """Return the results that a user sees, or raise what the function asserts or raises."""
    found = run(arrays)
    own = len(found) - checks.hidden
    error = checks.error(found[own:])
    if error is not None:
        raise error
    return found[:own]


def _run_kernel(kernel: Kernel, arrays: Sequence[Array]) -> list[Array]:
    try:
        return kernel(arrays)
    except Exception as error:
        return _after(error, kernel.function, arrays)


def _after(error: Exception, function: Function, arrays: Sequence[Array]) -> list[Array]:
    """Return what the interpreter makes of the arrays, or raise what a kernel's error means."""
    from gradc_codegen.abi import Status
    from gradc_codegen.interface.python_kernel import KernelStatus
    from gradc_codegen.interface.tape_growth import TapeTooLong
    from gradc_ir.core.binding import bind_sizes
    from gradc_ir.interpreter.limit import limited_loops, too_many_steps

    if isinstance(error, KernelStatus):
        if error.status is Status.LIMIT:
            shapes = [np.shape(array) for array in arrays]
            loops = limited_loops(function, bind_sizes(function.param_types, shapes))
            alone = len(loops) == 1 and not _calls_kernels(function)
            if alone:  # the interpreter would take its time up to the limit
                raise too_many_steps(*loops[0]) from None
        # the interpreter knows the user's line; it raises the same error, with it
        return _interpret(function, arrays)
    if isinstance(error, TapeTooLong):
        raise _too_many_steps(function, error.steps, error.bytes) from None
    if isinstance(error, ValueError) and not isinstance(error, GradcError):
        raise ShapeError(f"{function.name}: a result would be too big: {error}") from error
    raise error


def _is_set(name: str) -> bool:
    """Whether an environment variable asks for something."""
    return os.environ.get(name, "") not in ("", "0")


def _calls_kernels(function: Function) -> bool:
    """Whether a status may be that of an exported kernel it calls."""
    from gradc_ir.core.walk import nested

    return any(node.attributes.get("kernel", False) for _, node in nested(function))


def _too_many_steps(function: Function, steps: int, needed: int) -> LoopError:
    from gradc_ir.interpreter.tape import taped_loops

    loops = taped_loops(function)
    unit, name = (2**30, "GiB") if needed >= 2**30 else (2**20, "MiB")
    room = f"{needed / unit:.1f} {name}" if needed else "more memory than there is"
    return LoopError(
        f"{function.name}: a loop takes more than {steps} steps, and room for the values of twice "
        f"as many would take {room}",
        at=loops[0] if loops else None,
        found=[f"or is it this one: {loop}" for loop in loops[1:]],
        help="does it end? max_iter= sets a limit to its steps; or keep fewer and smaller values "
        "from step to step",
    )
