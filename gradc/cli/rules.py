"""``gradc rules``: list the rewrite rules, show one, verify them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import click

from gradc.cli.frame.failure import Failure
from gradc.cli.frame.output import json_option, progress, write_json
from gradc.cli.frame.table import lines_of
from gradc.cli.frame.target import load_module
from gradc.rules import all_rules, family, find
from gradc.rules.engine import Kind, Rule
from gradc.rules.user.register import UserRule
from gradc_ir.errors import RuleError

_kind_option = click.option(
    "--kind", type=click.Choice([str(kind) for kind in Kind]), help="Only of this class."
)
_family_option = click.option(
    "--family", metavar="FAMILY", help="Only of this file in gradc/rules: softplus, exact …"
)


@click.group(
    short_help="List the rewrite rules; show or verify them.",
    invoke_without_command=True,
    epilog="""\b
Example:
  gradc rules show log1p-exp""",
)
@_kind_option
@_family_option
@json_option
@click.pass_context
def rules(context: click.Context, kind: str | None, family: str | None, as_json: bool) -> None:
    """List every rule: its class, name, equation and reason; or show or verify them."""
    if context.invoked_subcommand is None:
        _list(kind, family, as_json)


@rules.command("list", short_help="List rules with their equations and reasons.")
@_kind_option
@_family_option
@json_option
def list_(kind: str | None, family: str | None, as_json: bool) -> None:
    """List every rule: its class, name, equation and reason."""
    _list(kind, family, as_json)


def _list(kind: str | None, wanted: str | None, as_json: bool) -> None:
    families = {rule: family(rule) for rule in all_rules()}
    if wanted is not None and wanted not in families.values():
        known = ", ".join(dict.fromkeys(families.values()))
        raise click.UsageError(f"no family of rules is called {wanted!r}; there are {known}")
    chosen = [
        rule
        for each in Kind
        for rule, of in families.items()
        if rule.kind is each and kind in (None, str(each)) and wanted in (None, of)
    ]
    if as_json:
        write_json("rules", {"rules": [_facts(rule) for rule in chosen]})
        return
    for each in Kind:
        own = [rule for rule in chosen if rule.kind is each]
        if own or (wanted is None and kind in (None, str(each))):
            click.echo(f"{each}:")
        for rule in own:
            click.echo(f"  {rule.name:24} {rule.text}")
            click.echo(f"  {'':24}   {rule.reason}")


def _facts(rule: Rule) -> dict[str, Any]:
    return {
        "name": rule.name,
        "kind": str(rule.kind),
        "family": family(rule),
        "equation": rule.text,
        "reason": rule.reason,
        "domain": _domain(rule),
        "examples": rule.examples,
        "loss": rule.loss,
    }


@rules.command(short_help="Show all about a rule.")
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show a rule: equation, class, domain, reason, and the measured bits of both sides."""
    from gradc.rules.verify.verifying import has_formula, measured

    rule = find(name)
    figures = measured(rule) if rule.kind is not Kind.EXACT and has_formula(rule) else ()
    if as_json:
        bits = [
            {
                "what": each.what,
                "equation": each.equation,
                "left": each.left,
                "right": each.right,
                "lost": max(each.lost, 0.0),
                "at": [float(x) for x in each.at],
            }
            for each in figures
        ]
        write_json("rules", {"rules": [{**_facts(rule), "bits": bits}]})
        return
    facts = [
        ("equation", rule.text),
        ("class", f"{rule.kind}, in gradc/rules: {family(rule)}"),
        ("reason", rule.reason),
        ("domain", _domain(rule)),
        *(("example", example) for example in rule.examples),
    ]
    if rule.loss:
        facts.append(("loss", f"a single point may lose {rule.loss:g} bits"))
    click.echo(rule.name)
    click.echo("\n".join(f"  {line}" for line in lines_of(facts)))
    rows: list[Sequence[str]] = [("mean bits of error", "left", "right", "most lost", "at")]
    for each in figures:
        lost = f"{each.lost:.1f}" if each.lost > 0 else ""
        at = ", ".join(f"{x:.6g}" for x in each.at) if lost else ""
        what = each.what if len(rule.equations) == 1 else f"{each.what} of {each.equation}"
        rows.append((what, f"{each.left:.2f}", f"{each.right:.2f}", lost, at))
    if len(rows) > 1:
        click.echo("\n" + "\n".join(lines_of(rows)))


def _domain(rule: Rule) -> str:
    parts = [f"{low:g} < {name} < {high:g}" for name, (low, high) in rule.domain.items()]
    return " and ".join([*parts, *filter(None, [rule.condition])]) or "the reals"


@rules.command(short_help="Prove and measure rules; exit 1 with a counter-example.")
@click.argument("names", metavar="[NAME | MODULE.PY]...", nargs=-1)
@_kind_option
@_family_option
@json_option
def verify(names: tuple[str, ...], kind: str | None, family: str | None, as_json: bool) -> None:
    """Prove rules with SymPy, and measure both sides or compare their bits.

    Of a module, the rules that it makes with gradc.rule are verified; without a name, all rules.
    Exits with 1, and a counter-example, when a rule does not hold.
    """
    for name in names:
        if not name.endswith(".py"):
            find(name)  # a name that is no rule's is a wrong use
    verdicts: list[dict[str, Any]] = []
    try:
        chosen = _chosen(names, kind, family)
    except RuleError as error:  # of a rule that the module makes
        chosen = []
        verdicts.append({"rule": None, "holds": False, "how": str(error)})
    for verdict in chain(verdicts[:], map(_verdict, progress(chosen, "rules:", len(chosen)))):
        if verdict not in verdicts:
            verdicts.append(verdict)
        if not as_json:
            click.echo(_line(verdict))
    if as_json:
        write_json("rules", {"verified": verdicts})
    sys.exit(0 if all(verdict["holds"] for verdict in verdicts) else 1)


def _verdict(rule: Rule) -> dict[str, Any]:
    from gradc.rules.verify.verifying import verify

    try:
        found = verify(rule)
    except RuleError as error:
        return {"rule": rule.name, "kind": str(rule.kind), "holds": False, "how": str(error)}
    verdict = {"rule": rule.name, "kind": str(rule.kind), "holds": True, "how": found.how}
    if found.bits:
        for side in ("left", "right"):
            total = sum(getattr(each, side) for each in found.bits)
            verdict[f"bits_{side}"] = total / len(found.bits)
    return verdict


def _line(verdict: dict[str, Any]) -> str:
    if not verdict["holds"]:
        return f"{click.style('FAILED', fg='red', bold=True)} {verdict['how']}"
    bits = ""
    if "bits_left" in verdict:
        left, right = verdict["bits_left"], verdict["bits_right"]
        bits = f": {left:.2f} bits on the left, {right:.2f} on the right"
    ok = click.style("ok", fg="green", bold=True)
    return f"{ok} {verdict['rule']} ({verdict['kind']}): {verdict['how']}{bits}"


def _chosen(names: Iterable[str], kind: str | None, wanted: str | None) -> list[Rule]:
    names = list(names)
    found: list[Rule] = [] if names else all_rules()
    for name in names:
        found += _of_module(name) if name.endswith(".py") else [find(name)]
    return [
        rule
        for rule in dict.fromkeys(found)
        if kind in (None, str(rule.kind)) and wanted in (None, family(rule))
    ]


def _of_module(place: str) -> list[Rule]:
    """Return the rules that a module registers, or makes and keeps under a name."""
    before = all_rules()
    module = load_module(place)
    made = [each.rule for each in vars(module).values() if isinstance(each, UserRule)]
    found = [*made, *(rule for rule in all_rules() if rule not in before)]
    if not found:
        raise Failure(f"{place} makes no rule: write gradc.rule(…) in it")
    return found


__all__ = ["rules"]
