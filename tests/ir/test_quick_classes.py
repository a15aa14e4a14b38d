"""Dataclasses and named tuples that are made quickly are as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any, NamedTuple

import pytest

from gradc_ir.classes import named, quick


def forms(dataclass: Callable[..., Any]) -> list[Any]:
    """Return classes of each kind that a decorator makes."""

    @dataclass
    class Plain:
        """Has a doc."""

        x: int
        y: list[int] = field(default_factory=list)

    @dataclass(frozen=True)
    class Frozen:
        x: int
        y: str = "a"
        hidden: int = field(default=3, compare=False, repr=False)

    @dataclass(frozen=True, eq=False)
    class Same:
        x: int
        y: int = 1

    @dataclass(eq=False, repr=False)
    class Bare:
        x: int
        y: int = field(init=False, default=5)
        z: dict[str, int] = field(init=False, default_factory=dict)

    @dataclass(frozen=True)
    class Own:
        x: int
        y: int = field(default=1, kw_only=True)

        def __post_init__(self) -> None:
            object.__setattr__(self, "x", self.x + 1)

        def __repr__(self) -> str:
            return "own"

        def __hash__(self) -> int:
            return 7

    @dataclass(eq=False, slots=True)
    class Slots:
        x: int
        y: list[int] = field(default_factory=list)
        z: int = field(init=False, default=4)

        def doubled(self) -> int:
            return 2 * self.x

    return [Plain, Frozen, Same, Bare, Own, Slots]


THEIRS, OURS = forms(dataclasses.dataclass), forms(quick.dataclass)
PAIRS = [
    pytest.param(theirs, ours, id=ours.__name__) for theirs, ours in zip(THEIRS, OURS, strict=True)
]


def shown(value: Any) -> str:
    return repr(value).split(" at 0x")[0]


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_dataclasses_are_as_of_the_library(theirs: Any, ours: Any) -> None:
    assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
    assert dataclasses.asdict(ours(2)) == dataclasses.asdict(theirs(2))
    assert shown(ours(2)) == shown(theirs(2))
    for x, y in ((2, 2), (2, 3)):
        assert (ours(x) == ours(y)) is (theirs(x) == theirs(y))
    assert ours(2) != theirs(2)
    assert (ours.__hash__ is None) is (theirs.__hash__ is None)
    assert ours.__match_args__ == theirs.__match_args__
    assert str(ours.__dataclass_params__).replace("False", "") == (
        str(theirs.__dataclass_params__).replace("False", "")
    )
    assert dataclasses.replace(ours(2), x=5).x == dataclasses.replace(theirs(2), x=5).x
    assert copy.copy(ours(2)).x == ours(2).x
    with pytest.raises(TypeError):
        ours()
    with pytest.raises(TypeError):
        ours(1, 2, 3, 4)


@pytest.mark.parametrize(("theirs", "ours"), PAIRS)
def test_what_is_frozen_stays(theirs: Any, ours: Any) -> None:
    def changed(cls: Any) -> str:
        made = cls(1)
        try:
            made.x = 3
            del made.x
        except dataclasses.FrozenInstanceError as error:
            return str(error)
        return "changed"

    assert changed(ours) == changed(theirs)
    if ours.__hash__ is not None and ours.__eq__ is not object.__eq__:
        assert hash(ours(1)) == hash(ours(1))


def test_slots() -> None:
    made = OURS[5](3)
    assert (made.z, made.doubled()) == (4, 6)
    assert not hasattr(made, "__dict__")
    assert OURS[5].__slots__ == THEIRS[5].__slots__


def test_each_has_its_own_factory() -> None:
    plain = OURS[0]
    assert plain(1).y is not plain(1).y
    assert OURS[3](1).z == {}


@quick.dataclass(frozen=True)
class Above:
    """A class that others are made of."""

    x: int


@quick.dataclass(frozen=True)
class Below(Above):
    """One of these."""

    y: int = 2


def test_classes_of_classes() -> None:
    assert Below(1) == Below(1, 2)
    assert repr(Below(1)) == "Below(x=1, y=2)"
    with pytest.raises(dataclasses.FrozenInstanceError):
        Below(1).y = 3  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(Above(4))) == Above(4)


def test_methods_are_functions_when_they_are_asked_for() -> None:
    @quick.dataclass(frozen=True)
    class Asked:
        x: int

    assert inspect.isfunction(Asked.__init__)
    assert Asked.__init__.__qualname__.endswith("Asked.__init__")
    assert Asked.__init__.__annotations__ == {"x": "int"}
    assert inspect.isfunction(Asked.__hash__)
    assert Asked.__hash__ is Asked.__dict__["__hash__"]
    assert {Asked(1), Asked(1)} == {Asked(1)}


class Theirs(NamedTuple):
    """Has a doc."""

    x: int
    y: tuple[int, ...] = ()

    @property
    def doubled(self) -> int:
        """Twice the first."""
        return 2 * self.x


class Ours(named.NamedTuple):
    """Has a doc."""

    x: int
    y: tuple[int, ...] = ()

    @property
    def doubled(self) -> int:
        """Twice the first."""
        return 2 * self.x


def test_named_tuples_are_as_of_the_library() -> None:
    assert inspect.signature(Ours).parameters.keys() == inspect.signature(Theirs).parameters.keys()
    for name in ("_fields", "_field_defaults", "__match_args__", "__doc__", "__bases__"):
        assert getattr(Ours, name) == getattr(Theirs, name)
    assert Ours.__module__ == Theirs.__module__
    assert repr(Ours(1)).removeprefix("Ours") == repr(Theirs(1)).removeprefix("Theirs")
    assert tuple(Ours(3, (4,))) == tuple(Theirs(3, (4,))) == (3, (4,))
    assert Ours(3).doubled == 6
    assert Ours(3)._replace(y=(5,)) == (3, (5,))
    assert pickle.loads(pickle.dumps(Ours(4))) == Ours(4)
    assert Ours._make([3, (4,)])._asdict() == {"x": 3, "y": (4,)}
    assert (Ours.x.__doc__, Ours.x.__get__(Ours(5))) == (Theirs.x.__doc__, 5)
    for wrong in (lambda kind: kind(), lambda kind: kind(1, z=2), lambda kind: kind._make("abc")):
        for kind in (Theirs, Ours):
            with pytest.raises(TypeError):
                wrong(kind)
    with pytest.raises(ValueError, match=r"unexpected field names: \['z'\]"):
        Ours(1)._replace(z=2)  # type: ignore[call-arg]


def test_what_makes_named_tuples_is_there_when_it_is_asked_for() -> None:
    class Few(named.NamedTuple):
        x: int
        y: int = 2

    class Fewer(Few):
        pass

    assert not inspect.isfunction(Few.__dict__["__new__"])
    assert Fewer(1) == (1, 2)
    assert type(Fewer(1)) is Fewer
    assert isinstance(Few.__dict__["__new__"], staticmethod)
    assert Few.__new__.__qualname__.endswith("Few.__new__")
    assert str(inspect.signature(Few)) == "(x: 'int', y: 'int' = 2)"


def test_defaults_of_named_tuples_come_last() -> None:
    with pytest.raises(TypeError, match="behind one that has one"):
        type(named.NamedTuple)(  # type: ignore[misc]
            "Wrong", (named.NamedTuple,), {"__annotations__": {"x": 1, "y": 2}, "x": 3}
        )
