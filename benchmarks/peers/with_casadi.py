"""CasADi: its C of a point's function and derivatives, compiled by cc, in a loop over points."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.native import has, library
from benchmarks.peers.missing import Missing, installed
from benchmarks.rows.row import Case
from benchmarks.turns import Contestant, processor_seconds

_MOST_ARRAYS = 12
_LOOP = """
#include <stdint.h>
typedef int function(const double **, double **, long long *, double *, int);
function point;

void loop(int64_t calls, int64_t points, int64_t inputs, int64_t outputs, const int64_t *widths,
          const double *const *given, double *const *made, double *work) {
  for (int64_t call = 0; call < calls; ++call)
    for (int64_t i = 0; i < points; ++i) {
      const double *arguments[12];
      double *results[12];
      long long integers[12];
      for (int64_t k = 0; k < inputs; ++k) arguments[k] = given[k] + i * widths[k];
      for (int64_t k = 0; k < outputs; ++k) results[k] = made[k] + i * widths[inputs + k];
      point(arguments, results, integers, work, 0);
    }
}
"""


def casadi(case: Case) -> Contestant | None:
    """Return CasADi's C, each product and sum rounded, for the processors that cc takes for all."""
    return _compiled(case, "casadi", ["-O3", "-ffp-contract=off"])


def casadi_contracted(case: Case) -> Contestant | None:
    """Return CasADi's C for this processor, products and sums joined where cc likes."""
    return _compiled(case, "casadi fma", ["-O3", "-march=native"])


def _compiled(case: Case, tool: str, flags: Sequence[str]) -> Contestant | None:
    if case.row.casadi is None or case.dtype != "f64":
        return None
    if not has("cc"):
        raise Missing(f"{tool}: there is no cc")
    start = processor_seconds()
    loop = _Loop(case, flags)
    compiling = processor_seconds() - start
    loop.run(1)
    return Contestant(tool, loop.run, loop.results, compiling)


def point_text(case: Case) -> tuple[str, int]:
    """Return CasADi's C of a point, whose function is ``point``, and how much scratch it takes."""
    casadi = installed("casadi")
    row = case.row
    assert row.casadi is not None
    of, wrt = (row.of, row.wrt) if row.point is None else (row.point.of, row.point.wrt)
    symbols, results = row.casadi(casadi)
    by = [symbols[i] for i in wrt or ()]
    match of:
        case "value_and_grad":
            results += [casadi.gradient(results[0], x) for x in by]
        case "jacobian":
            results = [casadi.jacobian(results[0], x) for x in by]
        case "hessian":
            results = [casadi.hessian(results[0], x)[0] for x in by]
    # CasADi stores columns one after another, the others rows
    made = casadi.Function("point", symbols, [casadi.densify(result.T) for result in results])
    with tempfile.TemporaryDirectory() as folder:
        before = os.getcwd()
        os.chdir(folder)  # it knows no other place to write to
        try:
            made.generate("point.c")
        finally:
            os.chdir(before)
        return Path(folder, "point.c").read_text(), made.sz_w()


class _Loop:
    """The C of a case with its arrays."""

    def __init__(self, case: Case, flags: Sequence[str]) -> None:
        text, scratch = point_text(case)
        with tempfile.TemporaryDirectory() as folder:
            sources = [Path(folder, name) for name in ("point.c", "loop.c")]
            for source, content in zip(sources, (text, _LOOP)):
                source.write_text(content)
            self._loop = library("cc", flags, sources).loop
        points = case.sizes["points"]
        self.results = [np.empty(wanted.shape) for wanted in case.expected]
        arrays = [*case.arguments, *self.results]
        assert len(arrays) <= 2 * _MOST_ARRAYS
        widths = [array.size // points for array in arrays]
        counts = (points, len(case.arguments), len(self.results))
        self._counts = [ctypes.c_int64(count) for count in counts]
        self._widths = (ctypes.c_int64 * len(widths))(*widths)
        self._given = _pointers(case.arguments)
        self._made = _pointers(self.results)
        self._work = np.empty(max(1, scratch))
        self._held = case.arguments

    def run(self, calls: int) -> None:
        """Call so many times."""
        work = ctypes.c_void_p(self._work.ctypes.data)
        given = (self._widths, self._given, self._made, work)
        self._loop(ctypes.c_int64(calls), *self._counts, *given)


def _pointers(arrays: Sequence[Any]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))
