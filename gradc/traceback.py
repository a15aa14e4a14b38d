"""The boundary of the public functions: a traceback shows the user's frames, not gradc's."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast

from gradc.tracing.core import source
from gradc_ir.errors import GradcError, VerifyError

_Function = TypeVar("_Function", bound=Callable[..., Any])


def cut(error: Exception) -> Exception:
    """Return an error to be raised again, with gradc's frames taken out of its traceback.

    The last frame is then the user's own line. An error that is a defect of gradc keeps all of its
    frames, and so does every error while the environment variable ``GRADC_TRACEBACK`` is ``full``.
    """
    if os.environ.get("GRADC_TRACEBACK", "") == "full" or isinstance(error, VerifyError):
        return error
    ours = isinstance(error, GradcError)
    steps = list(_steps(error.__traceback__))
    if not ours and (not steps or source.is_defect(steps[-1].tb_frame.f_code.co_filename)):
        return error
    context = error.__context__
    if ours and context is not None and _raised_inside(context):
        error.__suppress_context__ = True
    hidden = source.is_internal if ours else source.is_ours
    shown: TracebackType | None = None
    for step in reversed(steps):
        if not hidden(step.tb_frame.f_code.co_filename):
            shown = TracebackType(shown, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return error.with_traceback(shown)


def _steps(traceback: TracebackType | None) -> list[TracebackType]:
    found = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found


def _raised_inside(error: BaseException) -> bool:
    steps = _steps(error.__traceback__)
    return bool(steps) and source.is_internal(steps[-1].tb_frame.f_code.co_filename)


def boundary(function: _Function) -> _Function:
    """Decorate a public function whose errors shall end at the user's line."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            __tracebackhide__ = True
            raise cut(error)  # noqa: B904 - it is the same error

    return cast(_Function, run)
