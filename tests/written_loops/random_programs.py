"""Random programs of loops and branches: their text, as a person would write it in plain Python.

A program takes two numbers and two arrays of four and returns a number. Whatever it does stays
bounded, and the loops end.
"""

from __future__ import annotations

from random import Random

_NUMBERS = ("x", "y", "z")
_ARRAYS = ("a", "b")
# what objects, containers and nested functions hold: of programs that have more than variables
_PARTS = ('d["p"]', 'd["q"]', "o.u", "o.w", "ys[0]", "ys[1]", "m[1, 2]", "m[k % 4, 0]")
_OBJECTS = (
    'd = {"p": 0.3, "q": x}',
    "o = SimpleNamespace(u=0.2, w=y)",
    "ys = [x, 0.1]",
    "m = 0.3 * np.outer(a, b)",
    "def bump(w):",
    "    nonlocal z",
    "    z = np.tanh(0.5 * z + w)",
    "    return z",
    "def taken(w):",
    "    for step in range(3):",
    "        if w * step > 0.8 + y:",
    "            return np.sin(w) + step",
    '    d["q"] = np.tanh(w + d["q"])',
    "    return z",
)


class Writer:
    """Writes one program, with what a source of random numbers chooses.

    With ``objects`` it has what its loops change in objects and by nested functions, blocks such as
    try and with, and more kinds of statements.
    """

    def __init__(self, random: Random, *, objects: bool = False) -> None:
        self._random = random
        self._objects = objects
        self._lines: list[str] = []
        self._names = 0
        self._left = random.randint(4, 14)
        self._counters: list[str] = []
        self._branches = 0

    def write(self) -> str:
        """Return the text of the function ``f``."""
        self._lines = ["import numpy as np", "import gradc", "", "def f(x, y, a, b):"]
        self._put(1, "a = a.copy()")
        self._put(1, "b = b * 1.0")
        self._put(1, "z = 0.5")
        self._put(1, "k = 0")
        self._put(1, "xs = []")
        if self._objects:
            self._lines[:2] = [
                "from contextlib import nullcontext",
                "from types import SimpleNamespace",
            ]
            self._lines[2:2] = ["", "import numpy as np", "import gradc", ""]
            for line in _OBJECTS:
                self._put(1, line)
        for _ in range(self._random.randint(2, 4)):
            self._statement(1, loop=False)
        self._loop(1)
        self._put(1, "total = x + 2 * y + 3 * z + np.sum(a * b) + 0.1 * k")
        self._put(1, "for s in xs:")
        self._put(2, "total += s")
        if self._objects:
            self._put(1, "total += d['p'] + 2 * d['q'] + 3 * o.u + o.w + ys[0] - ys[1] + np.sum(m)")
        self._put(1, "return total + len(xs)")
        return "\n".join(self._lines) + "\n"

    def _put(self, depth: int, text: str) -> None:
        self._lines.append("    " * depth + text)

    def _new(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def _number(self, depth: int = 0) -> str:
        random = self._random
        inner = depth + 1
        if self._objects and random.random() < 0.25:
            if depth < 2 and random.random() < 0.3:
                return f"{random.choice(('bump', 'bump', 'taken'))}({self._number(inner)})"
            return random.choice(_PARTS)
        choice = random.randint(0, 11 if depth < 2 else 4)
        if choice <= 2:
            return random.choice(_NUMBERS)
        if choice == 3:
            return f"{random.choice(_ARRAYS)}[{self._index()}]"
        if choice == 4:
            return f"{random.uniform(-1, 1):.2f}"
        if choice == 5:
            return f"np.sin({self._number(inner)} + {self._number(inner)})"
        if choice == 6:
            return f"({self._number(inner)} - 0.5 * {self._number(inner)})"
        if choice == 7:
            return f"np.tanh({self._number(inner)} * {self._number(inner)})"
        if choice == 8:
            return f"({self._number(inner)} if {self._condition(inner)} else {self._number(inner)})"
        if choice == 9:
            return f"np.sum(np.cos({random.choice(_ARRAYS)}))"
        if choice == 10:
            return f"max({self._number(inner)}, {self._number(inner)})"
        return f"0.1 * k * {self._number(inner)}"

    def _index(self) -> str:
        options = ["0", "1", "-1", "2", "k % 4"]
        options += [f"{counter} % 4" for counter in self._counters]
        return self._random.choice(options)

    def _condition(self, depth: int = 0) -> str:
        random = self._random
        choice = random.randint(0, 7)
        inner = depth + 1
        compare = f"{self._number(inner)} {random.choice('<>')} {self._number(inner)}"
        if choice == 0 and depth < 2:
            word = random.choice(("and", "or"))
            return f"({compare} {word} {self._condition(inner)})"
        if choice == 1:
            return f"not {compare}"
        if choice == 2:
            return f"-0.7 < {self._number(inner)} <= 0.9"
        if choice == 3:
            return f"k % {random.randint(2, 3)} == {random.randint(0, 1)}"
        if choice == 4 and self._counters:
            return f"{random.choice(self._counters)} {random.choice(('<', '>=', '=='))} 2"
        return compare

    def _statement(self, depth: int, *, loop: bool) -> None:
        random = self._random
        self._left -= 1
        if self._objects and random.random() < 0.4:
            self._put_other(depth, loop=loop)
            return
        choice = random.randint(0, 21)
        if choice <= 3:
            name = random.choice(_NUMBERS)
            self._put(depth, f"{name} = np.tanh({self._number()})")
        elif choice <= 5:
            self._put(depth, f"{random.choice(_NUMBERS)} += 0.1 * np.sin({self._number()})")
        elif choice == 6:
            self._put(depth, f"x, y = y, np.sin(x + {self._number()})")
        elif choice == 7:
            self._put(depth, f"{random.choice(_ARRAYS)}[{self._index()}] = {self._number()}")
        elif choice == 8:
            text = f"{random.choice(_ARRAYS)}[{self._index()}] += 0.3 * np.cos({self._number()})"
            self._put(depth, text)
        elif choice == 9:
            self._put(depth, f"{random.choice(_ARRAYS)} *= 0.5 * np.tanh({self._number()})")
        elif choice == 10:
            self._put(
                depth, random.choice(("a, b = b, a", "a = b.copy()", "b = np.sin(a)", "b = a"))
            )
        elif choice == 11:
            self._put(depth, f"k += {random.randint(1, 2)}")
        elif choice == 12 and not self._branches:
            self._put(depth, f"xs.append({self._number()})")
        elif choice == 13:
            self._put(depth, f"a[1:3] = np.sin(b[{random.choice(('0:2', '1:3', '2:4'))}] + z)")
        elif choice <= 16 or self._left < 0 or depth > 5:
            self._branch(depth, loop=loop)
        elif choice == 17 and loop:
            self._put(depth, f"if {self._condition()}:")
            self._put(depth + 1, random.choice(("break", "continue", "break")))
        elif choice == 18 and loop and random.random() < 0.5:
            self._put(depth, f"if {self._condition()}:")
            self._put(depth + 1, f"return x + z * {self._number()} + np.sum(a)")
        else:
            self._loop(depth)

    def _put_other(self, depth: int, *, loop: bool) -> None:
        """Put a statement about objects, or one of a kind that programs of variables have not."""
        random = self._random
        choice = random.randint(0, 19)
        if choice <= 3:
            self._put(depth, f"{random.choice(_PARTS)} = np.tanh({self._number()})")
        elif choice == 4:
            self._put(depth, f"{random.choice(_PARTS)} *= 0.5 * np.cos({self._number()})")
        elif choice == 5:
            self._put(depth, f"ys[0], ys[1] = ys[1], np.sin({self._number()})")
        elif choice == 6:
            self._put(depth, f"o.u, z = np.sin({self._number()}), o.w")
        elif choice == 7:
            self._put(depth, f"m[{self._index()}] = np.sin(a + {self._number()})")
        elif choice == 8:
            self._put(depth, f"a = np.tanh(m[:, {self._index()}] + b)")
        elif choice == 9:
            self._put(depth, f"bump({self._number()})")
        elif choice == 10:
            name = self._new("t")
            self._put(depth, f"{name} = np.sin({self._number()})")
            self._put(depth, f"y = 0.5 * y + {name}")
            self._put(depth, f"del {name}")
        elif choice == 11:
            name = self._new("w")
            self._put(depth, f"if ({name} := np.sin({self._number()})) > {self._number()}:")
            self._put(depth + 1, f"x = x - 0.1 * {name}")
        elif choice == 12:
            self._put(
                depth, f"z += 0.1 * sum([np.sin(y * i) for i in range({random.randint(0, 3)})])"
            )
        elif choice == 13:
            name = self._new("p")
            pair = random.random() < 0.5
            self._put(depth, "match (k % 3, k % 2):" if pair else "match k % 3:")
            self._put(depth + 1, "case (0, 1):" if pair else "case 0:")
            self._block(depth + 2, loop=loop)
            self._put(depth + 1, f"case (1, 0) if {self._condition()}:" if pair else "case 1 | 2:")
            self._put(depth + 2, f"y = np.sin({self._number()})")
            self._put(depth + 1, f"case {name}:")
            self._put(depth + 2, f"z = 0.5 * z + 0.1 * {name}" + "[0]" * pair)
        elif choice == 14:
            self._put(depth, "try:")
            self._block(depth + 1, loop=loop)
            self._put(depth, "finally:")
            self._put(depth + 1, f"o.w = 0.5 * o.w + np.sin({self._number()})")
        elif choice == 15:
            name = self._new("h")
            self._put(depth, f"with nullcontext({self._number()}) as {name}:")
            self._put(depth + 1, f"x = np.sin(x + {name})")
            self._block(depth + 1, loop=loop)
        elif choice == 16 and depth <= 4 and self._left >= -4:
            name = self._new("n")
            self._put(depth, f"{name} = 0")
            self._put(depth, "while True:")
            self._put(depth + 1, f"{name} += 1")
            self._put(depth + 1, f"if {name} > {random.randint(1, 4)} or {self._condition()}:")
            self._put(depth + 2, "break")
            self._block(depth + 1, loop=True)
        elif choice == 17 and depth <= 4 and self._left >= -4:
            name = self._new("r")
            self._put(depth, f"for {name} in m:")
            self._put(depth + 1, f"{name}[{self._index()}] = np.sin({self._number()})")
            self._block(depth + 1, loop=True)
        elif choice == 18 and depth <= 4 and self._left >= -4:
            name = self._new("i")
            self._put(depth, f"for {name}, ys[0] in enumerate(ys):")
            self._put(depth + 1, f"o.u = np.tanh(o.u + ys[0] * {name})")
        else:
            self._put(depth, f"z = 0.5 * z + 0.1 * {random.choice(_PARTS)}")

    def _block(self, depth: int, *, loop: bool) -> None:
        for _ in range(self._random.randint(1, 3)):
            self._statement(depth, loop=loop)

    def _branch(self, depth: int, *, loop: bool) -> None:
        if self._left < -6 or depth > 6:
            self._put(depth, "z = 0.5 * z + 0.1")
            return
        self._branches += 1
        self._put(depth, f"if {self._condition()}:")
        self._block(depth + 1, loop=loop)
        if self._random.random() < 0.3:
            self._put(depth, f"elif {self._condition()}:")
            self._block(depth + 1, loop=loop)
        if self._random.random() < 0.5:
            self._put(depth, "else:")
            self._block(depth + 1, loop=loop)
        self._branches -= 1

    def _loop(self, depth: int) -> None:
        random = self._random
        if self._left < -4 or depth > 4:
            self._put(depth, "y = 0.5 * y + 0.1 * x")
            return
        told = random.choice(("gradc.rolled(", "gradc.rolled(", "("))
        count = random.randint(0, 6)
        name = self._new("i")
        kind = random.randint(0, 6)
        ahead: list[str] = []
        counted: list[str] = []
        if kind <= 1:
            head = f"for {name} in {told}range({count})):"
            counted = [name]
        elif kind == 2:
            head = f"for {name} in {told}{random.choice(_ARRAYS)}):"
            ahead = [f"z = 0.5 * z + 0.3 * {name}"]
        elif kind == 3:
            item = self._new("r")
            head = f"for {name}, {item} in {told}enumerate({random.choice(_ARRAYS)})):"
            ahead = [f"x = np.sin(x + {item})"]
            counted = [name]
        elif kind == 4:
            item = self._new("r")
            head = f"for {name}, {item} in {told}zip(a, b)):"
            ahead = [f"y = np.tanh(y + {name} * {item})"]
        elif kind == 5:
            head = f"for {name} in {told}reversed(range(1, {count + 1}))):"
            counted = [name]
        else:
            self._put(depth, f"{name} = 0")
            head = f"while {self._condition()} and {name} < {count}:"
            ahead = [f"{name} += 1"]
        self._put(depth, head)
        for line in ahead:
            self._put(depth + 1, line)
        self._counters += counted
        self._block(depth + 1, loop=True)
        for each in counted:
            self._counters.remove(each)
        if random.random() < 0.2:
            self._put(depth, "else:")
            self._block(depth + 1, loop=False)
        if counted and count and random.random() < 0.4:
            self._put(depth, f"x = np.tanh(x + 0.1 * {counted[0]})")
