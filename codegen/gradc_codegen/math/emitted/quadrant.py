"""What depends on the right angles that were taken off an angle: constants, and a sign."""

from __future__ import annotations

from gradc_codegen.math.emitted.builder import Bits, Float
from gradc_codegen.math.emitted.permuted import chosen, entries


class Quadrant:
    """The number of right angles in an angle.

    A constant that depends on it is one instruction where a machine permutes, and a choice between
    two elsewhere. The sign, too, is in constants where a table has room for it.
    """

    def __init__(self, bits: Bits) -> None:
        """Take the number as what the lowest bits hold."""
        self.bits = bits
        self._entries = entries(bits.body)

    def constant(self, even: float, odd: float) -> Float:
        """Return a constant for even numbers of right angles or one for odd numbers."""
        if not self._entries:
            known = Float(self.bits.body, "")
            return self.bits.is_odd.select(known.number(odd), known.number(even))
        return chosen((even, odd) * (self._entries // 2), self.bits)

    def signed(self, even: float, odd: float) -> Float:
        """Return such a constant, for two and three right angles negative where that is free."""
        if not self._has_signs:
            return self.constant(even, odd)
        return chosen((even, odd, -even, -odd), self.bits)

    def with_sign(self, x: Float) -> Float:
        """Return a number, for two and three right angles negative unless its constants were."""
        return x if self._has_signs else with_sign(x, self.bits << (x.format.width - 2))

    @property
    def _has_signs(self) -> bool:
        return self._entries > 2


def with_sign(x: Float, bits: Bits) -> Float:
    """Return the number with its sign changed where the highest bit is set."""
    return (x.bits ^ (bits & (1 << (x.format.width - 1)))).number
