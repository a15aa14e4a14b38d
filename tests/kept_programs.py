"""A program in four modules, and edits of all that its traces look at.

Each edit is a piece of the text and what is written in its place. Loaded again and again under the
same names, the program is what another process would load.
"""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

FAR = """
import numpy as np

GAIN = 1.25
TABLE = {"a": 0.5, "b": [1.0, 2.0]}


def far(x):
    return GAIN * np.sin(x) + TABLE["a"] * x + TABLE["b"][1]
"""

DEEP = """
import functools
from collections import namedtuple
from dataclasses import dataclass
from enum import Enum

import numpy as np

import kept_far
from kept_far import far


class Kind(Enum):
    LOW = 0.75
    HIGH = 1.75

    def scaled(self, by):
        return self.value * by + 0.125


class Base:
    rate = 0.3
    names = ("u", "v")

    def __init__(self, offset):
        self.offset = offset
        self.weights = np.array([0.1, 0.2, 0.3])

    @property
    def twice(self):
        return 2.0 * self.offset

    @staticmethod
    def still(x):
        return x * 1.5

    @classmethod
    def of_class(cls, x):
        return x + cls.rate

    def step(self, x):
        return x * self.rate + self.twice + self.weights


class Model(Base):
    order = [3.0, 4.0]

    def step(self, x):
        return super().step(x) - self.offset / 7.0 + self.order[1]


@dataclass
class Point:
    left: float
    right: float

    def width(self):
        return self.right - 0.5 * self.left


Pair = namedtuple("Pair", "first second")


class Scaled:
    def __init__(self, by):
        self.by = by

    def __call__(self, x):
        return x * self.by


def closed(by):
    inner = by + 1.0

    def apply(x, power=2, *, shift=0.25):
        return inner * x**power + shift

    return apply


@functools.lru_cache(maxsize=None)
def counted(n):
    return float(n) * 1.125


def chosen(x, how=None):
    if how is Kind.HIGH:
        return x * how.scaled(2.0)
    return x - 1.0


def deep(x):
    return far(x) + kept_far.GAIN * 0.5
"""

MIDDLE = """
import functools

import numpy as np

import gradc
import kept_deep
from kept_deep import Kind, Model, Pair, Point, Scaled, chosen, closed, counted, deep

model = Model(0.6)
point = Point(0.2, 1.2)
pair = Pair(1.0, np.array([2.0, 2.5, 3.0]))
scaled = Scaled(1.375)
settings = {"n": 3, "flag": True, "arrays": [np.ones(3), np.full(3, 2.0)]}
apply = closed(0.5)
half = functools.partial(closed(0.25), power=3)
square = lambda x: x * x + 0.0625
matrix = np.array([[1.0, 0.5], [0.25, 2.0]])


@gradc.custom_gradient
def clipped(x):
    def gradient(upstream):
        return upstream * 0.875

    return x * 1.0625, gradient


@gradc.compile
def compiled(x):
    return np.cos(x) * 0.9375


slope = gradc.grad(lambda x: x**3 * 0.4375)


def middle(x):
    from kept_deep import Base

    y = deep(x) + model.step(x) + model.still(x) + Model.of_class(x)
    y = y + point.width() * apply(x) + half(x) + square(x) + scaled(x)
    y = y + pair.first * pair.second + clipped(x) + compiled(x)
    y = y + chosen(x, Kind.HIGH) + counted(2) + Base.names.index("v")
    if settings["flag"]:
        y = y * settings["n"] + settings["arrays"][1]
    return y + gradc.vmap(slope)(x)
"""

MAIN = """
import numpy as np

import gradc
from kept_middle import middle

BIAS = 0.05
values = np.array([1.0, -1.0, 0.5])
limit: float = 2.5


def helper(x):
    return np.log1p(np.exp(x)) * BIAS


def loss(w, scale=1.75):
    total = 0.0
    for i in range(2):
        total = total + np.sum(middle(w) * values) / (i + 3)
    return total * scale + np.minimum(np.sum(helper(w)), limit)
"""

TEXTS = {"kept_far": FAR, "kept_deep": DEEP, "kept_middle": MIDDLE, "kept_main": MAIN}


class Edit(NamedTuple):
    """What stands in a module instead of something else."""

    module: str
    old: str
    new: str


# numbers that the traces look at, each by a way of its own
_NUMBERS = [
    *(("kept_far", text) for text in ("1.25", "0.5", "2.0]")),
    *(("kept_deep", text) for text in (
        "0.75", "1.75", "0.125", "rate = 0.3", "0.1, 0.2", "2.0 * self.offset", "* 1.5",
        "/ 7.0", "4.0]", "0.5 * self.left", "by + 1.0", "power=2", "shift=0.25", "* 1.125",
        "scaled(2.0)", "GAIN * 0.5", "x - 1.0",
    )),
    *(("kept_middle", text) for text in (
        "Model(0.6)", "Point(0.2", "1.2)", "Pair(1.0", "2.5, 3.0", "Scaled(1.375)", '"n": 3',
        ", 2.0)]", "closed(0.5)", "closed(0.25)", "power=3", "0.0625", "* 0.875",
        "* 1.0625", "* 0.9375", "* 0.4375", "counted(2)", "0.25, 2.0",
    )),
    *(("kept_main", text) for text in (
        "BIAS = 0.05", "1.0, -1.0", "= 2.5", "range(2)", "i + 3", "scale=1.75",
    )),
]  # fmt: skip

# of these, what is in arrays that are read at every call, or is not looked at
IN_ARRAYS = {"0.1, 0.2", "2.5, 3.0", ", 2.0)]", "0.25, 2.0", "1.0, -1.0"}

STRUCTURE = [
    Edit("kept_far", "np.sin(x)", "np.cos(x)"),
    Edit("kept_far", '"a": 0.5, "b": [1.0, 2.0]', '"a": 0.5, "b": [1.0, 2.0, 3.0]'),
    Edit("kept_far", '"b": [1.0, 2.0]', '"b": (1.0, 2.0)'),
    Edit("kept_far", "GAIN * np", "TABLE['b'][0] * np"),
    Edit("kept_deep", "Pair = named", "def float(n):\n    return 3.0\n\n\nPair = named"),
    Edit("kept_deep", "HIGH = 1.75", "HIGH = 1.75\n    MORE = 5.0"),
    Edit("kept_deep", "return self.value * by", "return self.value / by"),
    Edit("kept_deep", "if how is Kind.HIGH", "if how is Kind.LOW"),
    Edit("kept_deep", "class Model(Base):", "class Model(Base):\n    rate = 0.7\n"),
    Edit("kept_deep", "class Model(Base):", "class Model(Base):\n    twice = 0.7\n"),
    Edit("kept_deep", "    @staticmethod", "    more = 5\n    @staticmethod"),
    Edit("kept_deep", "super().step(x)", "self.still(x)"),
    Edit("kept_deep", "cls.rate", "cls.order[0]"),
    Edit("kept_deep", "left: float\n    right: float", "right: float\n    left: float"),
    Edit("kept_deep", "self.right - 0.5 * self.left", "self.left - 0.5 * self.right"),
    Edit("kept_deep", "inner * x**power + shift", "inner * x**power - shift"),
    Edit("kept_deep", "self.offset = offset", "self.offset = offset + 1"),
    Edit("kept_deep", "from kept_far import far", "def far(x):\n    return kept_far.far(x) * 3"),
    Edit("kept_deep", "far(x) + kept_far.GAIN", "far(x) - kept_far.GAIN"),
    Edit("kept_deep", "x * self.by", "x + self.by"),
    Edit("kept_middle", "settings[\"flag\"]", "not settings[\"flag\"]"),
    Edit("kept_middle", '"flag": True', '"flag": False'),
    Edit("kept_middle", '["arrays"][1]', '["arrays"][0]'),
    Edit("kept_middle", "apply = closed(0.5)", "apply = closed(1)"),
    Edit("kept_middle", "upstream * 0.875", "upstream / 2"),
    Edit("kept_middle", "def clipped(x):", "def clipped(x, more=2):"),
    Edit("kept_middle", "x**3 *", "x**4 *"),
    Edit("kept_middle", "gradc.grad(", "gradc.jacobian("),
    Edit("kept_middle", "gradc.vmap(slope)(x)", "gradc.vmap(square)(x)"),
    Edit("kept_middle", "pair.first * pair.second", "pair.second / pair.first"),
    Edit("kept_middle", "model.step(x)", "kept_deep.Base.step(model, x)"),
    Edit("kept_middle", "square = lambda x: x * x", "square = lambda x: x * x * x"),
    Edit("kept_middle", "Model(0.6)", "kept_deep.Base(0.6)"),
    Edit("kept_middle", "square(x)", "apply(square(x))"),
    Edit("kept_main", "np.log1p(np.exp(x))", "np.exp(x)"),
    Edit("kept_main", "np.minimum", "np.maximum"),
    Edit("kept_main", "def loss(w, scale", "def loss(w, *, scale"),
    Edit("kept_main", "values = np.array([1.0, -1.0, 0.5])", "values = np.array([1, -1, 2])"),
    Edit("kept_main", "* values", "* values[::-1]"),
]  # fmt: skip

# what changes nothing that is computed, and nothing that a trace looks at
HARMLESS = [
    Edit("kept_far", "GAIN =", "# a comment\n\nGAIN ="),
    Edit("kept_far", "def far", "UNUSED = 5\n\n\ndef unused(x):\n    return x\n\n\ndef far"),
    Edit("kept_deep", "import functools", "import functools\nimport os"),
    Edit("kept_middle", "matrix = np", "matrix = 2 * np"),
    Edit("kept_main", "limit: float", "limit: int"),
    Edit("kept_main", "values = np.array([1.0, -1.0, 0.5])", "values = np.array([5.0, 6.0, 7.0])"),
]


def edits_of_numbers() -> list[Edit]:
    """Return edits of each number, to several others."""
    found = []
    for module, text in _NUMBERS:
        assert TEXTS[module].count(text) >= 1, text
        number = _number_in(text)
        for new in (number + 1, number * 3 + 2, number + 7):
            found.append(Edit(module, text, text.replace(_text_of(text), repr(new), 1)))
    return found


def _text_of(text: str) -> str:
    digits = "".join(c if c.isdigit() or c == "." else " " for c in text).split()
    return next(each for each in digits if any(c.isdigit() for c in each))


def _number_in(text: str) -> Any:
    found = _text_of(text)
    return float(found) if "." in found else int(found)


def edited(*edits: Edit) -> dict[str, str]:
    """Return the texts of the program with some edits."""
    texts = dict(TEXTS)
    for module, old, new in edits:
        assert old in texts[module], (module, old)
        texts[module] = texts[module].replace(old, new, 1)
    return texts


def load(texts: dict[str, str], folder: Path) -> types.ModuleType:
    """Load the modules anew; returns the main one."""
    for name in texts:
        sys.modules.pop(name, None)
    for name, text in texts.items():
        path = folder / f"{name}.py"
        path.write_text(text)
        module = types.ModuleType(name)
        module.__file__ = str(path)
        sys.modules[name] = module
        exec(compile(text, str(path), "exec"), module.__dict__)
    return sys.modules[name]
