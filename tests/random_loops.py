"""Random programs of nested loops and branches, and what they mean in plain Python."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gradc
from gradc.arguments import pytree
from tests.loop_writer import Writer

Array = Any


class Plain:
    """The loops and branches of gradc as their manual tells them, and a log of all decisions.

    Arrays are handed over as copies: a body may assign into its own, and the result of a loop is
    another array than what it began with.
    """

    def __init__(self) -> None:
        self.log: list[int] = []

    def scan(
        self,
        f: Callable[..., Any],
        init: Any,
        xs: Any = None,
        length: int | None = None,
        *,
        reverse: bool = False,
        checkpoint: Any = None,
    ) -> Any:
        init = _copied(init)
        leaves, structure = pytree.flatten(xs)
        count = len(leaves[0]) if leaves else length or 0
        rows = [pytree.unflatten(structure, [leaf[i] for leaf in leaves]) for i in range(count)]
        if not count:
            blank = pytree.unflatten(
                structure, [np.zeros(np.shape(x)[1:], x.dtype) for x in leaves]
            )
            _, form = pytree.flatten(f(_copied(init), blank)[1])
            empty = pytree.flatten(f(_copied(init), blank)[1])[0]
            return init, pytree.unflatten(
                form, [np.zeros((0, *np.shape(y)), np.asarray(y).dtype) for y in empty]
            )
        results: list[Any] = [None] * count
        for i in reversed(range(count)) if reverse else range(count):
            init, results[i] = f(_copied(init), _copied(rows[i]))
        columns = zip(*(pytree.flatten(result)[0] for result in results))
        return init, pytree.unflatten(pytree.flatten(results[0])[1], [np.stack(c) for c in columns])

    def fori_loop(
        self, lower: int, upper: int, body: Any, init: Any, *, checkpoint: Any = None
    ) -> Any:
        init = _copied(init)
        for i in range(lower, upper):
            init = body(i, _copied(init))
        return init

    def while_loop(
        self, condition: Any, body: Any, init: Any, *, max_iter: int | None = None
    ) -> Any:
        init, count = _copied(init), 0
        while condition(_copied(init)):
            init = body(_copied(init))
            count += 1
        self.log.append(count)
        return init

    def cond(self, holds: Any, then: Any, otherwise: Any, *operands: Any) -> Any:
        self.log.append(int(holds))
        return (then if holds else otherwise)(*_copied(operands))

    def switch(self, index: Any, branches: Sequence[Any], *operands: Any) -> Any:
        index = min(max(index, 0), len(branches) - 1)
        self.log.append(int(index))
        return branches[index](*_copied(operands))

    def map(self, f: Any, xs: Any) -> Any:
        return self.scan(lambda carry, row: (carry, f(row)), (), xs)[1]

    def vmap(self, f: Any, in_axes: Any = 0) -> Any:
        def many(*args: Any) -> Any:
            axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
            size = next(len(arg) for arg, axis in zip(args, axes) if axis == 0)
            rows = [
                f(*(arg if axis is None else arg[i] for arg, axis in zip(args, axes)))
                for i in range(size)
            ]
            return np.stack(rows)

        return many

    def checkpoint(self, f: Any) -> Any:
        return f


def _copied(tree: Any) -> Any:
    leaves, structure = pytree.flatten(tree)
    copies = [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]
    return pytree.unflatten(structure, copies)


class Program:
    """A function of ``x``: f64[n], ``m``: f64[n,n], ``s``: f64 and ``k``: i64.

    It returns ``total``, a float, and a tuple of all that is in scope at the end. ``real`` uses
    gradc; ``plain`` takes a Plain in its place, and so does ``complex``, which can hold a complex
    step: all its functions are analytic.
    """

    def __init__(self, seed: int) -> None:
        self.text = Writer(random.Random(seed)).function()
        name = f"<random loops {seed}>"
        lines = self.text.splitlines(keepends=True)
        linecache.cache[name] = (len(self.text), None, lines, name)
        space: dict[str, Any] = {"np": np, "gradc": gradc}
        exec(compile(self.text, name, "exec"), space)
        self.real: Callable[..., Any] = space["f"]

    def plain(self, arguments: Sequence[Any], loops: Plain | None = None) -> Any:
        """Return what the program means for these arguments."""
        return self._run(self.text, arguments, loops)

    def derivative(
        self, arguments: Sequence[Any], tangents: Sequence[Any], loops: Plain | None = None
    ) -> float:
        """Return the derivative of ``total`` along tangents of x, m and s, by a complex step."""
        step = 1e-40j
        moved = [a + step * t for a, t in zip(arguments, tangents)]
        text = self.text.replace("dtype=float", "dtype=complex")
        total = self._run(text, [*moved, arguments[3]], loops)[0]
        return float(np.imag(total) / step.imag)

    def _run(self, text: str, arguments: Sequence[Any], loops: Plain | None) -> Any:
        space: dict[str, Any] = {"np": np, "gradc": loops or Plain()}
        exec(text, space)
        return space["f"](*_copied(list(arguments)))


def arguments(seed: int, n: int) -> list[Any]:
    """Return arguments of a program for a size."""
    choose = np.random.default_rng(seed)
    matrix = choose.uniform(-1, 1, (n, n))
    return [choose.uniform(-1, 1, n), matrix, np.float64(choose.uniform(-1, 1)), seed % 5]
