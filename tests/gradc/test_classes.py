"""Classes of the user's: as arguments, results and helpers they are seen through like functions."""

from __future__ import annotations

import abc
import collections
import contextlib
import dataclasses
import functools
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import pytest

import gradc
from gradc.testing import check_grads

X = np.array([0.5, 1.25, 2.0])
T = TypeVar("T")


def buffered(x):
    """Return x through an array made here, which NumPy itself could not fill with traced values."""
    out = np.zeros(len(x))
    out[:] = x
    return out


@dataclasses.dataclass
class Point:
    x: Any
    y: Any = 2.0

    def norm(self):
        return np.sqrt(np.sum(buffered(self.x) ** 2) + self.y**2)

    @classmethod
    def both(cls, x):
        return cls(x, np.sum(x))


@dataclasses.dataclass(frozen=True, slots=True)
class Frozen:
    x: Any
    y: Any

    def moved(self, by):
        return dataclasses.replace(self, x=buffered(self.x) + by)


@dataclasses.dataclass(kw_only=True)
class Checked:
    x: Any
    total: Any = dataclasses.field(init=False)

    def __post_init__(self):
        self.total = np.sum(buffered(self.x))


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self): ...

    def twice(self):
        return 2 * self.area()


class Square(Shape):
    __slots__ = ("side",)

    def __init__(self, side):
        self.side = side

    def area(self):
        return np.sum(buffered(self.side) ** 2)


class Box(Generic[T]):
    def __init__(self, value: T) -> None:
        self.value = value

    def get(self) -> T:
        return buffered(self.value)


class Runs(Protocol):
    def run(self, x): ...


class Runner(Runs):
    def run(self, x):
        return np.sum(buffered(x))


class Base:
    scale = 2.0

    def __init__(self, w):
        self.w = buffered(w)

    @property
    def total(self):
        return np.sum(self.w)

    def value(self):
        return self.scale * self.total

    def __matmul__(self, other):
        return buffered(self.w) @ other

    def __iter__(self):
        yield from self.w

    def __contains__(self, key):
        return key in ("w", "v")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False

    doubled = functools.partialmethod(lambda self, by: self.w * by, 2.0)


class Middle(Base):
    def __init__(self, w, v=1.0):
        super().__init__(w)
        self.v = v

    def value(self):
        return super().value() + self.v


class Last(Middle):
    scale = 3.0

    def value(self):
        return super().value() * 2 + super(Middle, self).value()


class Named(dict):
    def __getattr__(self, name):
        return self[name]


class Weights(NamedTuple):
    w: Any
    b: Any = 1.0

    def apply(self, x):
        return buffered(self.w) * x + self.b

    @property
    def total(self):
        return np.sum(buffered(self.w))


OUTSIDE = Weights(np.array([1.0, 2.0, 3.0]), 2.0)


class Delegating:
    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def run(self):
        return np.sum(buffered(self.w))


AROUND = Delegating(OUTSIDE)


class OutOfRange(ValueError):
    def __init__(self, by):
        super().__init__(by)
        self.by = by


@functools.singledispatch
def describe(x):
    return 0.0


@describe.register
def _(x: np.ndarray):
    return np.sum(buffered(x)) * 2


@describe.register
def _(x: float):
    return x * 3


@contextlib.contextmanager
def scaled(x):
    yield 2 * x


def raises(x):
    try:
        raise OutOfRange(len(x))
    except OutOfRange as error:
        return np.sum(x) * error.by


def managed(x):
    with Base(x) as base, scaled(base.w) as twice:
        return np.sum(twice)


def sends(x):
    def running():
        total = 0.0
        while True:
            total = total + (yield total)

    generator = running()
    next(generator)
    return [generator.send(v) for v in x][-1]


TABLE: dict[str, Callable[[Any], Any]] = {
    "abc": lambda x: Square(x).twice(),
    "generic": lambda x: np.sum(Box(x).get()) + np.sum(Box[Any](2 * x).get()),
    "protocol": lambda x: Runner().run(x),
    "super": lambda x: Last(x, x[0]).value() + Middle(x).value(),
    "matmul": lambda x: Base(x) @ x,
    "iter": lambda x: sum(v * i for i, v in enumerate(Base(x))) + len(list(Base(x))),
    "contains": lambda x: np.sum(x) if "w" in Base(x) else 0.0 * x[0],
    "partialmethod": lambda x: np.sum(Base(x).doubled()),
    "with": managed,
    "NamedTuple": lambda x: np.sum(Weights(x).apply(x)) + Weights(x)._replace(b=x[0]).b,
    "NamedTuple outside": lambda x: np.sum(OUTSIDE.apply(x)) * OUTSIDE.total,
    "getattr": lambda x: Delegating(Base(x)).run() + Delegating(Base(x)).total,
    "getattr outside": lambda x: AROUND.run() * np.sum(AROUND.apply(x)),
    "dict": lambda x: np.sum(Named(a=x).a) + Named(b=x[0])["b"],
    "exception": raises,
    "singledispatch": lambda x: describe(x) + describe(float(x[0])) + describe(None),
    "send": sends,
    "isinstance": lambda x: np.sum(x) if isinstance(Last(x), Base) and issubclass(Last, Base)
    else 0.0 * x[0],
    "type": lambda x: np.sum(type(Middle(x))(2 * x).w) + np.sum(Middle(x).__class__(x).w),
    "frozen": lambda x: np.sum(Frozen(x, 1.0).moved(2.0).x ** 2),
    "equal": lambda x: np.sum(x) if Point(1.0, 2.0) == Point(1.0) != Point(2.0) else 0.0 * x[0],
    "Counter": lambda x: sum(collections.Counter("aab")[k] * v for k, v in zip("ab", x)),
    "hash": lambda x: {Base: x[0], Middle: x[1]}[Base] * x[2],
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_value_and_gradient(name: str) -> None:
    function = TABLE[name]
    np.testing.assert_allclose(gradc.compile(function)(X), function(X), rtol=1e-14)
    check_grads(function, (X,))


@pytest.mark.parametrize("kind", [Point, Frozen])
def test_a_dataclass_in_and_out(kind: Any) -> None:
    def function(p):
        q = dataclasses.replace(p, x=p.x * p.y)
        return q, np.sum(q.x)

    given = kind(X, 3.0)
    found, total = gradc.compile(function)(given)
    assert type(found) is kind
    np.testing.assert_array_equal(found.x, 3 * X)
    (_, value), gradient = gradc.value_and_grad(lambda p: function(p)[::-1], has_aux=True)(given)
    del value
    assert type(gradient) is kind
    np.testing.assert_array_equal(gradient.x, [3.0] * 3)
    assert gradient.y == total / 3


def test_a_namedtuple_with_methods_in_and_out() -> None:
    def function(p):
        assert isinstance(p["a"][0], Weights)
        return [p["a"][0]._replace(b=p["a"][0].apply(X))], 3

    given = {"a": [Weights(X, 2.0)]}
    (found,), three = gradc.compile(function)(given)
    assert type(found) is Weights
    assert three == 3
    np.testing.assert_array_equal(found.b, X * X + 2)
    value, pull = gradc.compile(function).vjp(given)
    (back,) = pull(([Weights(np.zeros(3), np.ones(3))], 3))
    assert type(back["a"][0]) is type(value[0][0]) is Weights
    np.testing.assert_array_equal(back["a"][0].w, X)
    assert back["a"][0].b == 3.0
    assert type(given["a"][0]) is Weights


def test_fields_that_init_does_not_take() -> None:
    found = gradc.compile(lambda c: Checked(x=c.x * 2).total + c.total)(Checked(x=X))
    assert found == 3 * np.sum(X)


def test_instances_made_inside_are_of_the_users_class_outside() -> None:
    def function(p):
        assert isinstance(p, Point)
        assert type(p) is Point
        return Point(p.x * 2, Point.both(p.x))

    point = Point(X, 1.0)
    found = gradc.compile(function)(point)
    assert type(found) is Point
    assert type(found.y) is Point
    np.testing.assert_array_equal(found.x, 2 * X)
    value, pull = gradc.compile(function).vjp(point)
    assert type(value) is Point
    (back,) = pull(Point(np.ones(3), Point(np.zeros(3), 1.0)))
    assert type(back) is Point
    np.testing.assert_array_equal(back.x, [3.0] * 3)
    primal, tangent = gradc.compile(function).jvp((point,), (point,))
    assert type(tangent) is type(primal) is Point
    gradient = gradc.grad(lambda p: p.norm())(point)
    assert type(gradient) is Point


def test_methods_of_an_argument_are_seen_through() -> None:
    checked = gradc.compile(lambda p: p.scaled())
    point = Buffered(X)
    np.testing.assert_array_equal(checked(point), [0.5, 0.0, 0.0])


@dataclasses.dataclass
class Buffered:
    x: Any

    def scaled(self):
        out = np.zeros(len(self.x))
        out[0] = self.x[0]
        return out


def test_a_class_attribute_is_read_at_every_call() -> None:
    class Rates:
        table = np.array([1.0, 2.0, 3.0])
        power = 1

        def apply(self, x):
            return np.sum(self.table * x**self.power)

    function = gradc.compile(lambda x: np.sum(Rates.table * x) ** Rates.power + Rates().apply(x))
    assert function(X) == 2 * np.sum(Rates.table * X)
    Rates.table = np.ones(3)
    assert function(X) == 2 * np.sum(X)
    Rates.power = 2
    assert function(X) == np.sum(X) ** 2 + np.sum(X**2)
    Rates.apply = lambda self, x: 0.0
    assert function(X) == np.sum(X) ** 2


def test_assigning_to_a_class_attribute_is_refused() -> None:
    class Counter:
        count = 0

    def function(x):
        Counter.count = Counter.count + 1
        return x

    with pytest.raises(gradc.TraceError, match=r"assigns to Counter\.count"):
        gradc.compile(function)(X)
    assert Counter.count == 0
