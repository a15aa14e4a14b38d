"""A loop as its derivatives see it, and its body with tangents."""

from __future__ import annotations

from collections.abc import Sequence

from gradc.autodiff import active as activity
from gradc.autodiff import zeros
from gradc.autodiff.forward import jvp
from gradc.autodiff.parameters import with_parameters
from gradc.autodiff.table import Site, Tangents
from gradc.derivatives.control.layout import arranged
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.graphs.control_flow import Roles


class Loop(NamedTuple):
    """A scan or a while, as far as its derivative is concerned.

    Parameters
    ----------
    site: where it stands.
    body: takes consts, carries and rows to carries and rows.
    consts, carries: how many there are.
    first: how many operands come before the body's consts.
    active: what is active in the body.
    """

    site: Site
    body: Function
    consts: int
    carries: int
    first: int
    active: activity.Active

    @classmethod
    def of(cls, site: Site) -> Loop:
        """Return the loop of a site: active is what is wanted of it and asked for."""
        roles = Roles.by_name(site.op.name, site.attributes, len(site.operands))
        assert roles is not None
        (body,), first, consts, carries = roles
        asked = site.asked[: len(body.results)]
        active = activity.active_in_body(body, site.wanted[first:], asked, consts, carries)
        return cls(site, body, consts, carries, first, active)

    def run(
        self,
        body: Function,
        consts: Sequence[Value],
        init: Sequence[Value],
        rows: Sequence[Value],
        length: Size | None,
    ) -> Sequence[Value]:
        """Return the results of the loop with another body, as many steps, perhaps more carries."""
        given = self.site.attributes
        if self.site.op.name == "while":
            condition: Function = given["condition"]
            more = [value.type for value in init[self.carries :]]
            if more:
                types, read = condition.param_types, range(len(condition.params))
                condition = with_parameters(condition, [*types, *more], read)
            asked = self.site.operands[: self.first]
            return build.while_loop(condition, body, asked, consts, init, length=length)
        return build.scan(
            body,
            consts,
            init,
            rows,
            length=length,
            reverse=given["reverse"],
            count=self.site.operands[0] if given["counted"] else None,
            checkpoint=given["checkpoint"],
        )

    @property
    def operands(self) -> tuple[Value, ...]:
        """The operands that the body's parameters stand for."""
        return self.site.operands[self.first :]

    @property
    def active_consts(self) -> list[int]:
        """The positions among the body's parameters of consts with a cotangent."""
        return [i for i in range(self.consts) if self.active.params[i]]

    @property
    def active_carries(self) -> list[int]:
        """Which carries, counted from 0, have a tangent."""
        return [i for i in range(self.carries) if self.active.results[i]]

    @property
    def active_rows(self) -> list[int]:
        """The positions among the body's parameters of rows with a cotangent."""
        first = self.consts + self.carries
        return [i for i in range(first, len(self.body.params)) if self.active.params[i]]

    @property
    def active_results(self) -> list[int]:
        """The positions of the body's results with a tangent: carries, then rows."""
        return [i for i, active in enumerate(self.active.results) if active]


class Pushed(NamedTuple):
    """A loop with tangents: its body, and its consts, initial carries and rows."""

    body: Function
    consts: list[Value]
    init: list[Value]
    rows: list[Value]


def pushed(loop: Loop, tangents: Tangents) -> Pushed:
    """Return the loop that carries the tangents of active carries along, each group after its own.

    The body takes consts, their tangents, carries, theirs, rows and theirs, and so do its results
    follow each other. ``tangents`` are those of ``loop.operands``.
    """
    body, wrt, asked = loop.body, loop.active.wrt, loop.active_results
    both = jvp(body, wrt, asked)
    place = {param: len(body.params) + i for i, param in enumerate(wrt)}
    end = loop.consts + loop.carries
    groups = [range(loop.consts), range(loop.consts, end), range(end, len(body.params))]
    order = [
        position
        for group in groups
        for position in (*group, *(place[param] for param in group if param in place))
    ]
    carried = len(loop.active_carries)
    first = len(body.results)
    results = [
        *range(loop.carries),
        *range(first, first + carried),
        *range(loop.carries, first),
        *range(first + carried, first + len(asked)),
    ]
    operands = [
        [
            *(loop.operands[i] for i in group),
            *(zeros.solid(tangents[i], loop.operands[i].type) for i in group if i in place),
        ]
        for group in groups
    ]
    return Pushed(arranged(both, order, results), *operands)


def sorted_out(
    loop: Loop, found: Sequence[Value]
) -> tuple[list[Value], list[Value | None], list[Value]]:
    """Return results, tangents and what else there is from the results of a pushed loop."""
    rest = iter(found)

    def group(positions: range) -> tuple[list[Value], list[Value | None]]:
        values = [next(rest) for _ in positions]
        return values, [next(rest) if loop.active.results[i] else None for i in positions]

    carries, their_tangents = group(range(loop.carries))
    rows, tangents_of_rows = group(range(loop.carries, len(loop.body.results)))
    return [*carries, *rows], [*their_tangents, *tangents_of_rows], list(rest)
