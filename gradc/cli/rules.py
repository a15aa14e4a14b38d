"""``gradc rules``: list the rewrite rules, show one, verify them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import click

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


@click.group(short_help="List the rewrite rules; show or verify them.", invoke_without_command=True)
@_kind_option
@_family_option
@click.pass_context
def rules(context: click.Context, kind: str | None, family: str | None) -> None:
    """List every rule: its class, name, equation and reason; or show or verify them."""
    if context.invoked_subcommand is None:
        _list(kind, family)


@rules.command("list", short_help="List rules with their equations and reasons.")
@_kind_option
@_family_option
def list_(kind: str | None, family: str | None) -> None:
    """List every rule: its class, name, equation and reason."""
    _list(kind, family)


def _list(kind: str | None, wanted: str | None) -> None:
    families = {rule: family(rule) for rule in all_rules()}
    if wanted is not None and wanted not in families.values():
        known = ", ".join(dict.fromkeys(families.values()))
        raise click.UsageError(f"no family of rules is called {wanted!r}; there are {known}")
    for each in Kind:
        if kind not in (None, str(each)):
            continue
        chosen = [r for r, of in families.items() if r.kind is each and wanted in (None, of)]
        if chosen or wanted is None:
            click.echo(f"{each}:")
        for rule in chosen:
            click.echo(f"  {rule.name:24} {rule.text}")
            click.echo(f"  {'':24}   {rule.reason}")


@rules.command(short_help="Show all about a rule.")
@click.argument("name")
def show(name: str) -> None:
    """Show a rule: equation, class, domain, reason, and the measured bits of both sides."""
    from gradc.rules.verify.verifying import has_formula, measured

    rule = find(name)
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
    if rule.kind is Kind.EXACT or not has_formula(rule):
        return
    rows: list[Sequence[str]] = [("mean bits of error", "left", "right", "most lost", "at")]
    for each in measured(rule):
        lost = f"{each.lost:.1f}" if each.lost > 0 else ""
        at = ", ".join(f"{x:.6g}" for x in each.at) if lost else ""
        what = each.what if len(rule.equations) == 1 else f"{each.what} of {each.equation}"
        rows.append((what, f"{each.left:.2f}", f"{each.right:.2f}", lost, at))
    click.echo("\n" + "\n".join(lines_of(rows)))


def _domain(rule: Rule) -> str:
    parts = [f"{low:g} < {name} < {high:g}" for name, (low, high) in rule.domain.items()]
    return " and ".join([*parts, *filter(None, [rule.condition])]) or "the reals"


@rules.command(short_help="Prove and measure rules; exit 1 with a counter-example.")
@click.argument("names", metavar="[NAME | MODULE.PY]...", nargs=-1)
@_kind_option
@_family_option
def verify(names: tuple[str, ...], kind: str | None, family: str | None) -> None:
    """Prove rules with SymPy, and measure both sides or compare their bits.

    Of a module, the rules that it makes with gradc.rule are verified; without a name, all rules.
    Exits with 1, and a counter-example, when a rule does not hold.
    """
    from gradc.rules.verify.verifying import verify

    failed = False
    for name in names:
        if not name.endswith(".py"):
            find(name)  # a name that is no rule's is a wrong use
    try:
        chosen = _chosen(names, kind, family)
    except RuleError as error:  # of a rule that the module makes
        click.echo(f"FAILED {error}")
        sys.exit(1)
    for rule in chosen:
        try:
            found = verify(rule)
        except RuleError as error:
            failed = True
            click.echo(f"FAILED {error}")
            continue
        bits = ""
        if found.bits:
            left, right = (
                sum(getattr(each, side) for each in found.bits) / len(found.bits)
                for side in ("left", "right")
            )
            bits = f": {left:.2f} bits on the left, {right:.2f} on the right"
        click.echo(f"ok {rule.name} ({rule.kind}): {found.how}{bits}")
    sys.exit(1 if failed else 0)


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
        raise click.UsageError(f"{place} makes no rule: write gradc.rule(…) in it")
    return found


__all__ = ["rules"]
