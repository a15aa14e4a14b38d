"""Reverse mode of bodies that run once: the branches of a cond, what a checkpoint runs again."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from gradc.autodiff.cotangents.mask import Mask, either, on_demand
from gradc.autodiff.cotangents.masks import Cotangent
from gradc.autodiff.reverse import Pulled, pull_body
from gradc.autodiff.table import Cotangents, Site
from gradc.derivatives.control.layout import arranged, begun, reads
from gradc_ir.core.graph import Function, Value

# builds the node of these bodies and operands
Run: TypeAlias = Callable[[Sequence[Function], Sequence[Value]], Sequence[Value]]


class Bodies:
    """The reverse mode of bodies of which one runs, once.

    Parameters
    ----------
    site: where they stand.
    bodies: all take the same operands.
    wrt: which of these have cotangents.
    cotangents: those of the results.
    run: how one of the bodies is run.
    first: how many operands of the node come before the bodies'.
    """

    def __init__(
        self,
        site: Site,
        bodies: Sequence[Function],
        wrt: Sequence[int],
        cotangents: Cotangents,
        run: Run,
        first: int = 0,
    ) -> None:
        self._site = site
        self._bodies = bodies
        self._wrt = wrt
        self._run = run
        self._first = first
        self._seeds = [i for i, cotangent in enumerate(cotangents) if cotangent is not None]
        self._given = [cotangent for cotangent in cotangents if cotangent is not None]
        self._into = [i for i in wrt if site.totals[first + i] is not None]
        self._masked = [i for i, cotangent in enumerate(self._given) if cotangent.mask is not None]

    @functools.cached_property
    def _pulled(self) -> list[Pulled]:
        return self._pull()

    def masked(self, position: int) -> list[bool]:
        """Return in which bodies an operand's cotangent has a mask, or is zero."""
        return [position in each.masked for each in self._pulled]

    def pull(self, known: Mapping[int, Mask] = MappingProxyType({})) -> Cotangents:
        """Return the cotangents of the node's operands, with their totals.

        ``known`` are masks for operands of the bodies for which none need be made.
        """
        site, first = self._site, self._first
        functions = [each.function for each in self._pulled]
        values = [cotangent.solid() for cotangent in self._given]
        values += [begun(site, first + i) for i in self._into]
        results = range(len(self._bodies[0].results), len(functions[0].results))
        found = self._run_pulled(functions, values, results)
        masks = self._made_masks([i for i in self._wrt if i not in known and any(self.masked(i))])
        gradients: list[Cotangent | None] = [None] * len(site.operands)
        for i, value in zip(self._wrt, found):
            mask = masks.get(i)
            if i in known:
                total = site.totals[first + i]
                mask = either(total.mask, known[i]) if total else known[i]
            gradients[first + i] = Cotangent(value, mask)
        return gradients

    def _pull(self, masks_of: Sequence[int] = ()) -> list[Pulled]:
        return [
            pull_body(body, self._wrt, self._seeds, self._into, self._masked, masks_of)
            for body in self._bodies
        ]

    def _made_masks(self, masked: Sequence[int]) -> dict[int, Mask]:
        """Return masks, with the totals', of operands that have one in a body."""
        own = [i for i in masked if i not in self._into or self._total_mask(i) is not None]
        return on_demand(own, lambda position: dict(zip(own, self._run_masks(own))))

    def _run_masks(self, own: Sequence[int]) -> Sequence[Value]:
        pulled = [each.function for each in self._pull(own)]
        masks = [mask.value() for i in own if (mask := self._total_mask(i)) is not None]
        last = len(pulled[0].results)
        results = range(last - len(own), last)
        return self._run_pulled(pulled, None, results, masks)

    def _run_pulled(
        self,
        pulled: Sequence[Function],
        values: Sequence[Value] | None,
        results: range,
        masks: Sequence[Value] = (),
    ) -> Sequence[Value]:
        """Run pulled bodies to these results; without ``values``, those of masks alone.

        ``masks`` are those of what is added to. Masks of cotangents that no body reads are not
        made.
        """
        known = len(self._bodies[0].params)
        end = known + len(self._seeds) + len(self._into)
        read = [i for i in range(len(self._masked)) if any(reads(f, end + i) for f in pulled)]
        first = end + len(self._masked)
        params = [
            *range(known if values is None else end),
            *(end + i for i in read),
            *range(first, first + len(masks)),
        ]
        given = [self._given[self._masked[i]].mask for i in read]
        operands = [*self._site.operands[self._first :], *(values or ())]
        operands += [mask.value() for mask in given if mask is not None]
        return self._run([arranged(f, params, results) for f in pulled], [*operands, *masks])

    def _total_mask(self, position: int) -> Mask | None:
        total = self._site.totals[self._first + position]
        return total.mask if total else None
