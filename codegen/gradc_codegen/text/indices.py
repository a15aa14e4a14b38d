"""What an index is: one number for all lanes, or one for each.

Inside a loop that runs several iterations at once, a register holds either what all lanes have in
common or a vector of one element a lane. An index is a number, a :class:`Lane` (a start and a step)
or a vector of any numbers.
"""

from __future__ import annotations


class Lane(str):
    """An index that moves with the lane: ``start + step * lane``."""

    __slots__ = ("origin", "step")

    origin: str
    step: str

    def __new__(cls, origin: str, step: str) -> Lane:
        """Return the index; its text is unlike that of all others."""
        made = super().__new__(cls, f"{origin} + {step} lane")
        made.origin, made.step = origin, step
        return made


def is_vector(register: str) -> bool:
    """Whether a register, or a literal, has an element for each lane."""
    return register.startswith(("%v", "splat", "<"))


def varies(index: str) -> bool:
    """Whether an index differs from lane to lane."""
    return isinstance(index, Lane) or is_vector(index)


def is_number(text: str) -> bool:
    """Whether an index is a number that is known now."""
    return text[0] not in "%s<" and not isinstance(text, Lane)


def first_lanes(count: int, lanes: int) -> str:
    """Return the mask of the first lanes."""
    return f"<{', '.join(f'i1 {str(lane < count).lower()}' for lane in range(lanes))}>"
