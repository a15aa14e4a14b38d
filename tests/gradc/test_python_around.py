"""Python around NumPy: helpers, classes, builtins, math, itertools: right values and gradients."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import itertools
import math
import numbers
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads

X = np.array([0.5, 1.25, 2.0])
SCALE = 3.0
SETTINGS = {"power": 2, "names": ("a", "b"), "weights": np.array([1.0, 2.0, 3.0])}


class Mode(enum.Enum):
    """How to combine."""

    SUM = "sum"
    MEAN = "mean"


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = 2.0

    def norm(self):
        return np.sqrt(np.sum(self.x**2) + self.y**2)

    @property
    def double(self):
        return 2 * self.x

    @classmethod
    def both(cls, x):
        return cls(x, np.sum(x))

    @staticmethod
    def half(x):
        return x / 2

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: Any
    name: str = "f"

    def moved(self, by):
        return dataclasses.replace(self, x=self.x + by)


@dataclasses.dataclass(kw_only=True)
class Checked:
    x: Any
    total: Any = dataclasses.field(init=False)
    parts: list = dataclasses.field(default_factory=list)

    def __post_init__(self):
        out = np.zeros(len(self.x))
        out[0] = self.x[0]
        self.total = np.sum(out) + np.sum(self.x)


class Weights(NamedTuple):
    w: Any
    b: Any = 1.0

    def apply(self, x):
        return self.w * x + self.b


FIELDS = dataclasses.fields(Point)
Pair = collections.namedtuple("Pair", "left right")


class Model:
    order = 2
    offsets = np.array([1.0, 0.0, -1.0])

    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        out = np.zeros(3)
        out[1:] = (self.w * x)[1:]
        return out + self.offsets

    @functools.cached_property
    def squared(self):
        out = np.zeros(3)
        out[:] = self.w**2
        return out

    @property
    def total(self):
        return np.sum(self.w)

    def __getitem__(self, key):
        return self.w[key]

    def __len__(self):
        return len(self.w)


class Deep(Model):
    order = 3

    def __init__(self, w, v):
        super().__init__(w)
        self.v = v

    def __call__(self, x):
        return super().__call__(x) * self.v


MODEL = Model(np.array([1.0, 2.0, 3.0]))


def twice(function):
    @functools.wraps(function)
    def run(x, *args, **kwargs):
        return function(function(x, *args, **kwargs), *args, **kwargs)

    return run


@twice
def bump(x, by=0.5):
    return np.sin(x) + by


@functools.lru_cache(maxsize=16)
def factor(n):
    return float(math.factorial(n))


def polynomial(x, /, *coefficients, scale=1.0, **more):
    total = 0.0
    for power, c in enumerate(coefficients):
        total = total + c * x**power
    return scale * total + sum(more.values())


def helper_with_loop(x, n):
    out = np.empty(n)
    for i in range(n):
        out[i] = x[i] * (i + 1)
    return out


def tables() -> dict[str, Callable[[Any], Any]]:
    """Return functions of X to be differentiated, by what they use."""

    def closures(x):
        count = 0

        def step(y):
            nonlocal count
            count += 1
            return y * count

        return np.sum(step(x) + step(x)) * count

    def generators(x):
        def pieces():
            for v in x:
                yield v * v
            yield from (v for v in x[1:])

        return sum(pieces())

    def tried(x):
        try:
            return np.sum(x) * {"a": 2.0}["b"]
        except KeyError:
            return np.sum(x) * 3.0
        finally:
            pass

    def matched(x):
        match x.shape:
            case (3,):
                kind = "three"
            case (n,) if n > 3:
                kind = "more"
            case _:
                kind = "other"
        match {"kind": kind, "v": x}:
            case {"kind": "three", "v": v}:
                return np.sum(v**2)
        return 0.0

    def matched_class(x):
        match Point(x, 1.0):
            case Point(x=a, y=b):
                return np.sum(a) * b
        return 0.0

    def local_class(x):
        class Local:
            gain = 2.0

            def __init__(self, v):
                self.v = v

            def run(self):
                out = np.zeros(len(self.v))
                out[0] = self.v[0]
                return np.sum(out) * self.gain

        return Local(x).run()

    def deque(x):
        queue = collections.deque(maxlen=2)
        for v in x:
            queue.append(v)
        first, second = queue
        return first * second

    def walrus(x):
        if (n := len(x)) > 2:
            return np.sum(x) * n
        return np.sum(x)

    def state(x):
        with np.errstate(all="ignore"), np.printoptions(precision=3):
            y = np.log(x)
        assert x.ndim == 1, f"{x.shape} {x.dtype} {len(x)}"
        return np.sum(y)

    def text(x):
        label = f"{x.shape}-{x.dtype}-" + "/".join(str(n) for n in x.shape)
        return np.sum(x) * len(label)

    def counter(x):
        found = collections.defaultdict(float)
        for i, v in enumerate(x):
            found[i % 2] += v
        return found[0] * found[1]

    def stacked(x):
        stack = [x[0]]
        while len(stack) < 4:
            stack.append(stack[-1] * x[1])
        return stack.pop() + stack[0]

    def first_row(x):
        head, *rest = x
        a, b = rest
        return head * a + b

    def deleted(x):
        y = np.zeros(3)
        y[:] = x
        del y[:0]
        return np.sum(y)

    return {
        "closures": closures,
        "generators": generators,
        "try": tried,
        "match": matched,
        "match class": matched_class,
        "local class": local_class,
        "deque": deque,
        "walrus": walrus,
        "with": state,
        "text": text,
        "defaultdict": counter,
        "list": stacked,
        "star": first_row,
        "wraps": lambda x: np.sum(bump(x, by=0.25)),
        "lru_cache": lambda x: np.sum(x) * factor(3),
        "partial": lambda x: np.sum(functools.partial(polynomial, scale=2.0)(x, 1.0, 2.0, 3.0)),
        "reduce": lambda x: functools.reduce(lambda a, b: a * b + 1, x),
        "arguments": lambda x: np.sum(polynomial(x, *[1.0, 2.0], **{"extra": x[0]})),
        "comprehension": lambda x: np.sum(np.array([v**i for i, v in enumerate(x)])),
        "dict": lambda x: sum({k: v for k, v in zip("abc", x)}[k] for k in "ab"),
        "set": lambda x: np.sum(x) * len({n for n in (1, 1, 2)}),
        "helper": lambda x: np.sum(helper_with_loop(x, len(x))),
        "dataclass": lambda x: Point(x).norm() + np.sum(Point(x).double),
        "classmethod": lambda x: Point.both(x).y * Point.half(x)[0],
        "operators": lambda x: (Point(x) + Point(x * 2)).norm(),
        "frozen": lambda x: np.sum(Frozen(x).moved(1.0).x ** 2),
        "post init": lambda x: Checked(x=x).total,
        "replace": lambda x: np.sum(dataclasses.replace(Point(x), y=x).y),
        "fields": lambda x: sum(np.sum(getattr(Point(x), f.name)) for f in FIELDS),
        "asdict": lambda x: np.sum(dataclasses.asdict(Point(x, x[0]))["x"]),
        "astuple": lambda x: dataclasses.astuple(Point(x, x[0]))[1] * x[1],
        "NamedTuple": lambda x: np.sum(Weights(x).apply(x)) + Weights(w=x)._replace(b=x[0]).b,
        "namedtuple": lambda x: np.sum(Pair(x, 2 * x).right) + np.sum(Pair(*[x, x])[0]),
        "model": lambda x: np.sum(Model(x)(x)),
        "model outside": lambda x: np.sum(MODEL(x)) + np.sum(MODEL.squared * x) + MODEL.total,
        "inherited": lambda x: np.sum(Deep(x, 2.0)(x)) * Deep.order,
        "cached_property": lambda x: np.sum(Model(x).squared),
        "container": lambda x: Model(x)[0] * len(Model(x)),
        "class constant": lambda x: np.sum(x * Model.offsets) * Model.order,
        "enum": lambda x: np.sum(x) if Mode("sum") is Mode.SUM else np.mean(x),
        "settings": lambda x: np.sum(SETTINGS["weights"] * x ** SETTINGS["power"]) * SCALE,
        "min max": lambda x: max(x) - min(x[0], x[1]) + max(x[0], 0.0) + min(x, key=lambda v: 0),
        "abs pow round": lambda x: abs(x[0]) ** 2 + pow(x[1], 3) + round(x[2]) + divmod(x[1], 2)[1],
        "sum zip map": lambda x: sum(map(lambda a, b: a * b, x, reversed(x))) + sum(x, start=1.0),
        "sorted": lambda x: sum(i * v for i, v in enumerate(sorted(x, reverse=True))),
        "float": lambda x: float(np.sum(x)) * float("2.5") + float(x[0]),
        "int": lambda x: np.sum(x) * int(x[1]) + int("3") * x[0],
        "any": lambda x: np.where(any(v > 1 for v in x), x[0], 0) + any([]),
        "all": lambda x: np.where(all(x > 1), 1, x[1]) + all([x[0], x[1] > 0, True]) * x[0],
        "bool": lambda x: np.where(bool(x[0] > 0), x[0], 1.0),
        "isinstance": lambda x: np.sum(x) if isinstance(x, np.ndarray) else 0 * x,
        "isinstance number": lambda x: x[0] if isinstance(x[0], float | np.floating) else x[1],
        "numbers": lambda x: x[0] * 2 if isinstance(x[0], numbers.Number) else x[1],
        "type": lambda x: x[0] * 2 if type(x) is np.ndarray and type(SCALE) is float else x[1],
        "filter": lambda x: sum(filter(lambda v: v is not None, [x[0], None, x[1]])),
        "next iter": lambda x: next(iter(x)) * 2,
        "slices": lambda x: np.sum(x[slice(1, None)]) + np.sum(x[operator.index(1) :]),
        "accumulate": lambda x: sum(itertools.accumulate(x, operator.mul)),
        "itertools": lambda x: sum(a * b for a, b in itertools.product(x, x[:2]))
        + sum(b - a for a, b in itertools.pairwise(x))
        + sum(itertools.chain(x, x)) + sum(itertools.starmap(operator.mul, [(x[0], x[1])]))
        + sum(v for v, _ in zip(x, itertools.count())) + sum(itertools.islice(x, 2))
        + sum(a * b for a, b in itertools.combinations(x, 2)),
        "operator": lambda x: np.sum(operator.add(x, operator.itemgetter(0)(x)))
        + operator.truediv(x[0], x[1]) + operator.neg(x[0]) + operator.matmul(x, x)
        + operator.attrgetter("T")(x)[0] + operator.methodcaller("sum")(x),
    }  # fmt: skip


TABLE = tables()


@pytest.mark.parametrize("name", TABLE)
def test_value_and_gradient(name: str) -> None:
    function = TABLE[name]
    found = gradc.compile(function)(X)
    np.testing.assert_allclose(found, function(X), rtol=1e-14)
    check_grads(function, (X,))


# -- text --------------------------------------------------------------------------------------


def test_the_text_of_a_traced_value_says_how_to_see_its_numbers(capsys: Any) -> None:
    def function(x):
        print(x, f"{x[0]:.3f}", [x[0]])
        print(f"{len(x)} {x.shape} {np.pi:.2f}")
        return np.sum(x)

    gradc.compile(function)(X)
    first, second = capsys.readouterr().out.splitlines()
    shown = "(gradc.debug_print shows numbers)"
    assert first == f"traced f64[3] {shown} traced f64 {shown} [traced f64]"
    assert second == "3 (3,) 3.14"
