"""The rewrite engine: applies rules to a graph, bottom-up, until none fires any more.

Every value of the function is built anew with rewritten operands and then *normalised*: as long as
a rule fires on it, what the rule returns takes its place and is normalised in turn, operands first.
Rules are chosen by the op of a value and the ops of its operands, so that many rules cost little.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gradc_ir.build import Builder, active
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.builder import Arrange
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.errors import RuleError, VerifyError
from gradc_ir.graphs.rearrange import REARRANGEMENTS
from gradc_ir.location import Location, parts
from gradc_ir.matching.choice import Entry as Entry
from gradc_ir.matching.choice import Family as Family
from gradc_ir.matching.choice import RewriteRule as RewriteRule
from gradc_ir.matching.choice import choice
from gradc_ir.matching.pattern import (
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

# No terminating set of rules fires nearly as often for one node of the input.
FIRINGS_A_NODE = 1000


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
        direct: Iterable[str] | None = None,
    ) -> None:
        self.name = name
        self.root_ops = None if root_ops is None else frozenset(root_ops)
        self.direct = None if direct is None else frozenset(direct)
        self.apply = function
        self._may_match = may_match

    def may_match(self, heads: tuple[str, ...]) -> bool:
        """Whether the rule can fire on a value whose operands are made by these ops."""
        return self._may_match is None or self._may_match(heads)

    def __repr__(self) -> str:
        return f"<rule {self.name}>"


# The op of a left side that is written as the call of it.
_HEAD = re.compile(r"(\w+)\([^+*/]*\)\s*(?:=>|$)")


class PatternRule:
    """A rule that is a text of two patterns, or a left one and a function of the match.

    Parameters
    ----------
    name: how the rule is called.
    text: ``"left => right"``, or only ``"left"`` when ``build`` is given.
    when: the guard: whether the rule holds for a match; it must answer no when it does not know.
    build: a function of the match to the replacement, None for none.
    known: whether the text is known to be right: then it is read when a value has the op of its
        left side, which most rules of a list wait for in vain.
    """

    def __init__(
        self,
        name: str,
        text: str,
        *,
        when: Callable[[Match], bool] | None = None,
        build: Callable[[Match], Value | None] | None = None,
        known: bool = False,
    ) -> None:
        self.name = name
        self.when = when
        self.build = build
        self._text = text
        head = _HEAD.match(text) if known else None
        self.root_ops = frozenset({head[1] if head is not None else self.left.op.name})

    @functools.cached_property
    def _sides(self) -> tuple[Call, Pattern | None]:
        return _sides(self._text, whole=self.build is None)

    @functools.cached_property
    def left(self) -> Call:
        """What is to be matched."""
        return self._sides[0]

    @functools.cached_property
    def right(self) -> Pattern | None:
        """What is put in its place, None where that is built."""
        return self._sides[1]

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
            here += parts(builder.locations.get(node, ()))
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
    rules: Sequence[Entry],
    *,
    log: Callable[[Fired], None] | None = None,
    arrange: Arrange | None = None,
) -> Function:
    """Return the function with rules applied everywhere until none fires.

    Bodies of control ops are rewritten too, but not those of ``call``: they are about to be opened.
    The first rule of the list that fires on a value wins. What is made has the operands of
    commutative ops as ``arrange`` puts them, where it is given. Raises VerifyError, naming the
    rules, when they run in a circle.
    """
    return Rewriter(rules, log, arrange).function(function)


class Rewriter:
    """Rules, ready to be applied to functions."""

    def __init__(
        self,
        rules: Sequence[Entry],
        log: Callable[[Fired], None] | None = None,
        arrange: Arrange | None = None,
    ) -> None:
        self.rules = tuple(rules)
        self.log = log
        self.arrange = arrange
        self.choice = choice(self.rules)
        # by identity: equal bodies may come from different lines
        self._bodies: dict[int, tuple[Function, Function]] = {}

    def function(self, function: Function) -> Function:
        """Return the function rewritten; the very one when no rule fires.

        Nodes stay the same as long as their operands do, so a pass that finds little costs little.
        """
        nodes = function.nodes
        may_change = list(map(self._may_change, nodes))
        if True not in may_change:
            return function
        last = len(nodes) - 1 - may_change[::-1].index(True)
        with Builder.beyond(nodes) as builder:
            builder.arrange = self.arrange
            # from values of the function to normal ones, once one is another
            mapping: dict[Value, Value] = {}
            normaliser = _Normaliser(self, builder)
            normals = normaliser.normals
            lines_of = function.locations
            same = True
            for i, node in enumerate(nodes):
                if same and i > last:
                    return function
                builder.here = lines = lines_of.get(node, ())
                operands = node.operands
                if not same:
                    operands = tuple([mapping[operand] for operand in operands])
                attributes = node.attributes
                if node.op.family == "control":
                    attributes = self._attributes(node)
                if operands == node.operands and attributes is node.attributes:
                    made = builder.adopt(node)
                else:
                    made = builder.apply(node.op, operands, attributes, node)
                is_normal = made is node and not may_change[i]
                if is_normal:
                    node.normal_by |= self.choice.bit
                for old, new in zip(node.results, made.results):
                    normal = new if is_normal else normals.get(new)
                    if normal is None:
                        normal = normaliser.normal(new, lines)
                    elif is_normal:
                        normals[new] = new
                    if same and normal is not old:
                        same = False
                        mapping = {value: value for before in nodes[:i] for value in before.results}
                        mapping.update((value, value) for value in node.results[: old.index])
                    if not same:
                        mapping[old] = normal
            if same:
                return function
            params = [mapping[param] for param in function.params]
            results = [mapping[result] for result in function.results]
            return builder.function(
                function.name, params, results, function.names, function.location
            )

    def _may_change(self, node: Node) -> bool:
        if node.normal_by & self.choice.bit:
            return False
        if node.op.family == "control":
            return True
        rules, results = self.choice.rules, node.results
        return bool(rules(results[0])) if len(results) == 1 else any(map(rules, results))

    def _attributes(self, node: Node) -> Any:
        if node.op.name == "call":
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


class _Normaliser:
    """Normal forms of values within one builder."""

    def __init__(self, rewriter: Rewriter, builder: Builder) -> None:
        self.rewriter = rewriter
        self.builder = builder
        self.normals: dict[Value, Value] = {}

    def normal(self, value: Value, lines: tuple[Location, ...]) -> Value:
        """Return the normal form of a value of normal operands, which is not known yet.

        Its normalisation is attributed to these lines.
        """
        normals = self.normals
        if value.node.normal_by & self.rewriter.choice.bit:
            normals[value] = value
            return value
        fired: list[str] = []
        made = self._replaced(value, lines, fired)
        if made is value:
            self._settle(value)
            return value
        forward = {value: made}
        stack = [value]
        while stack:
            top = stack[-1]
            if top in normals:
                stack.pop()
                continue
            if top.node.normal_by & self.rewriter.choice.bit:
                normals[top] = top
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
                    self._settle(top)
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

    def _settle(self, value: Value) -> None:
        """Note that a value is normal, in its node, too: rules look at what it is made of alone."""
        self.normals[value] = value
        node = value.node
        if len(node.results) == 1 and node.op.family != "control":
            node.normal_by |= self.rewriter.choice.bit

    def _step(self, value: Value, lines: tuple[Location, ...], fired: list[str]) -> Value:
        """Return the value with normal operands, or else what the first rule makes of it."""
        node, normals = value.node, self.normals
        operands = tuple([normals[operand] for operand in node.operands])
        if operands != node.operands:
            self.builder.here = self.builder.locations.get(node, lines)
            rebuilt = self.builder.apply(node.op, operands, node.attributes, like=node)
            return rebuilt.results[value.index]
        return self._replaced(value, lines, fired)

    def _replaced(self, value: Value, lines: tuple[Location, ...], fired: list[str]) -> Value:
        """Return what the first rule that fires makes of a value; the value when none does."""
        builder = self.builder
        choice = self.rewriter.choice
        rules = choice.rules(value)
        if not rules:
            return value
        here = builder.locations.get(value.node, lines)
        steps = parts(here)
        for rule in rules:
            if isinstance(rule, Family):
                choice.load(rule, value)
                return self._replaced(value, lines, fired)
            builder.here = steps
            made = rule.apply(value)
            if made is None or made is value:
                continue
            if made.type != value.type:
                raise VerifyError(
                    f"rule {rule.name} turns {value.type} into {made.type}",
                    at=lines[0] if lines else None,
                )
            builder.replace(made, here)
            fired.append(rule.name)
            if self.rewriter.log is not None:
                self.rewriter.log(Fired(rule.name, here, value, made))
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
