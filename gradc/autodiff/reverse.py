"""Reverse mode: a function and the cotangents of its parameters, from partials and transposes."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, Literal

from gradc.autodiff import zeros
from gradc.autodiff.active import active_values
from gradc.autodiff.constants import check_constants
from gradc.autodiff.cotangents.mask import Mask, everywhere, nowhere
from gradc.autodiff.cotangents.masks import Cotangent, has_quotient, unit
from gradc.autodiff.cotangents.sums import Sums
from gradc.autodiff.open_calls import open_ruleless
from gradc.autodiff.table import TABLE, Site, derivative_of
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import ShapeError
from gradc_ir.graphs.rearrange import scalar_constant
from gradc_ir.location import Lines, derivatives


class Pulled(NamedTuple):
    """A function that also pulls cotangents back.

    ``masked`` are the positions of the parameters whose cotangents have masks, or are zero.
    """

    function: Function
    masked: frozenset[int]


def vjp(
    function: Function,
    wrt: Sequence[int],
    seeds: Literal["ones", "params"] | Sequence[int] = "params",
    *,
    units: bool = False,
    apart: bool = False,
) -> Function:
    """Return the function that also pulls cotangents back.

    Parameters: the function's, then, with ``seeds="params"``, the cotangent of each float result,
    in order. Results: the function's, then the cotangent of each parameter in ``wrt``, of its type.
    ``seeds="ones"`` is for gradients: the first result, a float scalar, has cotangent 1 and the
    others have none. With positions as ``seeds`` the results there have cotangents. ``units``: the
    cotangents are unit arrays, whose zeros stay zero. ``apart``: what is known of a derivative is
    multiplied first, and with the cotangent last.

    Raises DTypeError when a parameter of ``wrt`` is no float, ShapeError when ``seeds="ones"`` and
    the first result is no float scalar, NoGradientError when an op on the way to it has no
    derivative.
    """
    return _pulled(function, wrt, seeds, None, units=units, apart=apart).function


def pull_body(
    body: Function,
    wrt: Sequence[int],
    seeds: Sequence[int],
    into: Sequence[int] = (),
    masked: Sequence[int] = (),
    masks_of: Sequence[int] = (),
) -> Pulled:
    """Return :func:`vjp` of a body, where parts are added in place, with masks.

    Parameters: those of the vjp, then more in this order. For each of ``into``, parameters of
    ``wrt``: what its cotangent is added to. For each of ``masked``, which count among the seeds: a
    bool of its shape, false where the seed is a zero that stays zero. For each of ``masks_of`` that
    is in ``into``: such a bool of what is added to. The last results are such bools of the
    cotangents of the parameters at ``masks_of``.
    """
    return _pulled(body, wrt, seeds, into, masked, masks_of, apart=True)


def _pulled(
    function: Function,
    wrt: Sequence[int],
    seeds: Literal["ones", "params"] | Sequence[int],
    into: Sequence[int] | None,
    masked: Sequence[int] = (),
    masks_of: Sequence[int] = (),
    units: bool = False,
    apart: bool = False,
) -> Pulled:
    function = open_ruleless(function)
    zeros.check_wrt(function, wrt)
    seeded = _seeded(function, seeds)
    active = active_values(function, wrt, seeded)
    check_constants(function, wrt, active)
    builder = Builder()
    params: list[Value] = []

    def param(type_: Type) -> Value:
        params.append(builder.param(len(params), type_))
        return params[-1]

    with builder:
        given = [param(type_) for type_ in function.param_types]
        new = dict(zip(function.params, given))
        walk = _Reverse(function, active, new, into is not None, apart)
        walk.run_forward(builder)
        seedings = [
            Cotangent(build.ones_like(result) if seeds == "ones" else param(result.type))
            for result in seeded
        ]
        names = [] if seeds == "ones" else [f"ct{i}" for i in range(len(seeded))]
        starts = {position: param(function.param_types[position]) for position in into or ()}
        names += [f"sum{i}" for i in range(len(starts))]
        for i in masked:
            names.append(f"mask{i}")
            mask = Mask(condition=param(seeded[i].type.with_dtype(DType.BOOL)))
            seedings[i] = Cotangent(seedings[i].value, mask)
        for i, (position, start) in enumerate(starts.items()):
            mask = nowhere(start)  # whether there is a mask is up to what is added
            if position in masks_of:
                names.append(f"mask_of_sum{i}")
                mask = Mask(condition=param(start.type.with_dtype(DType.BOOL)))
            walk.sums.start(function.params[position], Cotangent(start, mask))
        for result, seeding in zip(seeded, seedings):
            seed = unit(seeding.value) if units else seeding
            walk.sums.add(result, seed.apart() if apart else seed)
        walk.run_backward(builder)
        totals = {position: walk.total(function.params[position]) for position in wrt}
        made = builder.function(
            f"{function.name}_{'grad' if seeds == 'ones' else 'vjp'}",
            params,
            [walk.new[result] for result in function.results]
            + [totals[position].solid() for position in wrt]
            + [_mask_of(totals[position]) for position in masks_of],
            (*function.names, *names),
            function.location,
        )
        masks = frozenset(position for position in wrt if totals[position].mask is not None)
        return Pulled(made, masks)


def _seeded(function: Function, seeds: str | Sequence[int]) -> list[Value]:
    if not isinstance(seeds, str):
        return [function.results[position] for position in seeds]
    if seeds == "params":
        return [result for result in function.results if result.type.dtype.is_float]
    first = function.results[0]
    if first.type.shape or not first.type.dtype.is_float:
        raise ShapeError(
            f"{function.name}: a gradient is of a float scalar, not of {first.type}",
            at=function.location,
            help="sum it to a scalar, or use gradc.jacobian or gradc.vjp",
        )
    return [first]


def _mask_of(cotangent: Cotangent) -> Value:
    return (cotangent.mask or everywhere(cotangent.value)).value()


def _forks(function: Function, active: set[Value]) -> set[Node]:
    """Return products of two values that have no active parameter in common.

    What is known behind one has to do with what is known before it in no way but as a factor. So
    it is multiplied with the cotangent there, once for both operands, unless a factor may cancel
    against a divisor.
    """
    bit = (1 << i for i in range(len(function.params)))
    behind = {param: next(bit) if param in active else 0 for param in function.params}
    found = set()
    for node in function.body:
        of = [behind[operand] for operand in node.operands]
        if node.op.name == "mul" and all(of) and not of[0] & of[1]:
            found.add(node)
        union = functools.reduce(operator.or_, of, 0)
        behind.update((result, union) for result in node.results)
    return found


def _begun_anew(cotangent: Cotangent, operands: Sequence[Value]) -> Cotangent:
    """Return the cotangent of a fork as a source, where that is some product and no quotient."""
    factor = cotangent.factor
    while factor.op.name == "neg":
        (factor,) = factor.operands
    if scalar_constant(factor) is not None:
        return cotangent  # what else is a multiple of this source can still be added as factors
    if any(map(has_quotient, (cotangent.factor, *operands))):
        return cotangent
    return cotangent.anew()


class _Reverse:
    """One function being run forward, and then backward, in the graph being built."""

    def __init__(
        self,
        function: Function,
        active: set[Value],
        new: dict[Value, Value],
        in_place: bool,
        apart: bool,
    ) -> None:
        self.function = function
        self.active = active
        self.new = new
        self.apart = apart
        self.forks = _forks(function, active) if apart and in_place else set()
        self.sums = Sums(active, in_place)
        self.kept: dict[Node, Any] = {}

    def run_forward(self, builder: Builder) -> None:
        """Build the function's nodes; what keeps something for the way back does so."""
        for node in self.function.body:
            augmented = TABLE[node.op.name].augmented
            lines = self.function.locations.get(node, ())
            if augmented and any(result in self.active for result in node.results):
                with builder.at(lines):
                    made, self.kept[node] = augmented(self._site(node))
                for value in made:
                    builder.replace(value, lines)
                self.new.update(zip(node.results, made, strict=True))
            else:
                builder.copy(node, self.new, lines, as_it_is=True)

    def run_backward(self, builder: Builder) -> None:
        """Pull the cotangents of the results back to the parameters."""
        for node in reversed(self.function.nodes):
            if node.op.name != "param" and any(result in self.active for result in node.results):
                lines = derivatives(self.function.locations.get(node, ()), "g_")
                with builder.at(lines):
                    self._pull(node, lines)

    def total(self, param: Value) -> Cotangent:
        """Return the whole cotangent of a parameter."""
        found = self.sums.take(param, self.new[param])
        if found is None:
            zero = zeros.zeros(param.type)
            return Cotangent(zero, nowhere(zero))
        return found

    def _pull(self, node: Node, lines: Lines) -> None:
        """Add what one node contributes to its operands' cotangents."""
        cotangents = [self.sums.take(result, self.new[result]) for result in node.results]
        if all(cotangent is None for cotangent in cotangents):
            return
        for each in cotangents:
            if each is not None:
                build.active().replace(each.factor, lines)
        if self.apart:
            cotangents = [each and each.apart() for each in cotangents]
        site = self._site(node)
        if node in self.forks and cotangents[0] is not None:
            cotangents = [_begun_anew(cotangents[0], site.operands)]
        if cotangents[0] is not None and self.sums.add_part(node, site.operands, cotangents[0]):
            return
        derivative = derivative_of(node, self.function)
        lent: list[Cotangent | None] = [None] * len(node.operands)
        if derivative.accumulates:
            lent = self.sums.lend(node.operands)
        site = site._replace(
            results=tuple([self.new[result] for result in node.results]),
            kept=self.kept.get(node),
            in_place=self.sums.in_place,
            totals=lent,
        )
        assert derivative.reverse is not None
        self.sums.settle(node.operands, lent, derivative.reverse(site, cotangents))

    def _site(self, node: Node) -> Site:
        return Site(
            node.op,
            (),
            tuple([self.new[operand] for operand in node.operands]),
            node.attributes,
            tuple([self.sums.wants(operand) for operand in node.operands]),
            tuple([result in self.active for result in node.results]),
        )
