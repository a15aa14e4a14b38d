"""Which values of a region lose their digits near a point, and which of them to replace."""

from __future__ import annotations

from collections.abc import Iterable

from gradc.rules.series import numbers
from gradc.rules.series.orders import NEVER, Errors, Growth, Growths, error
from gradc.rules.series.region import TRANSPARENT, Region
from gradc.rules.series.steps import ARITHMETIC, CONSTANT, UNKNOWN, VARIABLE
from gradc_ir.core.graph import Value

_WRITTEN_WITH_CARE = (
    ARITHMETIC | numbers.CONDITIONS.keys() | {VARIABLE, CONSTANT, UNKNOWN, "select", "abs"}
)


def roots(
    region: Region,
    growths: Growths,
    wanted: Iterable[Value],
    mended: Iterable[Value],
) -> list[Value]:
    """Return the values of a region to replace near a point, operands first.

    ``wanted``: the values that are needed outside of the region, operands first. ``mended``: those
    that are accurate already, whatever the ops that make them.
    """
    search = _Search(region, growths, mended)
    for value in wanted:
        search.look(value)
    return search.found


class _Search:
    def __init__(self, region: Region, growths: Growths, mended: Iterable[Value]) -> None:
        self.region = region
        self.growths = growths
        self.good = {
            step
            for value in mended
            if value is not region.variable
            for step in region.parts.get(value, {}).values()
        }
        self.errors = Errors(region, growths, self.good)
        self.found: list[Value] = []

    def look(self, value: Value) -> None:
        """Find the value that is guilty of another's error, and take it for accurate from now on.

        Factors, and terms that cancel nothing, are not replaced with it: what is replaced lower
        down serves others too.
        """
        if self._is_beside_one(value) and self._is_replaceable(value):
            self.found.append(value)
        while self._is_bad(value):
            parts = self.region.parts[value]
            if value.op.name in TRANSPARENT and value.operands[0] in self.region.parts:
                value = value.operands[0]
                continue
            guilty = [one for one in dict.fromkeys(value.operands) if self._is_bad(one)]
            if len(parts) > 1:
                before = len(self.found)
                for one in guilty:
                    self.look(one)
                if len(self.found) == before:
                    return
            elif len(guilty) == 1 and self._is_steady(guilty[0]) and not self._cancels(value):
                value = guilty[0]
            else:
                if self._is_replaceable(value):
                    self.found.append(value)
                    self.good.update(parts.values())
                    self.errors = Errors(self.region, self.growths, self.good)
                return

    def _is_beside_one(self, value: Value) -> bool:
        """Whether it is the same function as a value that is replaced, times something else."""
        parts = self.region.parts[value]
        steps = set(parts.values())
        if len(parts) > 1 or not any(self._steps(one) == steps for one in self.found):
            return False
        same: Value | None = value
        while same is not None:
            if same in self.found:
                return False
            same = next((one for one in same.operands if self._steps(one) == steps), None)
        return True

    def _steps(self, value: Value) -> set[int]:
        return set(self.region.parts.get(value, {}).values())

    def _is_bad(self, value: Value) -> bool:
        return any(
            self._is_lost(step, self.errors.of[step])
            for step in self.region.parts.get(value, {}).values()
        )

    def _is_lost(self, step: int, own: float | None) -> bool:
        growth = self.growths.of[step]
        return growth is not None and own is not None and own < growth.order < NEVER

    def _is_steady(self, value: Value) -> bool:
        """Whether a value is the same function all the way to the point, for all its conditions."""
        return not self.growths.unsteady or not any(
            self.growths.unsteady.intersection(self.region.cone(step))
            for step in self.region.parts[value].values()
        )

    def _cancels(self, value: Value) -> bool:
        """Whether a value is inaccurate even when its operands are not."""
        (at,) = self.region.parts[value].values()
        step, growth = self.region.steps[at], self.growths.of[at]
        assert growth is not None
        operands: list[tuple[Growth | None, float | None]] = []
        for operand in self.growths.taken.get(at, step.operands):
            one, own = self.growths.of[operand], self.errors.of[operand]
            operands.append((one, None if one is None or own is None else max(one.order, own)))
        return self._is_lost(at, error(step, growth.order, operands, self.errors.is_fragile[at]))

    def _is_replaceable(self, value: Value) -> bool:
        """Whether digits are lost that a user does not mean to lose.

        Where numbers only over- or underflow, a monomial of many factors knows better in which
        order they are multiplied.
        """
        ((monomial, at),) = self.region.parts[value].items()
        cone = self.region.cone(at)
        names = {self.region.steps[one].name for one in cone}
        if names <= _WRITTEN_WITH_CARE:
            return False
        if sum(abs(exponent) for _, exponent in monomial) <= 1:
            return True
        good = self.good - {at}
        digits = Errors(self.region, self.growths, good, with_ranges=False)
        return self._is_lost(at, digits.of[at])
