"""docs/rules.md is what the lists print, and names are unique kebab case."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradc.rules import all_rules, find, table
from gradc.rules.__main__ import document
from gradc_ir.errors import RuleError


def test_page_is_current() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "rules.md"
    assert page.read_text(encoding="utf-8") == document(), (
        "run: python -m gradc.rules > docs/rules.md"
    )


def test_names_are_unique_and_kebab_case() -> None:
    names = [rule.name for rule in all_rules()]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


def test_table_lists_every_rule() -> None:
    assert len(table().splitlines()) == len(all_rules())
    assert "log(exp(?x)) => ?x" in table("stable")


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(RuleError, match="log1p-exp"):
        find("log1p-expp")
