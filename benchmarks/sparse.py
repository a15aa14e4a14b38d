"""Sparse Jacobians and Hessians beside CasADi's, whose C code is compiled by gcc -O3.

    python -m benchmarks.sparse [row ...]        (make bench-sparse)
    python -m benchmarks.sparse sizes            (first calls of ours by the number of unknowns)

Both tools are given the same text, CasADi as NumPy arrays of its scalar symbols. Each row has the
elements, the passes that colours would take (CasADi: of its one-sided colouring), the time from the
function to the first values with nothing kept on disk, and that of one evaluation, which both write
into arrays that are there: all of the processor's time, the compiler's included. Values are
compared first. Tools take turns; the least time counts. ``from C`` is the time of both functions in
a loop of C, gradc's as it is exported for this processor, with arrays that begin at lines of the
cache.
"""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

os.environ["GRADC_CACHE"] = "0"

import numpy as np

import gradc
from gradc.sparsity.compression import compress, compress_symmetric

REPEATS = 9


class Row(NamedTuple):
    """A function of one vector, at a point, and which derivative is taken."""

    function: Callable[[Any], Any]
    point: Any
    of: str = "jacobian"


def tridiagonal(x: Any) -> Any:
    """Return residuals of three neighbours each."""
    return x[1:-1] ** 2 * np.sin(x[2:]) - np.exp(x[:-2])


def on_grid(u: Any) -> Any:
    """Return the unknowns of a square grid, with a frame of zeros."""
    n = round(len(u) ** 0.5)
    whole = np.zeros((n + 2, n + 2), u.dtype)
    whole[1:-1, 1:-1] = u.reshape(n, n)
    return whole


def five_points(u: Any) -> Any:
    """Return residuals of Bratu's equation."""
    w = on_grid(u)
    around = w[2:, 1:-1] + w[:-2, 1:-1] + w[1:-1, 2:] + w[1:-1, :-2]
    return (around - 4 * w[1:-1, 1:-1] + 0.01 * np.exp(w[1:-1, 1:-1])).ravel()


def nine_points(u: Any) -> Any:
    """Return residuals of a stencil of nine points with products of neighbours."""
    w = on_grid(u)
    corners = w[2:, 2:] * w[:-2, :-2] + w[2:, :-2] * w[:-2, 2:]
    around = w[2:, 1:-1] + w[:-2, 1:-1] + w[1:-1, 2:] + w[1:-1, :-2]
    return (around + 0.5 * corners - 8 * np.sin(w[1:-1, 1:-1])).ravel()


STAGES = 200


def swing_up(z: Any) -> Any:
    """Return the defects of a cart with a pole, by the trapezoidal rule: 4 states, 1 force."""
    stages = z.reshape(-1, 5)
    x, angle, v, spin, force = (stages[:, i] for i in range(5))
    sine, cosine = np.sin(angle), np.cos(angle)
    mass = 1.0 + 0.3 * sine**2
    a = (force + 0.3 * sine * (0.5 * spin**2 + 9.81 * cosine)) / mass
    b = -(force * cosine + 0.15 * spin**2 * cosine * sine + 1.3 * 9.81 * sine) / (0.5 * mass)
    slopes, states = (v, spin, a, b), (x, angle, v, spin)
    return np.concatenate(
        [s[1:] - s[:-1] - 0.02 * (d[1:] + d[:-1]) for s, d in zip(states, slopes)]
    )


def arrowhead(x: Any) -> Any:
    """Return residuals of which one reads everything, and all read the first unknown."""
    return np.concatenate([(x**2).sum(keepdims=True), x[0] * np.sin(x[1:])])


# constants of what is exported
BAKED = ("CAMERA", "PLACE", "FROM", "TO", "CONDUCTANCE", "SUSCEPTANCE")
CAMERAS, POINTS, SEEN = 10, 200, 1000
_random = np.random.default_rng(0)
CAMERA, PLACE = _random.integers(0, CAMERAS, SEEN), _random.integers(0, POINTS, SEEN)


def bundle(x: Any) -> Any:
    """Return where cameras see points: rotation by small angles, shift, focal length."""
    camera = x[: 7 * CAMERAS].reshape(CAMERAS, 7)[CAMERA]
    p = x[7 * CAMERAS :].reshape(POINTS, 3)[PLACE]
    rx, ry, rz = camera[:, 0], camera[:, 1], camera[:, 2]
    u = p[:, 0] + ry * p[:, 2] - rz * p[:, 1] + camera[:, 3]
    v = p[:, 1] + rz * p[:, 0] - rx * p[:, 2] + camera[:, 4]
    w = p[:, 2] + rx * p[:, 1] - ry * p[:, 0] + camera[:, 5]
    radius = (u * u + v * v) / (w * w)
    scale = camera[:, 6] * (1.0 + 0.1 * radius) / w
    return np.concatenate([scale * u, scale * v])


INTERVALS = 60
# slopes at the Radau points of an interval, by the values at its start and at these points
DIFFERENCES = (
    (-4.13938769, 3.22474487, 1.16784008, -0.25319726),
    (1.73938769, -3.56784008, 0.77525513, 1.05319726),
    (-3.0, 5.53197265, -7.53197265, 5.0),
)


def collocation(z: Any) -> Any:
    """Return what is left of an oscillator's equations at the Radau points of each interval."""
    first = (len(z) - 2) // 4 + 2
    ends, inner = z[:first].reshape(-1, 2), z[first:].reshape(-1, 6)
    x = [ends[:-1, 0], *(inner[:, i] for i in range(3))]
    y = [ends[:-1, 1], *(inner[:, i] for i in range(3, 6))]
    left = []
    for i, row in enumerate(DIFFERENCES, 1):
        left.append(sum(d * one for d, one in zip(row, x)) - 0.1 * y[i])
        force = (1.0 - x[i] ** 2) * y[i] - x[i]
        left.append(sum(d * one for d, one in zip(row, y)) - 0.1 * force)
    return np.concatenate([*left, x[3] - ends[1:, 0], y[3] - ends[1:, 1]])


BUSES, LINES = 300, 420
FROM = np.concatenate([np.arange(BUSES - 1), _random.integers(0, BUSES, LINES - BUSES + 1)])
TO = np.concatenate([np.arange(1, BUSES), _random.integers(0, BUSES, LINES - BUSES + 1)])
CONDUCTANCE, SUSCEPTANCE = _random.uniform(0.5, 2, LINES), _random.uniform(5, 20, LINES)


def power_flow(z: Any) -> Any:
    """Return the active and reactive power that each bus of a network sends into its lines."""
    angle, voltage = z[:BUSES], z[BUSES:]
    turn = angle[FROM] - angle[TO]
    cosine, sine = np.cos(turn), np.sin(turn)
    both = voltage[FROM] * voltage[TO]
    active, reactive = np.zeros(BUSES, z.dtype), np.zeros(BUSES, z.dtype)
    for own, sign in ((FROM, 1.0), (TO, -1.0)):
        square = voltage[own] ** 2
        sent = CONDUCTANCE * square - both * (CONDUCTANCE * cosine + sign * SUSCEPTANCE * sine)
        np.add.at(active, own, sent)
        sent = SUSCEPTANCE * square + both * (sign * CONDUCTANCE * sine - SUSCEPTANCE * cosine)
        np.add.at(reactive, own, sent)
    return np.concatenate([active, reactive])


def chained(x: Any) -> Any:
    """Return Rosenbrock's function."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


ROWS = {
    "tridiagonal": Row(tridiagonal, _random.uniform(0.5, 1.5, 1000)),
    "5 points": Row(five_points, _random.uniform(0.5, 1.5, 2500)),
    "9 points": Row(nine_points, _random.uniform(0.5, 1.5, 2500)),
    "control": Row(swing_up, _random.uniform(0.5, 1.5, 5 * STAGES)),
    "arrowhead": Row(arrowhead, _random.uniform(0.5, 1.5, 1000)),
    "bundle": Row(bundle, _random.uniform(1, 2, 7 * CAMERAS + 3 * POINTS)),
    "collocation": Row(collocation, _random.uniform(0.5, 1.5, 8 * INTERVALS + 2)),
    "power flow": Row(power_flow, _random.uniform(0.9, 1.1, 2 * BUSES)),
    "Hessian": Row(chained, _random.uniform(0.5, 1.5, 11_000), "hessian"),
}


class Made(NamedTuple):
    """A derivative that is ready: what evaluates it, its values and places, how long it took."""

    run: Callable[[], Any]
    values: Any
    places: Any
    passes: int
    seconds: float
    library: Any = None


def spent() -> float:
    """Return the processor time of this process and of the compilers it has run."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def by_gradc(row: Row) -> Made:
    """Return the derivative by gradc."""
    start = spent()
    compiled = gradc.compile(row.function)
    values_of = getattr(compiled, f"{row.of}_values")
    values = values_of(row.point)
    seconds = spent() - start
    places = getattr(compiled, f"{row.of}_structure")(row.point)
    pattern = compiled.sparsity(row.point, of=row.of)
    made = compress(pattern, "auto") if row.of == "jacobian" else compress_symmetric(pattern)
    passes = made.forward_passes + made.reverse_passes
    return Made(lambda: values_of(row.point, out=values), values, places, passes, seconds)


def by_casadi(row: Row) -> Made:
    """Return the derivative by CasADi, in C."""
    import casadi

    folder = Path(tempfile.mkdtemp())
    start = spent()
    symbols = casadi.SX.sym("x", len(row.point))
    made = row.function(np.array(casadi.vertsplit(symbols), dtype=object))
    expression = casadi.vertcat(*(made if isinstance(made, np.ndarray) else [made]))
    if row.of == "jacobian":
        derivative = casadi.jacobian(expression, symbols)
        passes = derivative.sparsity().uni_coloring(derivative.sparsity().T).size2()
    else:
        derivative = casadi.tril(casadi.hessian(expression, symbols)[0])
        passes = casadi.hessian(expression, symbols)[0].sparsity().star_coloring().size2()
    function = casadi.Function("derivative", [symbols], [derivative])
    function.generate("derivative.c", {"with_header": False})
    Path("derivative.c").replace(folder / "derivative.c")
    flags = ["-O3", "-march=native", "-shared", "-fPIC", "-lm"]
    library = str(folder / "derivative.so")
    subprocess.run(["gcc", str(folder / "derivative.c"), "-o", library, *flags], check=True)
    loaded = casadi.external("derivative", library)
    buffer, run = loaded.buffer()
    values = np.zeros(derivative.nnz())
    buffer.set_arg(0, memoryview(np.ascontiguousarray(row.point)))
    buffer.set_res(0, memoryview(values))
    run()
    seconds = spent() - start
    rows, columns = map(np.array, derivative.sparsity().get_triplet())
    kept = loaded, buffer  # which the call does not keep

    def call(run: Callable[[], Any] = run, kept: Any = kept) -> None:
        run()

    places = rows, columns
    return Made(call, values, places, int(passes), seconds, ctypes.CDLL(library))


LOOPS = r"""
#include <time.h>
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}
double ours(int (*f)(const double *, double *, void *), const double *x,
            double *v, void *w, int n) {
    double start = now();
    for (int i = 0; i < n; i++) f(x, v, w);
    return (now() - start) / n;
}
double theirs(int (*f)(const double **, double **, long long *, double *, int), const double *x,
              double *v, void *w, int n) {
    const double *given[] = {x};
    double *made[] = {v}, start = now();
    for (int i = 0; i < n; i++) f(given, made, 0, w, 0);
    return (now() - start) / n;
}
"""


def from_c(row: Row, derivative: ctypes.CDLL, count: int) -> tuple[float, float]:
    """Return the times of an evaluation of both in a loop of C, in microseconds."""
    folder = Path(tempfile.mkdtemp())
    (folder / "loops.c").write_text(LOOPS)
    kind = "jac" if row.of == "jacobian" else "hess"
    name = row.function.__code__.co_varnames[0]
    made = gradc.compile(row.function).export(
        "kernel",
        f"{name}: f64[{len(row.point)}]",
        of=f"{kind}_sparse",
        bake=[one for one in row.function.__code__.co_names if one in BAKED],
        cpu="native",
        out=folder,
    )
    files = [str(folder / "loops.c"), *(str(path) for path in made if path.suffix == ".o")]
    library = str(folder / "loops.so")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", *files, "-lm", "-o", library], check=True)
    loops = ctypes.CDLL(library)
    loops.ours.restype = loops.theirs.restype = ctypes.c_double
    size = getattr(loops, f"kernel_{kind}_values_worksize")
    size.restype = ctypes.c_int64
    arrays = [at_line(length) for length in (len(row.point), count, max(size(), 1 << 20))]
    arrays[0][:] = row.point
    given = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    functions = (
        (loops.ours, getattr(loops, f"kernel_{kind}_values")),
        (
            loops.theirs,
            derivative.derivative,
        ),
    )
    best = [float("inf")] * 2
    for _ in range(REPEATS):
        for i, (loop, function) in enumerate(functions):
            best[i] = min(best[i], loop(function, *given, 1000))
    return best[0], best[1]


def at_line(length: int) -> Any:
    """Return an array of zeros that begins at a line of the cache."""
    whole = np.zeros(length + 8)
    start = -whole.ctypes.data % 64 // 8
    return whole[start : start + length]


def compared(row: Row, one: Made, other: Made) -> None:
    """Raise unless both have the same derivative."""
    size = len(row.point)
    places = [made.places[0].astype(np.int64) * size + made.places[1] for made in (one, other)]
    whole = dict(zip(places[0].tolist(), one.values.tolist()))
    for place, value in zip(places[1].tolist(), other.values.tolist()):
        found = whole.pop(place, 0.0)
        if not abs(found - value) <= 1e-9 * (1 + abs(value)):
            raise AssertionError(f"{divmod(place, size)}: {found} and {value}")
    if any(whole.values()):
        raise AssertionError(f"elements that the other has not: {list(whole)[:5]}")


def timed(calls: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Return the least processor time of each call, measured by turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(REPEATS):
        for name, call in calls.items():
            count, start = 0, time.process_time()
            while (seconds := time.process_time() - start) < 0.02:
                for _ in range(10):
                    call()
                count += 10
            best[name] = min(best[name], seconds / count)
    return best


# of each row without data of its own, the unknowns for about so many
UNKNOWNS: dict[str, Callable[[int], int]] = {
    "tridiagonal": lambda n: n,
    "5 points": lambda n: round(n**0.5) ** 2,
    "9 points": lambda n: round(n**0.5) ** 2,
    "control": lambda n: n // 5 * 5,
    "arrowhead": lambda n: n,
    "collocation": lambda n: n // 8 * 8 + 2,
    "Hessian": lambda n: n,
}


def by_sizes() -> None:
    """Print the time of first calls by sizes, of the pattern and all, and the colours."""
    gradc.compile(tridiagonal).jacobian_values(np.ones(7))  # what the first of all loads
    print(f"{'':12} {'unknowns':>9} {'elements':>9} {'pattern':>8} {'values, s':>9} {'colours':>7}")
    for name, unknowns in UNKNOWNS.items():
        row = ROWS[name]
        gradc.compile(row.function).jacobian_structure(np.ones(unknowns(400)))
        for n in (10**2, 10**3, 10**4, 10**5, 10**6):
            point = np.linspace(0.5, 1.5, unknowns(n))
            compiled = gradc.compile(row.function)
            start = time.process_time()
            rows, _ = getattr(compiled, f"{row.of}_structure")(point)
            middle = time.process_time()
            getattr(compiled, f"{row.of}_values")(point)
            end = time.process_time()
            pattern = compiled.sparsity(point, of=row.of)
            grid = (round(n**0.5),) * 2 if "points" in name else (len(point),)
            if row.of == "jacobian":
                made = compress(pattern, "auto", ((pattern.shape[0],), grid))
            else:
                made = compress_symmetric(pattern)
            print(
                f"{name:12} {len(point):9} {len(rows):9} {middle - start:8.3f} "
                f"{end - start:9.3f} {made.forward_passes + made.reverse_passes:7}",
                flush=True,
            )


def main(names: list[str]) -> None:
    """Print a table."""
    if names == ["sizes"]:
        by_sizes()
        return
    print(f"{'':12} {'elements':>9} {'passes':>9} {'first values, s':>20} {'evaluation, us':>22}")
    for name in names or ROWS:
        row = ROWS[name]
        ours, theirs = by_gradc(row), by_casadi(row)
        compared(row, ours, theirs)
        times = timed({"gradc": ours.run, "casadi": theirs.run})
        alone = functools.partial(gradc.compile(row.function), row.point)
        value = timed({"value": alone})["value"]
        us, them = times["gradc"] * 1e6, times["casadi"] * 1e6
        c_us, c_them = from_c(row, theirs.library, max(len(ours.values), len(theirs.values)))
        print(
            f"{name:12} {len(ours.values):9} {ours.passes:4} {theirs.passes:4} "
            f"{ours.seconds:9.2f} {theirs.seconds:10.2f} {us:10.1f} {them:8.1f} {them / us:6.1f}x"
            f"   value {value * 1e6:.1f}   from C {c_us:.2f} {c_them:.2f} {c_them / c_us:.1f}x"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
