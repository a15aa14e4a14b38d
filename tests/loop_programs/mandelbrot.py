"""How fast points leave the Mandelbrot set, by while_loop, and the same with complex arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

import gradc

FAR = 1e4  # far enough that the smoothed count hardly depends on it


def escape(x: Any, y: Any, limit: int) -> Any:
    """Return the number of steps and the last point of z -> z * z + (x + iy), from 0."""

    def inside(state: Any) -> Any:
        a, b, count = state
        return np.logical_and(a * a + b * b <= FAR, count < limit)

    def step(state: Any) -> Any:
        a, b, count = state
        return a * a - b * b + x, 2 * a * b + y, count + 1

    return gradc.while_loop(inside, step, (np.zeros_like(x), np.zeros_like(y), 0))


def count(x: Any, y: Any, limit: int = 60) -> Any:
    """Return after how many steps a point has left, ``limit`` if it has not."""
    return escape(x, y, limit)[2]


def smooth_count(x: Any, y: Any, limit: int = 60) -> Any:
    """Return the count, made continuous by how far the last step went; ``limit`` inside."""
    a, b, n = escape(x, y, limit)
    return gradc.cond(
        a * a + b * b > FAR,
        lambda square: n + 1.0 - np.log2(0.5 * np.log2(square)),
        lambda _: 1.0 * limit,
        a * a + b * b,
    )


def smooth_count_by_hand(c: Any, limit: int = 60) -> tuple[Any, Any, Any]:
    """Return counts, smooth counts and their derivatives (by x, minus i times by y) at points."""
    z, dz = np.zeros_like(c), np.zeros_like(c)
    counts = np.zeros(c.shape, int)
    for _ in range(limit):
        left = np.abs(z) ** 2 > FAR
        dz = np.where(left, dz, 2 * z * dz + 1)
        z = np.where(left, z, z * z + c)
        counts += ~left
    left = np.abs(z) ** 2 > FAR
    far = np.where(left, z, 10.0)
    smooth = np.where(left, counts + 1 - np.log2(np.log2(np.abs(far))), limit)
    # d log2(log2 r) / dc, where r = abs(z) and d(log r) = Re(dz / z dc)
    slope = np.where(left, -(dz / far) / (np.log(np.abs(far)) * np.log(2)), 0)
    return counts, smooth, slope
