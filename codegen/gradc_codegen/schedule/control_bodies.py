"""The bodies of control flow: which they are, and which memory each may overwrite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from gradc_codegen.arrays.blas import is_choice
from gradc_codegen.nest.strips import bound_by
from gradc_codegen.schedule.estimates import Estimates
from gradc_codegen.schedule.in_place import Links, overwriting, root
from gradc_codegen.schedule.passes.prepare import preparation
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.graph import Function, Node


@dataclass
class Draft:
    """A prepared function before it is scheduled.

    Parameters
    ----------
    function: the function.
    bodies: for each node of control flow the drafts of its bodies.
    granted: for each node and body the parameters that results of the body overwrite.
    links: for each node the operands that its results may overwrite.
    """

    function: Function
    bodies: dict[Node, tuple[Draft, ...]] = field(default_factory=dict)
    granted: dict[Node, tuple[Mapping[int, int], ...]] = field(default_factory=dict)
    links: dict[Node, Mapping[int, int]] = field(default_factory=dict)


def draft(
    function: Function, estimate: Estimates, blas: bool = False, outer: tuple[str, ...] = ()
) -> Draft:
    """Return a function prepared, with the drafts of all bodies in it.

    Parameters
    ----------
    estimate: what sizes are taken for.
    blas: whether contractions that are bound by arithmetic go to BLAS.
    outer: for a body the sizes that the functions around it bind.
    """
    made = Draft(preparation(blas, outer, estimate)(function))
    symbols = (*outer, *function.size_symbols)
    for node in made.function.nodes:
        if node.op.family == "control":
            inner = blas and not is_choice(node)
            known = (*symbols, *bound_by(node))
            bodies = tuple(draft(body, estimate, inner, known) for body in bodies_of(node))
            granted = _granted(node, bodies)
            made.bodies[node], made.granted[node] = bodies, granted
            made.links[node] = {
                result: first_operand(node, -1) + param for result, param in granted[-1].items()
            }
    return made


def bodies_of(node: Node) -> list[Function]:
    """Return the functions that a node of control flow runs, the one that makes results last."""
    given = node.attributes
    names = {"while": ("condition", "body"), "cond": ("otherwise", "then")}
    return [given[name] for name in names.get(node.op.name, ("body",))]


def first_operand(node: Node, body: int) -> int:
    """Return which operand of a node is the first parameter of one of its bodies."""
    given = node.attributes
    if node.op.name == "scan":
        return int(given["counted"])
    if node.op.name == "while":
        return int(given["condition_consts"]) if body else 0
    return int(node.op.name == "cond")


def _granted(node: Node, bodies: Sequence[Draft]) -> tuple[Mapping[int, int], ...]:
    """Return for each body which parameter each of its results overwrites."""
    given = node.attributes
    if node.op.name == "strips":
        consts, carries = given["consts"], len(node.operands) - given["consts"]
        return (_feasible(bodies[0], _carried(consts, carries)),)
    if node.op.name == "scan":
        return (_feasible(bodies[0], _carried(given["consts"], given["carries"])),)
    if node.op.name == "while":
        consts = given["body_consts"]
        carries = len(node.operands) - given["condition_consts"] - consts
        return {}, _feasible(bodies[1], _carried(consts, carries))
    # branches: only what all of them can
    both: Mapping[int, int] = _roots(bodies[0].function, bodies[0].links)
    for body in bodies[1:]:
        both = _common(both, _roots(body.function, body.links))
    for body in bodies:
        both = _feasible(body, both)
    return (both,) * len(bodies)


def _carried(consts: int, carries: int) -> Mapping[int, int]:
    return {i: consts + i for i in range(carries)}


def _roots(function: Function, links: Links) -> Mapping[int, int]:
    found = ((i, root(function, i, links)) for i in range(len(function.results)))
    return {i: param for i, param in found if param is not None}


def _common(left: Mapping[int, int], right: Mapping[int, int]) -> Mapping[int, int]:
    return {key: value for key, value in left.items() if right.get(key) == value}


def _feasible(body: Draft, wanted: Mapping[int, int]) -> Mapping[int, int]:
    return overwriting(body.function, wanted, body.links).params
