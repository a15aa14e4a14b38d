"""Passes that are loaded for functions which they may change: others are as they would be left."""

from __future__ import annotations

import pytest

from gradc.pipeline import after, before
from gradc.requests.options import Options
from gradc_codegen.schedule.passes.prepare import preparation
from gradc_ir.core.graph import Function
from gradc_ir.pipeline import OnNeed
from gradc_ir.text.parser import parse_function
from tests.golden_runner import GOLDEN, cases_of

LISTS = (before(Options()), after(Options()), preparation())
AWAITED = {
    each.kind: each for passes in LISTS for each in passes.passes if isinstance(each, OnNeed)
}


def functions() -> list[Function]:
    """Return the functions of all golden texts, as passes find them and as they leave them."""
    texts = {
        text
        for path in GOLDEN.glob("*.ir")
        for case in cases_of(path.read_text(encoding="utf-8"))
        for text in (case.before, case.after)
    }
    return [parse_function(text) for text in sorted(texts)]


FUNCTIONS = functions()


@pytest.mark.parametrize("kind", AWAITED)
def test_others_are_left_as_they_are(kind: str) -> None:
    each = AWAITED[kind]
    others = [function for function in FUNCTIONS if not each.may_change(function)]
    changed = [str(function) for function in others if each.loaded(function) is not function]
    assert others
    assert not changed


def test_they_tell_their_names() -> None:
    names = [each.name for passes in LISTS for each in passes.passes]
    assert len(set(names)) > len(AWAITED)
    assert all(each.summary for each in AWAITED.values())
