"""Tables of facts about ops: families are loaded on need, as a whole, and errors say what lacks."""

from __future__ import annotations

import pytest

from gradc_ir.core.facts import Facts
from gradc_ir.core.op import TABLE

EXP, LOG, SORT = (TABLE[name] for name in ("exp", "log", "argsort"))


def test_a_family_is_loaded_with_the_first_of_its_ops() -> None:
    facts: Facts[str] = Facts("color")
    loaded: list[str] = []

    def load(family: str) -> None:
        loaded.append(family)
        facts.declare(EXP, "red")
        assert "exp" not in facts  # nobody sees a family of which only a part is declared
        facts.declare(LOG, "blue")

    facts.load_by(load)
    facts.declare(SORT, "of a file that was imported before it was asked for")
    assert facts["log"] == "blue"
    assert facts["exp"] == "red"
    assert loaded == ["elementwise"]
    assert set(facts) == {"exp", "log"}


def test_a_fact_is_declared_in_parts() -> None:
    facts: Facts[str] = Facts("color")
    facts.load_by(lambda family: None)
    assert facts.declared(EXP) is None
    facts.declare(EXP, "red")
    facts.declare(EXP, f"{facts.declared(EXP)} and blue")
    assert facts["exp"] == "red and blue"


def test_what_lacks_is_said() -> None:
    facts: Facts[str] = Facts("color")
    with pytest.raises(LookupError, match="no room is imported that declares a color of an op"):
        facts["exp"]
    facts.load_by(lambda family: None)
    with pytest.raises(KeyError, match="exp has no color in the file of its family, elementwise"):
        facts["exp"]
