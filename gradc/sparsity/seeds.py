"""By how many seeds a Jacobian is made, where it is not by all unit arrays."""

from __future__ import annotations

from typing import NamedTuple

from gradc_ir.core.sizes import Size


class Seeds(NamedTuple):
    """How many tangents and cotangents a Jacobian is made by, and how many of its elements."""

    forward: Size
    reverse: Size
    elements: Size
