"""Objects that the lens cannot see into: what is read of them is read again, or refused."""

from __future__ import annotations

import abc
import array
import collections
import enum
import itertools
import secrets
import types
import weakref
from secrets import randbelow
from typing import Any, ClassVar

import numpy as np
import scipy.interpolate

import gradc
from tests.gradc.what_lies_outside import Meta, X, check_followed, error_of


class Odd(metaclass=Meta):
    """A class that the lens cannot derive from."""

    def __init__(self, w: Any) -> None:
        self.w = w
        self.k = 2.0

    @property
    def total(self) -> Any:
        return np.sum(self.w) * self.k

    def __call__(self, x: Any) -> Any:
        return self.predict(x)

    def predict(self, x: Any) -> Any:
        y = np.zeros(3)
        y[:] = self.w * x * self.k
        return y


class Registered:
    kinds: ClassVar[list[str]] = []

    def __init_subclass__(cls) -> None:
        Registered.kinds.append(cls.__name__)

    def __init__(self) -> None:
        self.k = 3.0


class Row(collections.UserList):  # type: ignore[type-arg]
    def scaled(self, x):
        y = np.zeros(3)
        y[:] = self.data[0] * x
        return y


class Kind(enum.Enum):
    ONE = 1
    TWO = 2

    def apply(self, x):
        return np.sin(x) * self.value


def test_objects_of_classes_that_cannot_be_derived_from() -> None:
    odd = Odd(np.array([1.0, 2.0, 3.0]))
    check_followed(
        lambda x: odd.predict(x) + odd(x) * odd.total,
        lambda: setattr(odd, "k", 3.0),
        lambda: odd.w.fill(0.5),
        lambda: setattr(odd, "w", np.array([3.0, 0.0, 1.0])),
    )
    odd.part = odd  # type: ignore[attr-defined]
    check_followed(
        lambda x: x if odd.part is None else x * odd.part.k,  # type: ignore[attr-defined]
        lambda: setattr(odd, "part", Odd(np.ones(3))),
        lambda: setattr(odd, "part", None),
    )
    registered = Registered()
    check_followed(lambda x: registered.k * x, lambda: setattr(registered, "k", 4.0))
    assert Registered.kinds == []
    check_followed(lambda x: Kind.ONE.apply(x) + Kind.TWO.apply(x))


class Parameters(dict):  # type: ignore[type-arg]
    """A dict with attributes, as configurations are."""

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def scaled(self, x):
        y = np.zeros(3)
        y[:] = self["w"] * x
        return y


def test_dicts_of_a_class_of_the_user_s() -> None:
    given = Parameters(w=np.array([1.0, 2.0, 3.0]), k=2.0)

    def f(x):
        total = given.scaled(x) * given.k + given.w
        for _, value in given.items():
            total = total + value * x
        for value in given.values():
            total = total * value
        return total + dict(**given)["w"] + len(given) + ("k" in given) * x

    assert isinstance(given, dict)
    check_followed(
        f,
        lambda: given.update(k=5.0),
        lambda: given["w"].fill(0.5),
        lambda: given.update(w=np.array([3.0, 1.0, 2.0])),
        lambda: given.update(other=4.0),
    )


def test_members_of_an_enum_are_themselves() -> None:
    holder = types.SimpleNamespace(kind=Kind.ONE)
    check_followed(
        lambda x: x * (2.0 if holder.kind is Kind.ONE else 3.0),
        lambda: setattr(holder, "kind", Kind.TWO),
    )


def test_objects_of_pythons_library_whose_contents_change() -> None:
    numbers = array.array("d", [1.0, 2.0, 3.0])
    listed = collections.UserList([np.ones(3), 2.0])
    row = Row([5.0])
    check_followed(lambda x: numbers[1] * x, lambda: numbers.__setitem__(1, 7.0))
    check_followed(lambda x: listed[0] * listed[1] * x, lambda: listed[0].fill(3.0))
    check_followed(lambda x: row.scaled(x), lambda: row.__setitem__(0, 2.0))
    assert "numbers is a array.array, into which gradc cannot see" in error_of(
        lambda x: np.asarray(numbers) * x
    )


def test_objects_of_scipy_and_numpy() -> None:
    spline = scipy.interpolate.CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 4.0])
    others = scipy.interpolate.make_interp_spline([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 4.0, 9.0])
    points = [0.5, 1.0, 1.5]
    polynomial = np.poly1d([1.0, 2.0, 3.0])
    check_followed(lambda x: spline(points) * x, lambda: spline.c.fill(1.0))
    check_followed(lambda x: others(points) * x, lambda: others.c.fill(1.0))
    check_followed(lambda x: polynomial.coeffs * x, lambda: polynomial.coeffs.fill(1.0))
    assert "is not supported for traced arrays" in error_of(lambda x: others(x))


def test_iterators_outside_are_refused() -> None:
    for given in ((i for i in range(9)), itertools.count(), iter([1.0, 2.0])):
        assert "would be taken once, while tracing" in error_of(
            lambda x, given=given: next(given) * x
        )


def test_results_of_numpy_with_names_are_arrays() -> None:
    check_followed(lambda x: np.linalg.eigh(np.diag([1.0, 2.0, 3.0])).eigenvectors @ x)


class Shape(abc.ABC):
    @abc.abstractmethod
    def area(self, x): ...


class Square(Shape):
    name = "square"

    def area(self, x):
        return x * x


def test_an_abstract_class_asks_its_subclasses_to_an_end() -> None:
    """The class as traced code sees it is one of them, and asks the original in turn."""

    def f(x):
        square = Square()
        found = [isinstance(one, Shape) for one in (square, 3, "text", x)]
        return square.area(x) * (found == [True, False, False, False])

    check_followed(f)
    found = gradc.compile(
        lambda x: x * sum(kind.name == "square" for kind in Shape.__subclasses__())
    )
    np.testing.assert_array_equal(found(X), X)
    check_followed(lambda x: x * issubclass(int, Shape) + issubclass(Square, Shape))


class Failure(Exception):
    weight = 3.0
    table = np.array([1.0, 2.0, 3.0])
    limits: ClassVar[list[float]] = [1.0, 2.0]


def test_what_classes_hold_that_stay_themselves() -> None:
    def f(x):
        try:
            raise Failure
        except Failure as error:
            return x * error.weight * error.table + Failure.limits[0]

    check_followed(
        f,
        lambda: setattr(Failure, "weight", 4.0),
        lambda: Failure.table.fill(2.0),
        lambda: Failure.limits.__setitem__(0, 7.0),
    )


def test_weak_references_are_followed_and_secrets_refused() -> None:
    odd = Odd(np.ones(3))
    reference = weakref.ref(odd)
    check_followed(lambda x: reference().k * x, lambda: setattr(odd, "k", 5.0))
    for draw in (lambda x: x * secrets.randbelow(9), lambda x: x * randbelow(9)):
        assert "the numbers would be drawn once, while tracing" in error_of(draw)
