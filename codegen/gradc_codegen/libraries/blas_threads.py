"""BLAS and LAPACK on one thread: what is put around SciPy's routines in this process.

OpenBLAS has one number of threads for the whole process, and takes all cores. While kernels call it
that is 1, from the first call to the end of the last that is under way in any thread; then it is
what it was. What another library has set meanwhile stays. ``GRADC_BLAS_THREADS`` asks for another
number, 0 for whatever the library does. Any BLAS but an OpenBLAS with threads of its own is left
alone.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from gradc_codegen.libraries.extensions import extension
from gradc_ir.classes.named import NamedTuple
from gradc_ir.errors import GradcError

HOLD, RELEASE, RESET = "gradc.blas.hold", "gradc.blas.release", "gradc.blas.reset"
# What the texts call: how OpenBLAS tells and sets its threads, and the routine of SciPy's. Whoever
# loads the code says where they are, so that the code is the same in every process.
GETTER, SETTER, OWN = "gradc.blas.get", "gradc.blas.set", "gradc.blas.own"
_VARIABLE = "GRADC_BLAS_THREADS"
# What OpenBLAS answers when its threads are its own, not OpenMP's, which belong to each caller.
_OWN_THREADS = 1
# How many addresses each routine takes, and how many of them are letters, whose lengths follow.
_ARGUMENTS = {
    "gemm": (13, 2),
    "trsm": (11, 4),
    "potrf": (5, 1),
    "getrf": (6, 0),
    "geqrf": (8, 0),
    "orgqr": (9, 0),
    "syevd": (11, 2),
    "gesdd": (14, 1),
}


class Control(NamedTuple):
    """Where OpenBLAS reads and sets its number of threads, and which number kernels get."""

    getter: int
    setter: int
    threads: int


def wanted() -> int:
    """Return how many threads calls get, 0 for as many as the library takes.

    Raises GradcError where the environment says something that is no number.
    """
    given = os.environ.get(_VARIABLE, "") or "1"
    if not given.isdecimal():
        raise GradcError(
            f"{_VARIABLE} is {given!r}, which is no number of threads",
            help=f"set {_VARIABLE}=1, or 0 for as many as BLAS takes by itself",
        )
    return int(given)


def control() -> Control | None:
    """Return how the threads of SciPy's BLAS are set; None where they are not to be, or cannot."""
    threads = wanted()
    if not threads:
        return None
    # what a library was linked with is found through it
    library = ctypes.CDLL(extension("scipy.linalg.cython_blas").__file__)
    for prefix in ("scipy_openblas_", "openblas_"):
        try:
            kind, getter, setter = (
                getattr(library, prefix + name)
                for name in ("get_parallel", "get_num_threads", "set_num_threads")
            )
        except AttributeError:
            continue
        if kind() == _OWN_THREADS:
            return Control(_place(getter), _place(setter), threads)
    return None


def _place(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def holding(threads: int) -> str:
    """Return the text of the functions that begin and end a call, and that forget all calls."""
    return f"""
declare i32 @{GETTER}()
declare void @{SETTER}(i32)

@lock = internal global i32 0
@held = internal global i32 0
@before = internal global i32 0

define internal void @acquire() {{
  br label %again
again:
  %old = atomicrmw xchg ptr @lock, i32 1 acquire
  %free = icmp eq i32 %old, 0
  br i1 %free, label %done, label %again
done:
  ret void
}}

define internal void @begin() {{
  %now = call i32 @{GETTER}()
  store i32 %now, ptr @before
  %other = icmp ne i32 %now, {threads}
  br i1 %other, label %put, label %done
put:
  call void @{SETTER}(i32 {threads})
  br label %done
done:
  ret void
}}

define internal void @end() {{
  %before = load i32, ptr @before
  %now = call i32 @{GETTER}()
  ; what another has set meanwhile stays
  %own = icmp eq i32 %now, {threads}
  %other = icmp ne i32 %before, {threads}
  %set = and i1 %own, %other
  br i1 %set, label %put, label %done
put:
  call void @{SETTER}(i32 %before)
  br label %done
done:
  ret void
}}
{_counting(HOLD, "add", "%count", "@begin")}
{_counting(RELEASE, "sub", "%counted", "@end")}
define void @{RESET}() {{
  %count = load i32, ptr @held
  %any = icmp ne i32 %count, 0
  br i1 %any, label %put, label %done
put:
  call void @end()
  br label %done
done:
  store i32 0, ptr @held
  store atomic i32 0, ptr @lock release, align 4
  ret void
}}
"""


def _counting(name: str, step: str, none: str, run: str) -> str:
    """Return a function that counts calls under way, and runs another where ``none`` are."""
    return f"""
define void @{name}() {{
  call void @acquire()
  %count = load i32, ptr @held
  %counted = {step} i32 %count, 1
  store i32 %counted, ptr @held
  %none = icmp eq i32 {none}, 0
  br i1 %none, label %put, label %done
put:
  call void {run}()
  br label %done
done:
  store atomic i32 0, ptr @lock release, align 4
  ret void
}}"""


def around(symbol: str, name: str) -> str:
    """Return the text of a function that calls one of SciPy's routines between two others."""
    count, letters = _ARGUMENTS[symbol[1:-1]]
    types = ["ptr"] * count + ["i64"] * letters
    given = ", ".join(f"{type_} %{i}" for i, type_ in enumerate(types))
    return f"""
declare void @{HOLD}()
declare void @{RELEASE}()
declare void @{OWN}({", ".join(types)})

define void @{name}({given}) {{
  call void @{HOLD}()
  call void @{OWN}({given})
  call void @{RELEASE}()
  ret void
}}
"""
