"""Writes random programs of nested loops and branches, as text that NumPy runs."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager

# kinds of variables: float, vector [n], matrix [n,n], index below n, bool
KINDS = "fvmib"
# Of each kind; all are analytic, and small for small values. ``fill`` tells what the letters mean.
EXPRESSIONS = {
    "f": [
        "$f", "$f", "($f + $f)", "($f * $f)", "($f - 0.3)", "np.exp(-($f**2))",
        "$f / (1.0 + $f**2)", "np.sqrt(1.0 + $f**2)", "$V[$i]", "np.mean($v)", "($V @ $V)",
        "$M[$i, $i]", "(0.2 * $i + $f)",
    ],
    "v": [
        "$v", "$v", "($v + $v)", "($v * $v)", "($F * $v)", "(0.5 * ($M @ $v))", "$M[$i]",
        "$M[:, $i]", "$V[::-1]", "np.where(np.arange(n) < $i, $v, $v)", "(0.4 * np.cumsum($v))",
        "np.roll($v, 1)", "np.full(n, $F)",
    ],
    "m": [
        "$m", "$m.T", "($F * $m)", "($m * $M)", "(0.4 * ($m @ $M))", "np.outer($V, $V)",
        "($m + $V)",
    ],
    "i": ["$I", "$I", "($I + 1) % n", "0", "np.argmax($V)"],
    "b": ["$f < -0.3", "$f < 0.1", "$f < 0.5", "$i % 2 == 0", "np.logical_not($B)", "$B"],
}  # fmt: skip
# What is done to a vector that the function made.
UPDATES = [
    "{0}[$i] = $=f",
    "{0}[$i] += 0.3 * $=f",
    "{0}[$i] *= $=f",
    "{0}[1:] = 0.5 * {0}[:-1]",
    "{0}[::2] += 0.2 * $=v[::2]",
    "{0}[:] = $=v",
]
# What a scan runs over, and of what kinds its rows are.
ROWS = [
    ("$V", "f"), ("$M", "v"), ("($V, $M)", "fv"), ("np.arange(n)", "i"), ("$V[1:]", "f"),
    ("$V[:0]", "f"), ("(np.arange(n), $V)", "if"), ("", ""),
]  # fmt: skip
# How long one is that runs over nothing.
LENGTHS = [", length=0", ", length=1", ", length=3", ", length=n"]
# How so many carries are nested.
NESTS = {
    1: ["({},)", "[{}]", '{{"p": {}}}'],
    2: ["({}, {})", "[{}, {}]", '{{"p": {}, "q": {}}}', "({}, ({},))"],
    3: ["({}, {}, {})", "({}, ({}, {}))", '{{"p": {}, "q": ({}, {})}}'],
    4: ["({}, {}, {}, {})", "(({}, {}), [{}, {}])"],
}


class Writer:
    """Writes the lines of a program, whose variables stay small."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.lines: list[str] = []
        self.indent = 1
        self.count = 0
        self.scope = {"f": ["s"], "v": ["x"], "m": ["m"], "i": [], "b": []}
        self.owned: list[str] = []  # vectors that this function made, which it may assign into

    def function(self) -> str:
        """Return the text of a program."""
        self.line("n = x.shape[0]")
        self.assign("i", "(k + n) % n")
        self.assign("b", "$f < 0.2")
        for _ in range(self.choose.choice([1, 1, 1, 2, 3])):
            self.statement(0)
            self.choose.choice([self.scan, self.fori_loop, self.while_loop])(0)
        names = [name for kind in KINDS for name in self.scope[kind]]
        parts = [*self.scope["f"], *(f"np.mean({name})" for name in self.scope["v"])]
        parts += [f"np.mean(np.sin({name}))" for name in self.scope["m"]]
        self.line(f"return {' + '.join(parts)}, ({', '.join(names)},)")
        return "\n".join(["def f(x, m, s, k):", *self.lines]) + "\n"

    # -- lines -------------------------------------------------------------------------------------

    def line(self, template: str) -> None:
        self.lines.append("    " * self.indent + self.fill(template))

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def assign(self, kind: str, template: str) -> str:
        name = self.name(kind)
        self.line(f"{name} = {template}")
        self.scope[kind].append(name)
        return name

    @contextmanager
    def body(self, name: str, *parameters: str) -> Iterator[None]:
        """Write a function within: what it makes is gone afterwards, what it sees stays."""
        self.line(f"def {name}({', '.join(parameters)}):")
        self.indent += 1
        before, owned = {kind: list(names) for kind, names in self.scope.items()}, self.owned
        self.owned = []
        yield
        self.scope, self.owned = before, owned
        self.indent -= 1

    def statements(self, depth: int) -> None:
        for _ in range(self.choose.randint(1, 2)):
            self.statement(depth)

    def statement(self, depth: int) -> None:
        """Write one statement; loops within loops down to depth 3."""
        if depth < 3 and self.choose.random() < (0.6, 0.5, 0.25)[depth]:
            control = [self.scan, self.fori_loop, self.while_loop, self.cond, self.cond]
            self.choose.choice([*control, self.switch, self.map, self.vmap, self.checkpoint])(depth)
        else:
            self.choose.choice([self.compute, self.compute, self.buffer, self.update])()

    def compute(self) -> None:
        kind = self.choose.choice("ffvvmib")
        self.assign(kind, self.bounded(kind))

    def buffer(self) -> None:
        new = self.choose.choice(["np.zeros(n, dtype=float)", "$V.copy()"])
        self.owned.append(self.assign("v", new))
        self.update()

    def update(self) -> None:
        """Assign into a vector of this function's own."""
        if self.owned:
            self.line(self.choose.choice(UPDATES).format(self.choose.choice(self.owned)))
        else:
            self.compute()

    # -- loops and branches ------------------------------------------------------------------------

    def carries(self, at_least: str = "") -> tuple[list[str], str, str]:
        """Return kinds of carries, the nest of their first values, and a pattern of the nest."""
        kinds = list(at_least) + self.choose.choices("ffvvmib", k=self.choose.randint(1, 3))
        pattern = self.choose.choice(NESTS[len(kinds)])
        return kinds, pattern.format(*(self.variable(kind) for kind in kinds)), pattern

    def unpack(self, kinds: list[str], pattern: str, source: str, owned: bool = False) -> list[str]:
        """Write a line that takes a nest apart; dicts are taken apart by their keys."""
        names = [self.name(kind) for kind in kinds]
        target = pattern.format(*names)
        if target.startswith("{"):
            source = f'{source}["p"], {source}["q"]' if '"q"' in target else f'{source}["p"]'
            target = target[1:-1].replace('"p": ', "").replace('"q": ', "")
        self.line(f"{target} = {source}")
        for kind, name in zip(kinds, names):
            self.scope[kind].append(name)
            if owned and kind == "v" and self.choose.random() < 0.5:
                self.owned.append(name)
        return names

    def next(self, pattern: str, kinds: list[str], names: list[str]) -> str:
        """Return the nest of the carries' next values."""
        found = []
        for kind, name in zip(kinds, names):
            new = self.bounded(kind)
            if kind in "fvm":
                mixed = [f"0.6 * {name} + 0.4 * {new}", f"np.tanh({name} + {new})"]
                new = self.choose.choice([*mixed, *mixed, name, new])
            found.append(new)
        return pattern.format(*found)

    def scan(self, depth: int) -> None:
        kinds, init, pattern = self.carries()
        f, last, stacked = self.name("scan"), self.name("last"), self.name("stacked")
        rows, row_kinds = self.choose.choice(ROWS)
        made = self.choose.choice(["", "f", "v", "i"])
        over = self.fill(f", {rows}") if rows else self.choose.choice(LENGTHS)
        with self.body(f, "carry", "row"):
            names = self.unpack(kinds, pattern, "carry", owned=True)
            if row_kinds:
                self.unpack(list(row_kinds), ", ".join("{}" for _ in row_kinds), "row")
            self.statements(depth + 1)
            result = self.bounded(made) if made else "None"
            self.line(f"return {self.next(pattern, kinds, names)}, {result}")
        over += self.choose.choice(["", "", ", reverse=True"])
        over += self.choose.choice(["", "", ', checkpoint="sqrt"', ", checkpoint=2"])
        self.line(f"{last}, {stacked} = gradc.scan({f}, {init}{over})")
        self.unpack(kinds, pattern, last)
        if made in ("f", "v"):
            self.assign("f", f"np.sum({stacked}) * 0.1")
        elif made == "i":
            self.assign("i", f"np.sum({stacked}) % n")

    def fori_loop(self, depth: int) -> None:
        kinds, init, pattern = self.carries()
        f, last, index = self.name("fori"), self.name("last"), self.name("i")
        lower = self.choose.choice(["0", "0", "1", "$I"])
        upper = self.choose.choice(["n", "3", "0", "k", "$I", "n - 1"])
        bounds = self.fill(f"{lower}, {upper}")
        with self.body(f, index, "carry"):
            self.line(f"{index} = {index} % n")
            self.scope["i"].append(index)
            names = self.unpack(kinds, pattern, "carry", owned=True)
            self.statements(depth + 1)
            self.line(f"return {self.next(pattern, kinds, names)}")
        # only how often is known before can be divided into pieces
        known = lower in "01" and upper not in ("k", "$I")
        option = ', checkpoint="sqrt"' if known and self.choose.random() < 0.3 else ""
        self.line(f"{last} = gradc.fori_loop({bounds}, {f}, {init}{option})")
        self.unpack(kinds, pattern, last)

    def while_loop(self, depth: int) -> None:
        """Write a loop with a counter and, perhaps, an exit by the data or by a flag."""
        kinds, init, pattern = self.carries("f")
        going, f = self.name("going"), self.name("turn")
        last, count = self.name("last"), self.name("count")
        bound = f"count < {self.fill(self.choose.choice(['3', '4', 'k', 'n', '0', '$I']))}"
        with self.body(going, "state"):
            self.line("count, carry = state")
            names = self.unpack(kinds, pattern, "carry")
            flags = [name for kind, name in zip(kinds, names) if kind == "b"]
            stop = self.choose.choice(["$f < 0.7", "np.mean($V) > -0.5", *flags])
            both = f"np.logical_and({bound}, {stop})"
            self.line(f"return {self.choose.choice([both, both, bound])}")
        with self.body(f, "state"):
            self.line("count, carry = state")
            self.scope["i"].append("(count % n)")
            names = self.unpack(kinds, pattern, "carry", owned=True)
            self.statements(depth + 1)
            self.line(f"return count + 1, {self.next(pattern, kinds, names)}")
        option = self.choose.choice(["", "", ", max_iter=6"])
        self.line(f"{count}, {last} = gradc.while_loop({going}, {f}, (0, {init}){option})")
        self.assign("i", f"{count} % n")
        self.unpack(kinds, pattern, last)

    def function_of(self, name: str, given: str, made: list[str], depth: int) -> None:
        """Write a function of variables of some kinds, which returns one or a tuple of others."""
        parameters = [self.name(kind) for kind in given]
        with self.body(name, *parameters):
            for kind, parameter in zip(given, parameters):
                self.scope[kind].append(parameter)
            self.statements(depth + 1)
            results = ", ".join(self.bounded(kind) for kind in made)
            self.line(f"return {results}")

    def cond(self, depth: int) -> None:
        self.branches(depth, 2)

    def switch(self, depth: int) -> None:
        self.branches(depth, 3)

    def branches(self, depth: int, count: int) -> None:
        made = self.choose.choices("ffvmi", k=2)
        given = "".join(self.choose.choices("fvi", k=self.choose.randint(0, 2)))
        operands = "".join(f", ${kind.upper()}" for kind in given)
        names = [self.name("branch") for _ in range(count)]
        for name in names:
            self.function_of(name, given, made, depth)
        if count == 2:
            text = f"gradc.cond($b, {', '.join(names)}{operands})"
        else:
            text = f"gradc.switch($i - 1, [{', '.join(names)}]{operands})"
        self.unpack(made, "{}, {}", text)

    def map(self, depth: int) -> None:
        name = self.name("each")
        self.function_of(name, "f", ["f"], depth)
        self.assign("v", f"gradc.map({name}, $V)")

    def vmap(self, depth: int) -> None:
        name = self.name("each")
        self.function_of(name, "fv", ["f"], depth)
        rest = self.choose.choice(["in_axes=0)($V, $M)", "in_axes=(0, None))($V, $V)"])
        self.assign("v", f"gradc.vmap({name}, {rest}")

    def checkpoint(self, depth: int) -> None:
        name = self.name("apart")
        self.function_of(name, "fv", ["f"], depth)
        self.assign("f", f"gradc.checkpoint({name})($f, $v)")

    # -- expressions -------------------------------------------------------------------------------

    def variable(self, kind: str) -> str:
        names = self.scope[kind]
        # the newest of them are likely carries and rows
        return names[-1 - min(int(self.choose.expovariate(0.6)), len(names) - 1)]

    def expression(self, kind: str, depth: int = 1) -> str:
        """Return an expression: a template, filled with others down to a depth."""
        if depth == 0:
            return self.variable(kind)
        return self.fill(self.choose.choice(EXPRESSIONS[kind]), depth)

    def bounded(self, kind: str) -> str:
        """Return an expression below 1 in magnitude; of an index or a bool, any."""
        if kind in "ib":
            return self.expression(kind)
        return f"np.{self.choose.choice(['sin', 'cos', 'tanh'])}({self.expression(kind, 2)})"

    def fill(self, template: str, depth: int = 1) -> str:
        """Replace ``$f`` by an expression, ``$F`` by a variable, ``$=f`` by a bounded one."""

        def one(match: re.Match[str]) -> str:
            bounded, kind = match.groups()
            if bounded:
                return self.bounded(kind)
            if kind.isupper():
                return self.variable(kind.lower())
            return self.expression(kind, depth - 1)

        return re.sub(r"\$(=?)(\w)", one, template)
