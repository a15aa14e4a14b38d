"""Random programs that index arrays, make views of them and assign to them, as text."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = Any
LARGEST = 2.0**30  # numbers beyond might be rounded, and a derivative then differ in its last bit


class Program:
    """Lines of Python on arrays ``x``, ``y`` of floats and ``k`` of indices.

    ``complex`` runs the same with buffers that can hold a complex step. Elements stay integers and
    masks compare with halves, so that nothing is rounded and no tie is ever on the way.
    """

    def __init__(self, lines: list[str], results: list[str]) -> None:
        self.text = "\n".join(
            ["def f(x, y, k):", *lines, f"return [{', '.join(results)}]"]
        ).replace("\n", "\n    ")
        self.real = _compiled(self.text)
        self.complex = _compiled(self.text.replace("dtype=float", "dtype=complex"))

    def __repr__(self) -> str:
        return self.text


_count = 0


def _compiled(text: str) -> Callable[..., Any]:
    """Return the function, with its source where errors look for it."""
    global _count
    _count += 1
    name = f"<program {_count}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), space)
    found: Callable[..., Any] = space["f"]
    linecache.cache.pop(f"<program {_count - 60}>", None)
    return found


class Writer:
    """Writes lines, each run on NumPy's arrays at once, so that the next knows the shapes."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.lines: list[str] = []
        sizes = st.sampled_from([2, 3, 1, 4, 0, 2, 3])
        shape = draw(st.lists(sizes, min_size=0, max_size=3))
        other = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
        self.k = np.array(draw(st.lists(st.integers(-2, 2), min_size=2, max_size=3)))
        numbers = st.integers(-3, 3)
        self.x = np.array(
            draw(st.lists(numbers, min_size=_size(shape), max_size=_size(shape))), float
        ).reshape(shape)
        self.y = np.array(
            draw(st.lists(numbers, min_size=_size(other), max_size=_size(other))), float
        ).reshape(other)
        if not shape:
            # a number cannot be assigned to: make it an array of rank 0
            self.lines.append("x = np.array(x)")
        self.space: dict[str, Any] = {
            "np": np, "x": self.x.copy(), "y": self.y.copy(), "k": self.k.copy(),
        }  # fmt: skip
        self.names = ["x", "y"]

    def integer(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high)))

    def one_of(self, options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def array(self) -> tuple[str, Array]:
        name = self.one_of(self.names)
        return name, self.space[name]

    def add(self, line: str) -> bool:
        """Run a line; leave out one that NumPy refuses or whose numbers are too large."""
        before = {name: (self.space[name], np.array(self.space[name])) for name in self.names}
        try:
            with np.errstate(all="ignore"):
                exec(line, self.space)
        except (ValueError, IndexError, TypeError, KeyError):
            self._restore(before)
            return False
        values = [self.space[name] for name in self.names]
        if any(np.size(v) and np.max(np.abs(v)) > LARGEST for v in values):
            self._restore(before)
            return False
        self.lines.append(line)
        return True

    def _restore(self, before: dict[str, tuple[Any, Array]]) -> None:
        for name, (array, value) in before.items():
            self.space[name] = array
            if isinstance(array, np.ndarray) and array.flags.writeable:
                array[...] = value

    # -- indices ---------------------------------------------------------------------------------

    def basic(self, shape: tuple[int, ...]) -> str:
        """Return a key of slices, integers, None and an Ellipsis."""
        parts: list[str] = []
        for size in shape[: self.integer(0, len(shape))]:
            if self.integer(0, 5) == 0:
                parts.append("None")
            parts.append(self.entry(size))
        if self.integer(0, 4) == 0:
            parts.insert(self.integer(0, len(parts)), "...")
        return ", ".join(parts) or "..."

    def entry(self, size: int) -> str:
        choice = self.integer(0, 6)
        if choice < 2 and size:
            return str(self.integer(-size, size - 1))
        if choice == 2 and size:
            return self.one_of(["k[0]", "k[1]", f"np.array({self.integer(-size, size - 1)})"])
        if choice == 3:
            return ":"
        start, stop = (self.one_of(["", *range(-size - 1, size + 2)]) for _ in range(2))
        return f"{start}:{stop}:{self.one_of(['', 1, 2, -1, -2, 3])}"

    def advanced(self, shape: tuple[int, ...]) -> str:
        """Return a key with index arrays or masks, perhaps with slices between."""
        parts: list[str] = []
        length = self.integer(0, 3)
        axis = 0
        end = self.integer(1, max(len(shape), 1))
        while axis < min(end, len(shape)):
            size = shape[axis]
            choice = self.integer(0, 7)
            if choice == 0:
                parts.append(self.entry(size))
            elif choice == 1:
                parts.append(str([bool(self.integer(0, 1)) for _ in range(size)]))
            elif choice == 2:
                rank = self.integer(1, len(shape) - axis)
                covered = shape[axis : axis + rank]
                held = np.array([self.integer(0, 1) for _ in range(_size(covered))], dtype=bool)
                parts.append(f"np.array({held.tolist()}, dtype=bool).reshape({covered})")
                axis += rank - 1
            elif choice == 3 and size > 2:
                parts.append(self.one_of(["k", "k[:1]", "k[:, None]"]))
            elif size:
                indices = [self.integer(-size, size - 1) for _ in range(length)]
                column = self.integer(0, 4) == 0
                text = str([[i] for i in indices] if column else indices)
                parts.append(text if indices else "[]")
            else:
                parts.append("[]")
            axis += 1
        if self.integer(0, 5) == 0:
            parts.insert(self.integer(0, len(parts)), self.one_of(["None", "...", "True"]))
        return ", ".join(parts) or "..."

    def key(self, shape: tuple[int, ...]) -> str:
        return self.basic(shape) if self.integer(0, 2) else self.advanced(shape)

    # -- lines -----------------------------------------------------------------------------------

    def value(self) -> str:
        """Return something to assign: a number, an array, a part of one, a multiple, a sum."""
        name, array = self.array()
        choice = self.integer(0, 7)
        if choice < 2:
            return str(self.integer(-3, 3))
        if choice == 2:
            return f"np.sum({name})"
        if choice == 3:
            return name
        part = f"{name}[{self.key(np.shape(array))}]"
        if choice == 4:
            return f"2 * {part}"
        if choice == 5:
            return f"{part} * y[..., :1]" if name != "y" else f"{part} * 3"
        return f"{part}.copy()" if choice == 6 else part

    def fresh(self, text: str) -> None:
        name = f"v{len(self.names)}"
        if len(self.names) > 6:
            name = self.one_of(self.names[2:])
        if self.add(f"{name} = {text}") and name not in self.names:
            if isinstance(self.space[name], np.ndarray) and self.space[name].dtype == float:
                self.names.append(name)
            else:
                self.lines.pop()

    def view(self) -> None:
        name, array = self.array()
        shape = np.shape(array)
        rank = len(shape)
        flipped = self.integer(0, rank) if rank else 0
        options = [
            f"{name}[{self.basic(shape)}]",
            f"{name}[{self.basic(shape)}]",
            f"{name}.T",
            f"{name}.reshape(-1)",
            f"{name}.ravel()",
            f"np.flip({name})" if flipped == rank else f"np.flip({name}, {flipped})",
            f"{name}.swapaxes(0, -1)",
            f"np.moveaxis({name}, 0, -1)",
            f"{name}.squeeze()",
            f"np.expand_dims({name}, -1)",
            f"{name}.reshape({(*shape[1:], *shape[:1])})",
            f"np.atleast_2d({name})",
            f"np.asarray({name})",
            f"np.einsum('...i->i...', {name})" if rank else name,
            f"np.einsum('ii->i', {name})"
            if rank == 2 and len({*shape}) == 1
            else f"np.atleast_3d({name})",
            f"np.diagonal({name})" if rank > 1 else f"{name}[..., ::-1].ravel()",
        ]
        self.fresh(self.one_of(options))

    def copy(self) -> None:
        name, array = self.array()
        shape = np.shape(array)
        options = [
            f"{name}[{self.advanced(shape)}]",
            f"{name}[{self.advanced(shape)}]",
            f"{name}.copy()",
            f"{name} * 2 + 1",
            f"np.zeros({shape}, dtype=float)",
            f"np.arange(6.0).reshape(2, 3).astype(dtype=float)[:, :{self.integer(0, 3)}]",
            f"{name}.flat[{self.integer(0, 2)}:]",
        ]
        self.fresh(self.one_of(options))

    def assign(self) -> None:
        name, array = self.array()
        shape = np.shape(array)
        target = f"{name}[{self.key(shape)}]"
        self.add(f"{target} {self.one_of(['=', '=', '+=', '-=', '*='])} {self.value()}")

    def whole(self) -> None:
        name, array = self.array()
        if not (isinstance(array, np.ndarray) and array.flags.writeable):
            return  # methods ``at`` of ufuncs write all the same
        target = f"{name}[{self.basic(np.shape(array))}]"
        options = [
            f"{name} {self.one_of(['+=', '-=', '*='])} {self.value()}",
            f"{name}.T[{self.basic(np.shape(array)[::-1])}] += {self.value()}",
            f"np.copyto({name}, {self.value()})",
            f"np.add({name}, {self.value()}, out={name})",
            f"np.multiply({target}, 2, out={name}[...])",
            f"np.fill_diagonal({name}, {self.value()})",
            f"np.put({name}, [0, -1], {self.value()})",
            f"{name}.flat[{self.one_of(['0', ':2', '::2', '[0, 0]'])}] = {self.integer(-3, 3)}",
            f"{name}.fill({self.integer(-3, 3)})",
            f"np.add.at({name}, {self.one_of(['0', '[0, 0]', 'k[:1]', '...'])}, {self.value()})",
            f"np.subtract.at({name}, [0, -1, 0], {self.value()})",
            f"np.multiply.at({name}, [0, -1, 0], {self.integer(-2, 2)})",
        ]
        self.add(self.one_of(options))

    def swap(self) -> None:
        name, array = self.array()
        size = len(array) if np.ndim(array) else 0
        if size < 2:
            return
        i, j = self.integer(-size, size - 1), self.integer(0, size - 1)
        ending = self.one_of(["", ".copy()"])
        options = [
            f"{name}[{i}], {name}[{j}] = {name}[{j}]{ending}, {name}[{i}]{ending}",
            f"{name}[[{i}, {j}]] = {name}[[{j}, {i}]]",
            f"{name}[:] = {name}[::-1]",
            f"for i in range(1, len({name})): {name}[i] += {name}[i - 1]",
            f"for row in {name}[1:]: row[...] *= 2" if np.ndim(array) > 1 else f"{name}[1:] += 1",
            f"for i, v in np.ndenumerate({name}): y[...] = y + v * (1 + sum(i))",
            f"for i in np.ndindex({name}.shape): {name}[i] = {name}[i] * 2 - 1",
            f"for v in np.nditer({name}, op_flags=['readwrite'], order='C'): v[...] = v * 2",
            f"y[...] = y + sum({name}.flat) * 2",
        ]
        self.add(self.one_of(options))

    def mask(self) -> None:
        """Use a mask that is not known while the function is traced."""
        name, array = self.array()
        shape = np.shape(array)
        other, _ = self.array()
        half = f"{self.integer(-2, 1)}.5"
        narrow = len(shape) > 1 and self.integer(0, 1)
        test = f"{name}[{', '.join([':', *['0'] * (len(shape) - 1)])}]" if narrow else name
        condition = f"{test}.real {self.one_of(['<', '>'])} {half}"
        if not self.add(f"m = {condition}"):
            return
        key = self.one_of(["m", "m", "np.nonzero(m)", "np.where(m)"])
        number = self.integer(-3, 3)
        row = f"{name}[0]" if narrow else str(number)
        done = self.one_of([
            f"{name}[{key}] = {number}",
            f"{name}[{key}] *= {number}",
            f"{name}[{key}] = {name}[{key}] * 2 + {row}",
            f"{name}[{key}] -= np.sum({other})",
            f"{name}[m] = -{name}[m] * {name}[m]",
            f"{name}[m] += {row}",
            f"{name}[~m] = {number}",
            f"{name}.T[m.T] += {number}" if not narrow else f"{name}[m, ..., -1] = {number}",
            f"{name}[m, ..., 0] += {number}" if narrow else f"np.copyto({name}, {number}, where=m)",
        ])  # fmt: skip
        reduced = self.one_of([
            f"{name}[{key}].sum()",
            f"np.sum({name}[m] * 2)",
            f"np.dot({name}[m].T, {name}[m])",
            f"np.prod({name}[m])",
            f"len({name}[m]) + {name}[m].size",
            f"{name}[m].sum(axis=0)",
            f"({name}[m] * {name}[m]).sum(axis=-1).sum()",
            f"np.sum({name}[m][{name}[m].real > 0.5])",
            f"np.sum({name}[m] - {row})",
            f"({name}[m] * m.sum()).T.sum()",
            f"np.sum(np.where({name}[m].real > 0.5, {name}[m], 1))",
        ])  # fmt: skip
        if self.integer(0, 1):
            self.add(done)
        else:
            self.add(f"y[...] = y + {reduced}")


def _size(shape: Any) -> int:
    return int(np.prod(shape, dtype=int))


@st.composite
def programs(draw: Any) -> tuple[Program, list[Array]]:
    """Draw a program and arguments for it."""
    writer = Writer(draw)
    steps = [
        writer.view, writer.view, writer.view, writer.copy, writer.assign, writer.assign,
        writer.assign, writer.whole, writer.swap, writer.mask,
    ]  # fmt: skip
    for _ in range(draw(st.integers(4, 9))):
        draw(st.sampled_from(steps))()
    return Program(writer.lines, writer.names), [writer.x, writer.y, writer.k]
