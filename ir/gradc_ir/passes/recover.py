"""Computes anew what is not finite, with exponents without bound, where it may well be."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import DType
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.passes.formulas import Group, grouped, is_tame, movable, rebuilt, source
from gradc_ir.pipeline import PlainPass
from gradc_ir.ranges import knowledge
from gradc_ir.wide_exponents.functions import FUNCTIONS, WORDS

# Functions that may overflow, that may underflow, and whose results are of moderate size.
_LARGE = frozenset({"power", "exp", "expm1", "exp2", "sinh", "cosh", "exp_product"})
_TINY = frozenset({"power", "exp", "exp2", "exp_product", "sigmoid", "sigmoid_derivative",
                   "softplus"})  # fmt: skip
_MODERATE = frozenset({"sin", "cos", "sin_sum", "cos_sum", "sin_difference", "cos_difference",
                       "tanh", "sigmoid", "sigmoid_derivative", "erf", "erfc",
                       "direction_cosine", "sign"})  # fmt: skip
# Functions that are neither large nor small where their operand is: of a large one, of a tiny one.
_OF_LARGE = frozenset({"sqrt", "cbrt", "log", "log1p", "log2", "log10", "power", "arctan2",
                       "hypot", "direction_cosine", "arcsinh", "arccosh"})  # fmt: skip
_OF_TINY = frozenset({"log", "log2", "log10", "power", "arctan2"})
# They keep what an operand may be.
_CARRYING = frozenset({"neg", "abs", "add", "sub", "select", "maximum", "minimum", "stop_gradient",
                       "fence", "sqrt"})  # fmt: skip
# Functions whose result is of moderate size where their operand has left the range: what hides
# such an infinity may be a finite number, and wrong.
_TAMING = frozenset({"log", "log1p", "log2", "log10", "arcsinh", "arccosh", "cbrt"})
# They are not finite where an operand is not, but for a selection that leaves it out.
_SHOWING = frozenset({"neg", "abs", "add", "sub", "mul", "select", "stop_gradient", "fence",
                      "sqrt"}) | _TAMING  # fmt: skip
_MOST_SOURCES = 8
# Values of all steps are on the stack together, 16 bytes each.
_MOST_WEIGHT, _FUNCTION_WEIGHT = 4000, 40
_CHEAP = frozenset({"neg", "abs", "add", "sub", "mul", "select", "stop_gradient", "fence"})


class RecoverFinite(PlainPass):
    """Gives results that may not be finite, although the value is, a second way to be computed.

    What is finite stays as it is.
    """

    name = "recover"
    summary = "compute with unbounded exponents what is not finite otherwise"

    def __call__(self, function: Function) -> Function:
        """Return the function with formulas behind results that may be lost."""
        lost = lost_values(function)
        groups = grouped(
            function, list(lost), _is_step, weigh=_weight, heaviest=_MOST_WEIGHT, apart=lost.get
        )
        if not groups:
            return function
        guards = {group.values: _guarded(group.values) for group in groups}

        def needed(group: Group) -> Sequence[Value]:
            reads = (each for guard in guards[group.values].guards for each in guard.all_reads)
            return (*group.values, *lost[group.values[0]], *group.leaves, *reads)

        def made(group: Group, place: int, given: list[Value]) -> Value:
            witnesses = len(lost[group.values[0]])
            return _recovered(group, place, given, witnesses, guards[group.values])

        return rebuilt(function, groups, {}, _keeps, needed, made)


def _keeps(node: Node) -> bool:
    return False


def _weight(node: Node) -> int:
    """Return about how many steps a node is when functions are taken apart."""
    return _FUNCTION_WEIGHT if node.op.name in FUNCTIONS else 1


def _recovered(
    group: Group, place: int, given: list[Value], witnesses: int, guarded: _Guarded
) -> Value:
    """Return a value of a group, of the plain ones, witnesses, what they start from, and guards."""
    guards, masks = guarded
    count = len(group.values) + witnesses
    end = count + len(group.leaves)
    dtype = group.values[0].type.dtype
    reads = iter(given[end:])
    sides = [_side(guard, [next(reads) for _ in guard.all_reads], dtype) for guard in guards]
    starts = [build.cast(x, dtype) for x in (*group.starts(given[count:end]), *sides)]
    return build.apply(
        "recover",
        *given[:count],
        *starts,
        body=group.body,
        result=place,
        guards=len(guards),
        **({"witnesses": witnesses} if witnesses else {}),
        **({"guarded": masks} if masks else {}),
    )


def _base(x: Value, exponent: Value) -> Value:
    """Return the base of a power where the exponent is not whole, else what is not below 0."""
    if scalar_constant(exponent) is not None:  # of whole ones there is no guard
        return x
    whole = build.eq(build.floor(exponent), exponent)
    return build.select(whole, build.ones_like(x), x)


# Functions that are of no number outside of their domain, with what is below 0 there.
_DOMAINS: dict[str, Callable[..., Value]] = {
    "power": _base,
    **dict.fromkeys(("sqrt", "log", "log2", "log10"), lambda x: x),
    "log1p": lambda x: x + 1,
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), lambda x: 1 - build.abs(x)),
    "arccosh": lambda x: x - 1,
}
_CHOICES = {"first": (1.0, -1.0), "second": (-1.0, 1.0)}
_MOST_CHOICES = 2


class _Guard(NamedTuple):
    """What a function is taken of on every way to a value, if the choices are these."""

    reads: tuple[Value, ...]  # what it is taken of
    conditions: tuple[Value, ...]
    name: str
    choices: tuple[bool, ...]

    @property
    def all_reads(self) -> tuple[Value, ...]:
        """What it is taken of, then the conditions."""
        return self.reads + self.conditions


def _side(guard: _Guard, reads: list[Value], dtype: DType) -> Value:
    """Return what is below 0 where a function is of no number, or such a one is chosen."""
    of, conditions = reads[: len(guard.reads)], reads[len(guard.reads) :]
    if guard.name in _DOMAINS:
        made = build.cast(_DOMAINS[guard.name](*of), dtype)
    else:
        shape = of[0].type.shape
        made = build.select(of[0], *(build.full(shape, c, dtype) for c in _CHOICES[guard.name]))
    for condition, choice in zip(conditions, guard.choices, strict=True):
        one = build.ones_like(made)
        made = build.select(condition, *((made, one) if choice else (one, made)))
    return made


class _Guarded(NamedTuple):
    """Guards, and of which values they are, in a bit for each; nothing where all are of all."""

    guards: list[_Guard]
    masks: tuple[int, ...]


def _guarded(values: Sequence[Value]) -> _Guarded:
    """Return the guards of some values."""
    found = _guards(values)
    cones = [_made_of(value) for value in values]
    masks = tuple(
        [sum([1 << i for i, cone in enumerate(cones) if at in cone]) for at in found.values()]
    )
    is_of_all = all([mask == (1 << len(values)) - 1 for mask in masks])
    return _Guarded(list(found), () if is_of_all else masks)


def _made_of(value: Value) -> set[Value]:
    """Return the values that steps make a value of."""
    found: set[Value] = set()
    stack = [value]
    while stack:
        one = stack.pop()
        if one not in found and _is_step(one.node):
            found.add(one)
            stack += one.node.operands
    return found


def _guards(values: Sequence[Value]) -> dict[_Guard, Value]:
    """Return the guards of some values, with what they are the guards of.

    Where a condition chooses what is not finite, that is a guard as well.
    """
    found: dict[_Guard, Value] = {}
    seen: set[Value] = set()
    stack: list[tuple[Value, tuple[Value, ...], tuple[bool, ...]]] = [(x, (), ()) for x in values]
    while stack:
        value, conditions, choices = stack.pop()
        if value in seen or not _is_step(value.node):
            continue
        seen.add(value)
        name, operands = value.node.op.name, value.node.operands
        if name == "select":
            lost = [_is_lost(each) for each in operands[1:]]
            if any(lost):
                which = "first" if lost[1] else "second"
                found[_Guard((operands[0],), conditions, which, choices)] = value
            if len(choices) < _MOST_CHOICES:
                more = (*conditions, operands[0])
                stack += [(x, more, (*choices, x is operands[1])) for x in operands[1:]]
            stack.append((operands[0], conditions, choices))
            continue
        known = scalar_constant(operands[0]) is not None or operands[0].op.name in ("abs", "exp")
        if name in _DOMAINS and not (known or (name == "power" and is_whole(operands[1]))):
            found[_Guard(tuple(operands), conditions, name, choices)] = value
        stack += [(x, conditions, choices) for x in operands]
    return found


def _is_lost(value: Value) -> bool:
    number = scalar_constant(value)
    return number is not None and not math.isfinite(number)


def is_whole(value: Value) -> bool:
    """Whether a value is a whole number that is known."""
    number = scalar_constant(value)
    return number is not None and float(number).is_integer()


def _is_step(node: Node) -> bool:
    """Whether a node may be a step: of one float dtype, or a condition about such."""
    if node.op.name not in WORDS:
        return False
    found: DType | None = None
    for value in node.operands + node.results:
        dtype = value.type.dtype
        if dtype is found or dtype is DType.BOOL:
            continue
        if found is not None or not dtype.is_float:
            return False
        found = dtype
    return node.op.name != "select" or _is_about(node.operands[0], found)


def _is_about(condition: Value, dtype: DType | None) -> bool:
    """Whether a formula of a dtype can have a condition: what it compares is of that, too."""
    stack, seen = [condition], {condition}
    while stack:
        node = stack.pop().node
        if node.op.name not in WORDS:
            continue  # it is read
        for operand in node.operands:
            of = operand.type.dtype
            if of.is_float and of is not dtype:
                return False
            if of is DType.BOOL and operand not in seen:
                seen.add(operand)
                stack.append(operand)
    return True


class _Ways(NamedTuple):
    """What a value may be, of operands of any size.

    ``large``, ``tiny``: out of the range above, or below. ``lost``: not finite although the number
    is. ``sources``: what sums and products make it of, None where there is more to it. ``shown``:
    what is lost on its way and then it is not finite itself; ``hidden``: then it may be finite.
    """

    large: bool = False
    tiny: bool = False
    lost: bool = False
    moderate: bool = False
    sources: frozenset[Value] | None = None
    shown: tuple[Value, ...] = ()
    hidden: tuple[Value, ...] = ()


def lost_values(function: Function) -> dict[Value, tuple[Value, ...]]:
    """Return the values that are read as numbers of their own, and may be lost.

    With each the witnesses: what may be lost on its way although the value is finite.
    """
    steps = {value for node in function.nodes if _is_step(node) for value in node.results}
    before = movable(function, steps)
    ways: dict[Value, _Ways] = {}
    wanted: dict[Value, None] = {}
    for node in function.nodes:
        if not steps.isdisjoint(node.results):
            of = [_of(x, ways, before) for x in node.operands]
            ways[node.results[0]] = _ways(node, of, *_witnesses(node, of))
        else:
            wanted.update(dict.fromkeys(node.operands))
    wanted.update(dict.fromkeys(function.results))
    lost = [x for x in wanted if x in ways and x.type.dtype.is_float and ways[x].lost]
    return {x: ways[x].hidden for x in lost}


def _witnesses(node: Node, of: list[_Ways]) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """Return what is lost on the way to a value: what it shows, and what it may hide."""
    name = node.op.name
    if not any([each.shown or each.hidden for each in of]):
        is_tamed = (name in _SHOWING or _is_root(node)) and _is_tamed(node, of[0])
        return (node.results if is_tamed else ()), ()
    shown = dict.fromkeys([x for each in of for x in each.shown])
    hidden = dict.fromkeys([x for each in of for x in each.hidden])
    if name == "div":
        hidden |= dict.fromkeys(of[1].shown)
        shown = dict.fromkeys(of[0].shown)
    elif name not in _SHOWING and not _is_root(node):
        hidden |= shown
        shown = {}
    elif _is_tamed(node, of[0]):
        shown[node.results[0]] = None
    return tuple(shown), tuple(x for x in hidden if x not in shown)


def _is_tamed(node: Node, of: _Ways) -> bool:
    """Whether a result may be of moderate size although the operand has left the range."""
    name = node.op.name
    if name in _TAMING or _is_root(node):
        return of.large or (of.tiny and name in _OF_TINY)
    return False


def _is_root(node: Node) -> bool:
    """Whether a node is a power between 0 and 1."""
    number = scalar_constant(node.operands[1]) if node.op.name == "power" else None
    return number is not None and 0 < number < 1


def _of(operand: Value, ways: Mapping[Value, _Ways], before: Container[Value]) -> _Ways:
    spread, _ = source(operand)
    known = ways.get(spread if spread in before else operand)
    if known is not None:
        return known
    if scalar_constant(operand) is not None:
        return _Ways(moderate=is_tame(operand), sources=frozenset())
    return _Ways(moderate=operand.op.name in _MODERATE, sources=frozenset([operand]))


def _ways(
    node: Node, of: list[_Ways], shown: tuple[Value, ...], hidden: tuple[Value, ...]
) -> _Ways:
    name = node.op.name
    lost = any([x.lost for x in of])
    moderate = name in _MODERATE or (name in _CHEAP and all([x.moderate for x in of]))
    large = tiny = False
    if name in _CARRYING:
        large, tiny = any([x.large for x in of]), any([x.tiny for x in of])
    elif name == "mul":
        large, tiny, comes_back = _product(node, *of)
        lost = lost or comes_back
    elif name == "div":
        large, tiny, comes_back = _quotient(node, *of)
        lost = lost or comes_back
    elif name in _LARGE or name in _TINY:
        shrinks = _shrinks(node)
        large, tiny = name in _LARGE and not shrinks, name in _TINY
        moderate = moderate or shrinks
    if name in _OF_LARGE:
        lost = lost or any([x.large for x in of])
    if name in _OF_TINY:
        lost = lost or any([x.tiny for x in of])
    return _Ways(large, tiny, lost, moderate, _joined(node, of), shown, hidden)


def _product(node: Node, x: _Ways, y: _Ways) -> tuple[bool, bool, bool]:
    """Return whether a product is large, tiny, lost."""
    large = x.large or y.large
    if any(map(is_tame, node.operands)):
        return large, x.tiny or y.tiny, False
    return large or not (x.moderate or y.moderate), True, _comes_back(x, y) or _comes_back(y, x)


def _quotient(node: Node, x: _Ways, y: _Ways) -> tuple[bool, bool, bool]:
    """Return whether a quotient is large, tiny, lost."""
    if is_tame(node.operands[1]):
        return x.large, x.tiny, False
    is_number = scalar_constant(node.operands[0]) is not None
    lost = x.large or y.tiny
    return lost or not is_number, x.tiny or y.large or not is_number, lost


def _shrinks(node: Node) -> bool:
    """Whether a node is an exponential of what is not above 0."""
    operands = node.operands
    if node.op.name in ("exp", "exp2"):
        return knowledge.interval(operands[0])[1] <= 0
    if node.op.name != "exp_product":
        return False
    return any(_is_negated(x, y) for x, y in (operands, operands[::-1]))


def _is_negated(x: Value, y: Value) -> bool:
    """Whether a value is another one times a number below 0."""
    if x.op.name == "neg":
        return x.operands[0] is y
    if x.op.name != "mul" or y not in x.operands:
        return False
    number = scalar_constant(x.operands[1 - x.operands.index(y)])
    return number is not None and number < 0


def _joined(node: Node, of: list[_Ways]) -> frozenset[Value] | None:
    if node.op.name not in _CHEAP:
        return None
    sources: frozenset[Value] = frozenset()
    for each in of:
        if each.sources is None:
            return None
        sources |= each.sources
    return sources if len(sources) <= _MOST_SOURCES else None


def _comes_back(large: _Ways, other: _Ways) -> bool:
    """Whether a factor may bring a product back into the range: not what made it leave it."""
    if large.sources is None or other.sources is None:
        return large.large
    return large.large and not other.sources <= large.sources
