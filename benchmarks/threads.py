"""What two threads gain: programs on one and on two of gradc's, beside numba-parallel and JAX.

``make bench-threads`` runs this, on two cores that nothing else uses. Of each tool the times on one
core and on two are measured, and how many times as fast it is on two. Of gradc's there is more: the
ceiling of the machine, which is how many calls on one thread two callers get done while one alone
does one: two cores may share a memory, or all of a core; and how much more processor time two
threads take together, which other programs disturb less. Of a call of a few numbers that is all
that is measured. JAX and numba count the cores there are when they begin, so that they run in
processes of their own, one for each number.

    python -m benchmarks.threads [--rounds N] [words in names …]
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

import gradc
from benchmarks.rows import gmm, kmeans, pairwise
from benchmarks.rows.row import Row, Sizes
from benchmarks.turns import Contestant, Plan, called, measure


class Program(NamedTuple):
    """A function of arrays, and what is computed of it."""

    name: str
    function: Callable[..., Any]
    of: str
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    wrt: tuple[int, ...] | None = None


def chain(x):
    """Return a sum of functions: bound by arithmetic."""
    return np.sum(np.exp(np.sin(x)) * np.tanh(x))


def logistic(w, x, y):
    """Return a loss of many rows: bound by memory."""
    return np.sum(np.log(1 + np.exp(-y * (x @ w))))


def mixture(means, x):
    """Return the likelihood of few points, whose sums have one chunk."""
    apart = np.sum((x[:, None, :] - means[None, :, :]) ** 2, axis=2)
    return np.sum(np.log(np.sum(np.exp(-0.5 * apart), axis=1)))


def steps(x):
    """Return what fifty steps make of a large array."""
    return gradc.fori_loop(0, 50, lambda i, c: c + 0.01 * np.sin(c * i), x)


def mapped(x, w):
    """Return what is made of rows one by one."""
    return gradc.map(
        lambda row: np.sum(gradc.fori_loop(0, 10, lambda i, v: np.tanh(v @ w), row)), x
    )


def definite(random: np.random.Generator) -> Any:
    """Return a stack of small matrices."""
    a = random.normal(size=(20_000, 12, 12))
    return a @ a.transpose(0, 2, 1) + np.eye(12)


def of_row(row: Row, sizes: Sizes) -> Program:
    """Return a row of the benchmark; its derivatives by the arguments that it says."""
    of = "value" if row.wrt is None else row.of
    return Program(
        f"{row.name} {sizes['n']}",
        row.function,
        of,
        lambda random: row.data(random, sizes),
        row.wrt,
    )


PROGRAMS = (
    Program("chain", chain, "value_and_grad", lambda random: (random.normal(size=10**6),)),
    Program(
        "logistic",
        logistic,
        "value_and_grad",
        lambda random: (
            random.normal(size=16),
            random.normal(size=(400_000, 16)),
            np.sign(random.normal(size=400_000)),
        ),
    ),
    Program(
        "mixture",
        mixture,
        "value_and_grad",
        lambda random: (random.normal(size=(25, 10)), random.normal(size=(2000, 10))),
    ),
    # whose sums of groups are long, and few
    of_row(gmm.ROW, {"d": 2, "k": 25, "n": 10_000}),
    of_row(gmm.ROW, {"d": 10, "k": 50, "n": 10_000}),
    of_row(kmeans.ROW, {"k": 100, "n": 10_000, "d": 16}),
    of_row(pairwise.ROW, {"n": 2000, "d": 3}),
    Program("steps", steps, "value", lambda random: (random.normal(size=200_000),)),
    Program(
        "map",
        mapped,
        "value",
        lambda random: (random.normal(size=(20_000, 8)), random.normal(size=(8, 8)) / 3),
    ),
    Program(
        "sorted rows",
        lambda x: np.sort(x, axis=1),
        "value",
        lambda random: (random.normal(size=(2000, 1000)),),
    ),
    Program("cholesky", np.linalg.cholesky, "value", lambda random: (definite(random),)),
    Program(
        "solve",
        np.linalg.solve,
        "value",
        lambda random: (definite(random), random.normal(size=(20_000, 12, 3))),
    ),
)


class Gains(NamedTuple):
    """What two threads gain.

    Parameters
    ----------
    one, two: the seconds of a call on one thread and on two.
    ceiling: how many times as much two callers at once get done, on one thread each.
    work: how much more processor time it takes on two.
    """

    one: float
    two: float
    ceiling: float
    work: float


def gradc_times(program: Program, rounds: int) -> Gains:
    """Return what two threads gain, measured by turns; the bits must agree."""
    arguments = program.arguments(np.random.default_rng(0))
    contestants, results = [], []
    for threads in (1, 2):
        compiled = gradc.compile(_of(program), threads=threads, blas=False)
        asked = compiled if program.of == "value" else getattr(compiled, program.of)
        if program.wrt is not None:
            asked = functools.partial(asked, wrt=program.wrt)
        results.append(np.concatenate([np.ravel(each) for each in _flat(asked(*arguments))]))
        contestants.append(Contestant(str(threads), called(lambda f=asked: f(*arguments))))
    assert results[0].tobytes() == results[1].tobytes(), program.name
    beside = Contestant("beside", twice(contestants[0].run))
    found = measure([*contestants, beside], Plan(rounds))
    used = measure(contestants, Plan(rounds, clock=time.process_time))
    one, two = found["1"].median, found["2"].median
    work = used["2"].median / used["1"].median
    return Gains(one, two, 2 * one / found["beside"].median, work)


def twice(run: Callable[[int], None]) -> Callable[[int], None]:
    """Return what makes calls here and as many on another thread of Python's."""

    def both(calls: int) -> None:
        other = threading.Thread(target=run, args=(calls,))
        other.start()
        run(calls)
        other.join()

    return both


def _of(program: Program) -> Callable[..., Any]:
    """Return a function of the user's: one of NumPy's is none."""
    return lambda *arguments: program.function(*arguments)


def _flat(results: Any) -> tuple[Any, ...]:
    """Return all arrays of results, which are nests of tuples."""
    if not isinstance(results, tuple):
        return (results,)
    return tuple(array for each in results for array in _flat(each))


def small_call(rounds: int) -> float:
    """Return how much longer a call of three numbers takes with two threads, in processor time."""
    x = np.array([1.0, 2.0, 3.0])
    contestants = []
    for threads in (1, 2):
        compiled = gradc.compile(chain, threads=threads)
        contestants.append(Contestant(str(threads), called(lambda f=compiled: f(x))))
    found = measure(contestants, Plan(4 * rounds, clock=time.process_time))
    return found["2"].median / found["1"].median


# -- peers, each in a process of its own -----------------------------------------------------------


def jax_calls() -> dict[str, Callable[[], Any]]:
    """Return calls of JAX's, by the names of programs."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    texts = {
        "chain": lambda x: jnp.sum(jnp.exp(jnp.sin(x)) * jnp.tanh(x)),
        "logistic": lambda w, x, y: jnp.sum(jnp.log(1 + jnp.exp(-y * (x @ w)))),
        "mixture": lambda means, x: jnp.sum(
            jnp.log(
                jnp.sum(
                    jnp.exp(-0.5 * jnp.sum((x[:, None, :] - means[None, :, :]) ** 2, axis=2)),
                    axis=1,
                )
            )
        ),
        "steps": lambda x: jax.lax.fori_loop(0, 50, lambda i, c: c + 0.01 * jnp.sin(c * i), x),
        "sorted rows": lambda x: jnp.sort(x, axis=1),
        "cholesky": jnp.linalg.cholesky,
        "solve": jnp.linalg.solve,
    }
    found = {}
    for program in PROGRAMS:
        if program.name in texts:
            text = texts[program.name]
            made = jax.jit(text if program.of == "value" else jax.value_and_grad(text))
            given = [jnp.asarray(x) for x in program.arguments(np.random.default_rng(0))]
            found[program.name] = lambda made=made, given=given: jax.block_until_ready(made(*given))
    return found


def numba_calls() -> dict[str, Callable[[], Any]]:
    """Return calls of numba's, by hand with ``prange``, by the names of programs."""
    import numba

    @numba.njit(parallel=True)
    def by_hand(x, gradient):
        total = 0.0
        for i in numba.prange(len(x)):
            e, t = np.exp(np.sin(x[i])), np.tanh(x[i])
            total += e * t
            gradient[i] = e * (np.cos(x[i]) * t + 1 - t * t)
        return total

    @numba.njit(parallel=True)
    def logistic_by_hand(w, x, y):
        total, gradient = 0.0, np.zeros_like(w)
        for i in numba.prange(len(y)):
            e = np.exp(-y[i] * np.dot(x[i], w))
            total += np.log(1 + e)
            gradient += -y[i] * e / (1 + e) * x[i]
        return total, gradient

    given = {each.name: each.arguments(np.random.default_rng(0)) for each in PROGRAMS[:2]}
    (x,) = given["chain"]
    gradient = np.empty_like(x)
    return {
        "chain": lambda: by_hand(x, gradient),
        "logistic": lambda: logistic_by_hand(*given["logistic"]),
    }


PEERS = {"jax": jax_calls, "numba": numba_calls}


def peer_times(peer: str, cores: Sequence[int], rounds: int) -> dict[str, float]:
    """Return the seconds of calls of a peer's, in a process that has some cores."""
    command = [sys.executable, "-m", __spec__.name, "--peer", peer, "--rounds", str(rounds)]
    command += ["--cores", ",".join(map(str, cores))]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{peer}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return {}
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def run_peer(peer: str, cores: Sequence[int], rounds: int) -> None:
    """Print the seconds of calls of a peer's, as JSON."""
    os.sched_setaffinity(0, cores)
    os.environ["NUMBA_NUM_THREADS"] = str(len(cores))
    contestants = [Contestant(name, called(call)) for name, call in PEERS[peer]().items()]
    found = measure(contestants, Plan(rounds))
    print(json.dumps({name: times.median for name, times in found.items()}))


def main() -> None:
    """Print a line for each program."""
    parser = argparse.ArgumentParser()
    parser.add_argument("words", nargs="*")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--peer", choices=PEERS)
    parser.add_argument("--cores", default="")
    given = parser.parse_args()
    if given.peer:
        run_peer(given.peer, [int(core) for core in given.cores.split(",")], given.rounds)
        return
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        sys.exit("it takes two cores")
    peers = {
        peer: [peer_times(peer, cores[:count], given.rounds) for count in (1, 2)]
        for peer in PEERS
        if find_spec(peer) is not None
    }
    columns = f"{'gradc, ms on one':>18}{'on two':>10}{'gain':>7}{'ceiling':>9}{'work':>7}"
    print(f"{'':14}{columns}", end="")
    print("".join(f"{peer + ', on one':>18}{'on two':>10}{'gain':>7}" for peer in peers))
    for program in PROGRAMS:
        if given.words and not any(word in program.name for word in given.words):
            continue
        gains = gradc_times(program, given.rounds)
        times = f"{gains.one * 1e3:18.3f}{gains.two * 1e3:10.3f}{gains.one / gains.two:7.2f}"
        print(f"{program.name:14}{times}{gains.ceiling:9.2f}{gains.work:7.2f}", end="")
        for alone, both in peers.values():
            if program.name in alone and program.name in both:
                one, two = alone[program.name], both[program.name]
                print(f"{one * 1e3:18.3f}{two * 1e3:10.3f}{one / two:7.2f}", end="")
            else:
                print(" " * 35, end="")
        print(flush=True)
    print(f"a call of three numbers with threads=2: {small_call(given.rounds):.3f} times as long")


if __name__ == "__main__":
    main()
