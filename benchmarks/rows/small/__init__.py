"""Rows of small fixed sizes: each alone, and as a batch of known and of unknown number."""

from benchmarks.rows.row import Row
from benchmarks.rows.small import (
    arm_of_seven,
    arm_of_three,
    cart_pole,
    inertia,
    kalman,
    network,
    pharmacokinetics,
    pose_error,
    quadrotor,
)
from benchmarks.rows.small.points import rows_of

ROWS: tuple[Row, ...] = tuple(
    row
    for module in (
        arm_of_seven,
        arm_of_three,
        quadrotor,
        cart_pole,
        inertia,
        pose_error,
        kalman,
        network,
        pharmacokinetics,
    )
    for point in module.POINTS
    for row in rows_of(point)
)
