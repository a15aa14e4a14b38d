"""The formats of the floating-point numbers that the emitted functions are of."""

from __future__ import annotations

from gradc_ir.classes.quick import dataclass
from gradc_ir.core.types import DType


@dataclass(frozen=True)
class Format:
    """A binary floating-point format of IEEE 754.

    Parameters
    ----------
    width: bits of a number.
    fraction: bits behind the leading one.
    """

    dtype: DType
    suffix: str
    width: int
    fraction: int

    @property
    def bias(self) -> int:
        """The exponent field of 1."""
        return (1 << (self.width - self.fraction - 2)) - 1

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number whose leading bit is not stored."""
        return float(2.0 ** (1 - self.bias))

    @property
    def unit_shift(self) -> float:
        """A number so large that one added to it moves its last bit, and of either sign may be.

        Adding it rounds to an integer, ties to even, which is then in the low bits of the sum.
        """
        return 1.5 * 2.0**self.fraction

    @property
    def fraction_mask(self) -> int:
        """The bits behind the leading one."""
        return (1 << self.fraction) - 1

    @property
    def one_bits(self) -> int:
        """The bits of 1."""
        return self.bias << self.fraction


FORMATS = {
    DType.F64: Format(DType.F64, "f64", 64, 52),
    DType.F32: Format(DType.F32, "f32", 32, 23),
}
