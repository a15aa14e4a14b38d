"""Determinism by gradient injection: random upstream gradients, and the bits of what comes back.

The method is that of Riach's *Gradient injection* (NVIDIA, framework-determinism, 2020): an
upstream gradient that differs from element to element shows an order of summation that changes,
which equal elements would hide.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gradc.api.compile import compiled
from gradc.arguments import pytree
from gradc.pipeline import derive
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.runtime.executable import Executable
from gradc.runtime.fitting import fits
from gradc.runtime.specialize import generalize
from gradc.runtime.trace_anew import least_sizes
from gradc.testing.c_kernel import CKernel, NoKernel
from gradc.testing.sampling import check_least
from gradc.tracing import NeedsConcreteSize, Traced
from gradc_codegen.libraries.routines import routines_in
from gradc_ir.core.binding import bind_sizes
from gradc_ir.core.types import Array
from gradc_ir.errors import ShapeError
from gradc_ir.meaning.ulp_distance import same_bits
from gradc_ir.text.parser import parse_function
from gradc_ir.text.printer import print_function

A_CALL = "a call"
WITHOUT_BLAS = "a kernel without BLAS"
_EXPORTED = "the exported C kernel"
# Takes upstream gradients to the values and the gradients, each a list of arrays.
Way = Callable[[Sequence[Array]], list[Array]]


@dataclass(frozen=True)
class Difference:
    """The first element whose bits differ."""

    function: str
    element: str
    way: str
    seed: int
    expected: Any
    found: Any
    against: str = A_CALL

    def __str__(self) -> str:
        width = max(len(self.against), len(self.way)) + 1
        return (
            f"{self.function} is not deterministic: {self.element} has other bits from {self.way} "
            f"than from {self.against}, seed {self.seed}\n"
            f"  {self.against + ':':<{width}} {_bits(self.expected)}\n"
            f"  {self.way + ':':<{width}} {_bits(self.found)}"
        )


@dataclass(frozen=True)
class Repeat:
    """One way to compute the gradients: what differs, or why it was not taken.

    ``against``: what it was compared with.
    """

    way: str
    difference: Difference | None = None
    reason: str = ""
    against: str = A_CALL


def check_determinism(
    f: Callable[..., Any], args: Sequence[Any], repeat: int = 5, *, seed: int = 0
) -> None:
    """Check that value and gradients of a function have the same bits, whatever computes them.

    For each of ``repeat`` seeds, ``seed``, ``seed + 1`` and so on, upstream gradients are drawn
    from [-1, 1) and pulled back through ``f`` at ``args``. The same is done by another call, in
    another process, by kernels of static and of symbolic sizes, and by the exported C kernel, where
    there is a C compiler.

    Raises AssertionError that names the first element that differs, the way and the seed, and
    ValueError for ``repeat`` below 1 or ``seed`` below 0. An
    exported kernel is without BLAS: where a call leaves large matrix products to it, that kernel is
    compared with one that does not. Products by BLAS may differ between machines:
    ``gradc.compile(f, blas=False)``.
    """
    for made in compare_bits(f, args, repeat, seed=seed):
        if made.difference is not None:
            raise AssertionError(str(made.difference))


def compare_bits(
    f: Callable[..., Any], args: Sequence[Any], repeat: int = 5, *, seed: int = 0
) -> Iterator[Repeat]:
    """Yield what each way to compute values and gradients gives, compared with a call.

    The exported kernel is compared with a kernel without BLAS where a call has products by BLAS.
    Raises ValueError for no repeat at all, and for a seed below 0.
    """
    check_least(1, repeat=repeat)
    check_least(0, seed=seed)
    injected = _Injected(f, args)
    seeds = range(seed, seed + repeat)
    upstream = [injected.draw(each) for each in seeds]
    expected = [injected.call(each) for each in upstream]
    ways: list[tuple[str, Callable[[], Way]]] = [
        ("the same call again", lambda: injected.call),
        ("a kernel of static sizes", lambda: injected.kernel(injected.traced)),
        ("a kernel of symbolic sizes", lambda: injected.kernel(injected.symbolic())),
        (_EXPORTED, injected.exported),
        ("another process", lambda: injected.other_process(upstream)),
    ]
    for name, make in ways:
        try:
            way = make()
        except (NoKernel, NeedsConcreteSize) as reason:
            yield Repeat(name, reason=str(reason))
            continue
        against, wanted = A_CALL, expected
        if name == _EXPORTED and injected.uses_blas():
            plain = injected.kernel(injected.traced, blas=False)
            against, wanted = WITHOUT_BLAS, [plain(each) for each in upstream]
        found = injected.first_difference(name, way, seeds, upstream, wanted, against)
        yield Repeat(name, found, against=against)


class _Injected:
    """A function at arguments, and the ways from upstream gradients to its gradients."""

    def __init__(self, f: Callable[..., Any], args: Sequence[Any]) -> None:
        self.compiled = compiled(f)
        self.f = f
        self.args = tuple(args)
        self.options: Options = self.compiled.options
        self.bound = self.compiled._parameters.bind(self.args, {})
        self.arrays = self.bound.leaves
        self.wrt = [i for i, array in enumerate(self.arrays) if array.dtype.kind == "f"]
        self.traced = self.compiled._at(self.bound).trace(self.bound.types)
        value, _ = self.compiled.vjp(*self.args)
        self.value_tree = pytree.flatten(value)[1]
        self.like = [np.asarray(leaf) for leaf in pytree.flatten(value)[0]]
        function = self.traced.function
        names = [f"result {i}" for i in range(len(function.results))]
        names = ["the value"] if len(names) == 1 else names
        self.names = [*names, *(f"the gradient by {function.names[i]}" for i in self.wrt)]

    def draw(self, seed: int) -> list[Array]:
        """Return upstream gradients in [-1, 1), one for each floating-point result."""
        random = np.random.default_rng(seed)
        return [
            np.asarray(2 * random.random(like.shape) - 1, like.dtype)
            for like in self.like
            if like.dtype.kind == "f"
        ]

    # -- ways --------------------------------------------------------------------------------------

    def call(self, upstream: Sequence[Array]) -> list[Array]:
        """Return the values and gradients of a call in Python."""
        value, pullback = self.compiled.vjp(*self.args)
        rest = iter(upstream)
        parts = [next(rest) if like.dtype.kind == "f" else None for like in self.like]
        whole = pytree.unflatten(self.value_tree, parts)
        gradients = pytree.flatten(pullback(whole))[0]
        return [np.asarray(each) for each in (*pytree.flatten(value)[0], *gradients)]

    def kernel(self, traced: Traced, blas: bool = True) -> Way:
        """Return one kernel for value and gradients, for the sizes it was traced with."""
        executable = Executable(self._final(traced), blas=blas and self.options.blas)
        return _pulled(executable, self._inputs(traced))

    def uses_blas(self) -> bool:
        """Whether a kernel of the function leaves products to BLAS."""
        from gradc_codegen.compile_function import Compilation  # loads llvmlite

        if not self.options.blas:
            return False
        text = Compilation(self._final(self.traced), blas=True).llvm
        return any("gemm" in routine for routine in routines_in([text]))

    def symbolic(self) -> Traced:
        """Return the function traced for all sizes; raises NeedsConcreteSize, or NoKernel.

        There is none where sizes belong together that are not equal by name, as those of ``x`` and
        of ``y[:3]``: then a call has a kernel for its sizes, too.
        """
        shapes = self.bound.shapes
        others = tuple(tuple(size + (size > 1) for size in shape) for shape in shapes)
        types = list(generalize(self.bound.types, [shapes, others]))
        if types == list(self.bound.types):
            raise NoKernel("there are no sizes")
        try:
            traced = self.compiled._at(self.bound).trace(types, at_hand=bind_sizes(types, shapes))
        except ShapeError as misfit:
            raise NoKernel(f"its sizes are not free: {misfit.what}") from None
        if not fits(traced, shapes, least_sizes(traced)):
            raise NoKernel("its sizes are not free: those of the arguments do not fit the others")
        return traced

    def _final(self, traced: Traced) -> Any:
        return derive(traced.function, Request("vjp", tuple(self.wrt), options=self.options))

    def _inputs(self, traced: Traced) -> list[Array]:
        return [*self.arrays, *(capture.read() for capture in traced.captures)]

    def exported(self) -> Way:
        """Return the exported kernel, called as C calls it; raises NoKernel."""
        try:
            traced = self.symbolic()
        except (NeedsConcreteSize, NoKernel):
            traced = self.traced
        return _pulled(CKernel(self._final(traced)), self._inputs(traced))

    def other_process(self, upstream: Sequence[Sequence[Array]]) -> Way:
        """Return what another process computed: by the function if it can import it, or its graph.

        Raises NoKernel when there is neither.
        """
        try:
            if self.traced.captures:
                raise _NotThere  # arrays outside may hold something else in a fresh module
            found = _in_another_process("function", (self.f, self.args), upstream)
        except _NotThere:
            text = print_function(self._final(self.traced), locations=False, names=False)
            given = text, self._inputs(self.traced), self.options.blas
            found = _in_another_process("graph", given, upstream)
        results = iter(found)
        return lambda _: next(results)

    # -- bits --------------------------------------------------------------------------------------

    def first_difference(
        self,
        name: str,
        way: Way,
        seeds: Sequence[int],
        upstream: Sequence[Sequence[Array]],
        expected: Sequence[Sequence[Array]],
        against: str = A_CALL,
    ) -> Difference | None:
        """Return the first element whose bits differ for one of the seeds, None when none does."""
        for seed, given, wanted in zip(seeds, upstream, expected):
            for element, found, want in zip(self.names, way(given), wanted, strict=True):
                place = _first_other_bits(found, want)
                if place is not None:
                    index = f"[{', '.join(map(str, place))}]" if place else ""
                    return Difference(
                        self.traced.function.name, element + index, name, seed,
                        want[place], found[place], against,
                    )  # fmt: skip
        return None


def _pulled(kernel: Callable[[Sequence[Array]], Sequence[Array]], arrays: Sequence[Array]) -> Way:
    """Return the way of a kernel for arrays and upstream gradients."""
    return lambda upstream: list(kernel([*arrays, *upstream]))


def _first_other_bits(found: Array, want: Array) -> tuple[int, ...] | None:
    if found.shape != want.shape or found.dtype != want.dtype:
        return ()
    places = np.argwhere(~same_bits(found, want))
    return tuple(int(i) for i in places[0]) if len(places) else None


def _bits(number: Any) -> str:
    return (
        f"{number!r:.40} {float(number).hex()}"
        if isinstance(number, np.floating)
        else f"{number!r:.40}"
    )


# -- the other process -----------------------------------------------------------------------------


class _NotThere(Exception):
    """The other process cannot import the function."""


_STATUS_NOT_THERE = 3


def _in_another_process(
    kind: str, given: Any, upstream: Sequence[Sequence[Array]]
) -> list[list[Array]]:
    try:
        message = pickle.dumps((kind, pickle.dumps(given), [list(each) for each in upstream]))
    except Exception:  # whatever the pickling of an object of the user's raises
        raise _NotThere from None
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    path = os.pathsep.join(entry or os.getcwd() for entry in sys.path)
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from gradc.testing.determinism import answer; answer()"],
        input=message,
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
    )
    if done.returncode == _STATUS_NOT_THERE:
        raise _NotThere
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().splitlines()
        raise NoKernel(f"the process failed: {last[-1] if last else done.returncode}")
    found: list[list[Array]] = pickle.loads(done.stdout)
    return found


def answer() -> None:
    """Compute, in a process of its own, what standard input asks for."""
    kind, pickled, upstream = pickle.load(sys.stdin.buffer)
    answered = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the user's modules print is no part of the answer
    try:
        given = pickle.loads(pickled)
    except Exception:
        sys.exit(_STATUS_NOT_THERE)
    if kind == "function":
        way: Way = _Injected(*given).call
    else:
        text, arrays, blas = given
        way = _pulled(Executable(parse_function(text), blas=blas), arrays)
    with answered:
        pickle.dump([way(each) for each in upstream], answered)
