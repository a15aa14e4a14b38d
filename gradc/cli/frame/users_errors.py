"""Errors of the user's code, told in a line with their own: what they raise is no defect of gradc.

An error is the user's where a frame of theirs stands below the last one of gradc's: their module as
it is loaded, or their function as it is traced. What only stands for Python's or NumPy's functions
does not count.
"""

from __future__ import annotations

import sys
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from types import FrameType

from gradc.cli.frame.failure import Failure
from gradc.tracing.core import source
from gradc_ir.errors import GradcError
from gradc_ir.location import Location

_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))


def told(error: BaseException) -> str | None:
    """Return an error of the user's code in a line: where, what, the code; None for any other."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        if source.is_ours(error.filename):
            return None
        place: Location | None = Location(error.filename, error.lineno or 0)
        what = f"{type(error).__name__}: {error.msg}"
    else:
        place = _place(error)
        first, *_ = "".join(traceback.format_exception_only(error)).strip().splitlines() or [""]
        what = first
    if place is None:
        return None
    code = f"  in: {place.code}" if place.code else ""
    return f"{place}: {what}{code}"


@contextmanager
def loading(place: str) -> Iterator[None]:
    """Turn what ends the process while a module is loaded into an error; what it prints goes aside.

    Standard output is for the answer of the command.
    """
    try:
        with redirect_stdout(sys.stderr):
            yield
    except SystemExit as error:
        at = _place(error)
        where = f", {at.short}" if at else ""
        raise Failure(
            f"{place} ended the program when it was imported (sys.exit{where}): "
            'put that under `if __name__ == "__main__":`'
        ) from None
    except GradcError:
        raise
    except (SyntaxError, ValueError) as error:
        # of a null byte Python tells neither file nor line
        if getattr(error, "filename", None) is None and _place(error) is None:
            raise Failure(f"{place}: {type(error).__name__}: {error}") from None
        raise


def is_users_exit(error: SystemExit) -> bool:
    """Whether the user's code asked the process to end."""
    return _place(error) is not None


def _place(error: BaseException) -> Location | None:
    """Return the user's line that an error came from, below which nothing of gradc's stands."""
    found: Location | None = None
    for frame, line in traceback.walk_tb(error.__traceback__):
        if source.is_ours(frame.f_code.co_filename):
            # a function that calls itself for ever may end anywhere
            is_theirs = isinstance(error, RecursionError)
            if source.is_defect(frame.f_code.co_filename) and not is_theirs:
                found = None
        elif _is_users(frame):
            name = frame.f_code.co_name
            function = "" if name == "<module>" else name
            found = Location(frame.f_code.co_filename, line, function)
    return found


def _is_users(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    # frames of Cython tell the file that the library was built from, which is nowhere here
    module = str(frame.f_globals.get("__file__", ""))
    # __main__ is the command itself; frozen modules are Python's own
    return not (
        name.startswith(("<", *_LIBRARIES))
        or module.startswith(_LIBRARIES)
        or frame.f_globals.get("__name__") == "__main__"
        or name == getattr(sys.modules.get("__main__"), "__file__", None)
    )
