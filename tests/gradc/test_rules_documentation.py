"""The lists as a whole: names, the printed table, and looking a rule up."""

from __future__ import annotations

import re

import pytest

import gradc
from gradc.rules import all_rules, find, table
from gradc_ir.errors import RuleError


def test_names_are_unique_and_kebab_case() -> None:
    names = [rule.name for rule in all_rules()]
    assert len(names) == len(set(names))
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in names)


def test_the_module_is_the_list() -> None:
    assert gradc.rules() == all_rules()  # type: ignore[operator]


def test_table_lists_every_rule() -> None:
    assert len(table().splitlines()) == len(all_rules())
    assert "log(sqrt(?x)) => mul(0.5, log(add(?x, 0)))" in table("stable")


def test_an_unknown_name_is_answered_with_near_ones() -> None:
    with pytest.raises(RuleError, match="log1p-exp"):
        find("log1p-expp")
