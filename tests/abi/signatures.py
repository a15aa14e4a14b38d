"""Ten functions whose headers are kept for every version of the ABI: none changes unseen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import gradc

OFFSETS = np.array([0.5, -1.25, 2.0])


def rosen(x: Any, a: Any) -> Any:
    """Of a symbolic size, and a number."""
    return np.sum(a * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def plane(x: Any) -> Any:
    """Of static sizes, with all second derivatives."""
    return np.sum(x[:, 0] ** 3 * x[:, 1])


def layer(p: Any, x: Any) -> Any:
    """Of a nest, whose entries stand as they were written."""
    return np.sum(np.tanh(x @ p["w"] + p["b"]))


def single(x: Any, scale: Any) -> Any:
    """Of floats of 32 bits."""
    return np.sum(np.exp(-scale * x * x))


def chosen(table: Any, index: Any, mask: Any) -> Any:
    """Of integers and truth values."""
    return np.sum(np.where(mask, table[index], np.float64(0.0)))


def moments(x: Any) -> Any:
    """With results that have names."""
    mean = np.mean(x, axis=0)
    return {"mean": mean, "spread": (np.sum((x - mean) ** 2, axis=0), np.max(x))}


def arm(q: Any, u: Any) -> Any:
    """Of vectors, with Jacobians by both."""
    angles = np.cumsum(q)
    return np.array([np.sum(u * np.cos(angles)), np.sum(u * np.sin(angles))])


def directional(x: Any) -> Any:
    """In both modes, along directions that the caller gives."""
    return np.sum(np.log(1 + np.exp(x))), np.cumsum(x) * x[0]


def newton(x: Any, tolerance: Any) -> Any:
    """With a loop whose steps only the program knows, hence a tape."""
    return gradc.while_loop(
        lambda y: abs(y * y - x) > tolerance, lambda y: 0.5 * (y + x / y), np.float64(1.0) + 0 * x
    )


def shifted(x: Any) -> Any:
    """With an array from outside of it, which becomes an argument."""
    return np.sum(np.log(1 + np.exp(x @ OFFSETS)))


class Case(NamedTuple):
    """A function, and how it is exported."""

    function: Callable[..., Any]
    spec: str
    of: tuple[str, ...]
    wrt: Any = None

    @property
    def name(self) -> str:
        """What it is called in C."""
        return self.function.__name__

    def export(self, out: Path, **options: Any) -> list[Path]:
        """Write its object and header."""
        compiled = gradc.compile(self.function)
        return compiled.export(
            self.name, spec=self.spec, of=self.of, wrt=self.wrt, out=out, **options
        )


CASES = (
    Case(rosen, "x: f64[n], a: f64", ("value_and_grad", "hvp"), ("x", "a")),
    Case(plane, "x: f64[3,2]", ("value_and_grad", "grad", "hessian")),
    Case(layer, "p: {w: f64[3], b: f64}, x: f64[n,3]", ("value_and_grad",)),
    Case(single, "x: f32[n], scale: f32", ("value_and_grad",), ("x", "scale")),
    Case(chosen, "table: f64[k], index: i64[n], mask: bool[n]", ("value_and_grad",)),
    Case(moments, "x: f64[n,2]", ("value",)),
    Case(arm, "q: f64[n], u: f64[n]", ("jacobian",), ("q", "u")),
    Case(directional, "x: f64[n]", ("jvp", "vjp")),
    Case(newton, "x: f64, tolerance: f64", ("value_and_grad",)),
    Case(shifted, "x: f64[n,3]", ("value_and_grad",)),
)
