"""What is in force where a function is traced, by content: options, rules, own gradients."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from gradc.kept.content import content
from gradc.kept.plain import Unkept, is_plain, plain
from gradc.kept.reached import reached_content
from gradc.kept.roots import Roots
from gradc.requests.options import Options
from gradc.scopes import scopes_key


def content_in_force(options: Options, roots: Roots) -> Any:
    """Return what options and scopes are; functions among them become roots. Raises Unkept."""
    chosen = (
        (field.name, _content(getattr(options, field.name), roots)) for field in fields(options)
    )
    scopes = ((key.__name__, _content(found, roots)) for key, found in scopes_key())
    return tuple(chosen), tuple(scopes)


def _content(value: Any, roots: Roots) -> Any:
    kind: Any = type(value)
    if is_plain(value):
        return plain(value)
    if isinstance(value, tuple):
        return kind.__name__, *(_content(part, roots) for part in value)
    if hasattr(kind, "__gradc_parts__"):
        return "root", roots.add(value), content(value)
    if kind.__module__ == "gradc.rules.engine":
        return _rule(value)
    return content(value)


def _rule(rule: Any) -> Any:
    """Return what a rule is: its text, where it holds, and its guard with all that reads."""
    module = rule.apply.__module__
    if not module.startswith("gradc."):
        raise Unkept(f"the rule {rule.name} is code of {module}")
    domain = tuple((name, tuple(ends)) for name, ends in rule.domain.items())
    return (
        (rule.name, rule.text, rule.kind.value, rule.condition, rule.loss),
        repr(domain),
        None if rule.guard is None else reached_content(rule.guard),
    )
