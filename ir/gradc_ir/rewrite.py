"""The rewrite engine: applies rules to a graph, bottom-up, until none fires any more.

Every value of the function is built anew with rewritten operands and then *normalised*: as long as
a rule fires on it, what the rule returns takes its place and is normalised in turn, operands first.
Rules are chosen by the op of a value and the ops of its operands, so that many rules cost little.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from gradc_ir.build import Builder, active
from gradc_ir.errors import RuleError, VerifyError
from gradc_ir.graph import Function, Node, Value
from gradc_ir.heads import COMPOUND, factor_ops
from gradc_ir.location import Location
from gradc_ir.op import Op
from gradc_ir.pattern import (
    Call,
    Match,
    Number,
    Pattern,
    Variable,
    instantiate,
    match,
    parse_pattern,
    parse_rule_text,
)
from gradc_ir.rearrange import REARRANGEMENTS, peel

# No terminating set of rules fires nearly as often for one node of the input.
FIRINGS_A_NODE = 1000
_NONE: frozenset[str] = frozenset()


class RewriteRule(Protocol):
    """What the engine needs of a rule.

    ``root_ops`` are the names of the ops it may fire on, None for all. A rule may also have
    ``may_match(heads)``, which is told the ops of the operands, seen through rearrangements, and
    says no when it surely does not fire; and ``factors``, ops of which one must make a factor of
    the product, or of a term of the sum, that it fires on.
    """

    @property
    def name(self) -> str:
        """How the rule is called in logs and errors."""

    @property
    def root_ops(self) -> frozenset[str] | None:
        """The names of the ops of the values it may fire on, None for all."""

    def apply(self, value: Value) -> Value | None:
        """Return what to put in place of a value, built in the active builder, or None."""


class Fired(NamedTuple):
    """A record of one firing: the rule, the user's lines, the value before and after."""

    rule: str
    locations: tuple[Location, ...]
    before: Value
    after: Value


class FunctionRule:
    """A rule that is a Python function from a value to its replacement or None."""

    def __init__(
        self,
        name: str,
        root_ops: Iterable[str] | None,
        function: Callable[[Value], Value | None],
        may_match: Callable[[tuple[str, ...]], bool] | None = None,
    ) -> None:
        self.name = name
        self.root_ops = None if root_ops is None else frozenset(root_ops)
        self.apply = function
        self._may_match = may_match

    def may_match(self, heads: tuple[str, ...]) -> bool:
        """Whether the rule can fire on a value whose operands are made by these ops."""
        return self._may_match is None or self._may_match(heads)

    def __repr__(self) -> str:
        return f"<rule {self.name}>"


class PatternRule:
    """A rule that is a text of two patterns, or a left one and a function of the match.

    Parameters
    ----------
    name: how the rule is called.
    text: ``"left => right"``, or only ``"left"`` when ``build`` is given.
    when: the guard: whether the rule holds for a match; it must answer no when it does not know.
    build: a function of the match to the replacement, None for none.
    """

    def __init__(
        self,
        name: str,
        text: str,
        *,
        when: Callable[[Match], bool] | None = None,
        build: Callable[[Match], Value | None] | None = None,
    ) -> None:
        self.name = name
        self.when = when
        self.build = build
        self.left, self.right = _sides(text, whole=build is None)
        self.root_ops = frozenset({self.left.op.name})

    def __repr__(self) -> str:
        return f"<rule {self.name}: {self.left} => {self.right or '...'}>"

    def may_match(self, heads: tuple[str, ...]) -> bool:
        """Whether the rule can fire on a value whose operands are made by these ops."""
        patterns = self.left.operands
        if len(heads) != len(patterns):
            return False
        orders = [heads, heads[::-1]] if self.left.op.commutative else [heads]
        return any(all(map(_may_be, patterns, order)) for order in orders)

    def apply(self, value: Value) -> Value | None:
        """Return the right side when the left side matches and the guard holds, else None."""
        builder = active()
        here, builder.here = builder.here, ()
        found = match(self.left, value)
        if found is None or (self.when is not None and not self.when(found)):
            builder.here = here
            return None
        # the new value comes from all the lines that wrote what it replaces
        for node in found.nodes:
            here += builder.locations.get(node, ())
        builder.here = tuple(dict.fromkeys(here))
        if self.right is None:
            return self.build(found) if self.build is not None else None
        return instantiate(self.right, found, value.type)


def _sides(text: str, whole: bool) -> tuple[Call, Pattern | None]:
    if whole:
        return parse_rule_text(text)
    left = parse_pattern(text)
    if not isinstance(left, Call):
        raise RuleError("the left side of a rule must be an op", found=text)
    return left, None


def _may_be(pattern: Pattern, head: str) -> bool:
    if isinstance(pattern, Number):
        return head == "constant"
    if isinstance(pattern, Variable):
        return pattern.kind != "const" or head == "constant"
    return pattern.op.name == head or pattern.op.name in REARRANGEMENTS


def rewrite(
    function: Function,
    rules: Sequence[RewriteRule],
    *,
    log: Callable[[Fired], None] | None = None,
) -> Function:
    """Return the function with rules applied everywhere until none fires.

    Bodies of control ops are rewritten too, but not those of ``call``: they are about to be opened.
    The first rule of the list that fires on a value wins. Raises VerifyError, naming the rules,
    when they run in a circle.
    """
    return Rewriter(rules, log).function(function)


class Rewriter:
    """Rules, ready to be applied to functions."""

    def __init__(
        self, rules: Sequence[RewriteRule], log: Callable[[Fired], None] | None = None
    ) -> None:
        self.rules = tuple(rules)
        self.log = log
        self._chosen = _choice(self.rules)
        # by identity: equal bodies may come from different lines
        self._bodies: dict[int, tuple[Function, Function]] = {}

    def function(self, function: Function) -> Function:
        """Return the function rewritten; the very one when no rule fires.

        Nodes stay the same as long as their operands do, so a pass that finds little costs little.
        """
        with Builder.beyond(function.nodes) as builder:
            # from values of the function to normal ones
            mapping: dict[Value, Value] = {}
            normaliser = _Normaliser(self, builder)
            lines_of = function.locations
            same = True
            for node in function.nodes:
                builder.here = lines = lines_of.get(node, ())
                operands = tuple([mapping[operand] for operand in node.operands])
                attributes = self._attributes(node)
                if operands == node.operands and attributes is node.attributes:
                    made = builder.adopt(node)
                else:
                    made = builder.apply(node.op, operands, attributes, node)
                for old, new in zip(node.results, made.results):
                    mapping[old] = normal = normaliser.normal(new, lines)
                    same = same and normal is old
            if same:
                return function
            params = [mapping[param] for param in function.params]
            results = [mapping[result] for result in function.results]
            return builder.function(
                function.name, params, results, function.names, function.location
            )

    def chosen(self, value: Value) -> tuple[RewriteRule, ...]:
        """Return the rules that may fire on a value, by its op and its operands' ops."""
        node = value.node
        op = node.op
        heads: tuple[str, ...] = ()
        if op.operands is not None:
            heads = tuple([_head(operand) for operand in node.operands])
        factors = factor_ops(value, active()) if op.name in COMPOUND else _NONE
        key = (op, heads, factors)
        found = self._chosen.get(key)
        if found is None:
            found = tuple(rule for rule in self.rules if _may_fire(rule, op, heads, factors))
            self._chosen[key] = found
        return found

    def _attributes(self, node: Node) -> Any:
        if node.op.family != "control" or node.op.name == "call":
            return node.attributes
        attributes = {
            name: self._body(item) if isinstance(item, Function) else item
            for name, item in node.attributes.items()
        }
        same = all(item is node.attributes[name] for name, item in attributes.items())
        return node.attributes if same else attributes

    def _body(self, body: Function) -> Function:
        found = self._bodies.get(id(body))
        if found is None:
            # the body is held as well, so that its identity is not taken by another
            found = self._bodies[id(body)] = (body, self.function(body))
        return found[1]


@functools.lru_cache(maxsize=64)
def _choice(
    rules: tuple[RewriteRule, ...],
) -> dict[tuple[Op, tuple[str, ...], frozenset[str]], tuple[RewriteRule, ...]]:
    """Return what is known of which rules may fire, which all functions add to."""
    return {}


def _head(value: Value) -> str:
    name = value.node.op.name
    return peel(value)[0].node.op.name if name in REARRANGEMENTS else name


def _may_fire(rule: RewriteRule, op: Op, heads: tuple[str, ...], factors: frozenset[str]) -> bool:
    if rule.root_ops is not None and op.name not in rule.root_ops:
        return False
    wanted = getattr(rule, "factors", None)
    if wanted is not None and op.name in COMPOUND and wanted.isdisjoint(factors):
        return False
    may_match = getattr(rule, "may_match", None)
    return may_match is None or op.operands is None or may_match(heads)


class _Normaliser:
    """Normal forms of values within one builder."""

    def __init__(self, rewriter: Rewriter, builder: Builder) -> None:
        self.rewriter = rewriter
        self.builder = builder
        self.normals: dict[Value, Value] = {}

    def normal(self, value: Value, lines: tuple[Location, ...]) -> Value:
        """Return the normal form of a value, whose normalisation is attributed to these lines."""
        normals = self.normals
        if value in normals:
            return normals[value]
        forward: dict[Value, Value] = {}
        fired: list[str] = []
        stack = [value]
        while stack:
            top = stack[-1]
            if top in normals:
                stack.pop()
                continue
            target = forward.get(top)
            if target is None:
                pending = [operand for operand in top.node.operands if operand not in normals]
                if pending:
                    stack += pending
                    self._check(stack, fired)
                    continue
                target = self._step(top, lines, fired)
                if target is top:
                    normals[top] = top
                    stack.pop()
                    continue
                forward[top] = target
            if target in normals:
                normals[top] = normals[target]
                stack.pop()
            else:
                stack.append(target)
                self._check(stack, fired)
        return normals[value]

    def _step(self, value: Value, lines: tuple[Location, ...], fired: list[str]) -> Value:
        """Return the value with normal operands, or else what the first rule makes of it."""
        node, normals = value.node, self.normals
        operands = tuple([normals[operand] for operand in node.operands])
        if operands != node.operands:
            self.builder.here = self.builder.locations.get(node, lines)
            rebuilt = self.builder.apply(node.op, operands, node.attributes, like=node)
            return rebuilt.results[value.index]
        for rule in self.rewriter.chosen(value):
            self.builder.here = self.builder.locations.get(node, lines)
            made = rule.apply(value)
            if made is None or made is value:
                continue
            if made.type != value.type:
                raise VerifyError(
                    f"rule {rule.name} turns {value.type} into {made.type}",
                    at=lines[0] if lines else None,
                )
            fired.append(rule.name)
            if self.rewriter.log is not None:
                at = self.builder.locations.get(node, lines)
                self.rewriter.log(Fired(rule.name, at, value, made))
            return made
        return value

    def _check(self, stack: list[Value], fired: list[str]) -> None:
        """Raise VerifyError when the rules run in a circle, or do not come to an end."""
        if len(fired) <= FIRINGS_A_NODE and len(stack) <= FIRINGS_A_NODE * 10:
            return
        recent = dict.fromkeys(fired[-20:])
        raise VerifyError(
            f"rules do not come to an end: {', '.join(recent)}",
            found=f"{len(fired)} firings for one {stack[0].node.op.name}",
            help="one rule undoes another, or makes what it matches again",
        )
