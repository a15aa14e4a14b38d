"""Optimisers with sparse derivatives: cyipopt, CasADi's IPOPT and SciPy find the same minima.

The problems are a control problem and three in the manner of CUTEst's: LUKVLE1, CLNLBEAM as loops,
and the torsion of a bar within bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.optimize import Bounds, NonlinearConstraint, minimize

import gradc

pytestmark = pytest.mark.filterwarnings("ignore")


class Problem(NamedTuple):
    """A function of a vector, others that lie between two numbers, a start and its bounds."""

    f: Callable[[Any], Any]
    g: Callable[[Any], Any]
    start: np.ndarray
    low: np.ndarray
    high: np.ndarray
    within: tuple[float, float] = (0.0, 0.0)


STAGES = 30


def effort(z: Any) -> Any:
    x, angle, v, spin, force = z.reshape(STAGES, 5).T
    away = x**2 + 10 * (1 - np.cos(angle)) + 0.1 * v**2 + 0.1 * spin**2
    return 0.05 * np.sum(away) + 0.001 * np.sum(force**2)


def defects(z: Any) -> Any:
    x, angle, v, spin, force = z.reshape(STAGES, 5).T
    sine, cosine = np.sin(angle), np.cos(angle)
    mass = 1.0 + 0.3 * sine**2
    a = (force + 0.3 * sine * (0.5 * spin**2 - 9.81 * cosine)) / mass
    b = -(force * cosine + 0.15 * spin**2 * cosine * sine - 12.753 * sine) / (0.5 * mass)
    pairs = zip((x, angle, v, spin), (v, spin, a, b))
    return np.concatenate([s[1:] - s[:-1] - 0.025 * (d[1:] + d[:-1]) for s, d in pairs])


def control() -> Problem:
    high = np.tile([2.0, np.inf, np.inf, np.inf, 20.0], STAGES)
    low = -high
    low[:4] = high[:4] = [0.5, 0.6, 0.0, 0.0]
    return Problem(effort, defects, np.zeros(5 * STAGES), low, high)


def chained(x: Any) -> Any:
    return np.sum(100 * (x[:-1] ** 2 - x[1:]) ** 2 + (x[:-1] - 1) ** 2)


def trigonometric(x: Any) -> Any:
    a, b, c = x[:-2], x[1:-1], x[2:]
    return 3 * b**3 + 2 * c - 5 + np.sin(b - c) * np.sin(b + c) + 4 * b - a * np.exp(a - b) - 3


def chain() -> Problem:
    start = np.where(np.arange(60) % 2 == 0, -1.2, 1.0)
    return Problem(chained, trigonometric, start, np.full(60, -np.inf), np.full(60, np.inf))


PIECES = 40


def bending(z: Any) -> Any:
    angle, _, moment = z.reshape(3, PIECES + 1)
    total = 0.0
    for i in range(PIECES):
        total += 0.5 * (moment[i + 1] ** 2 + moment[i] ** 2) / PIECES
        total += 175.0 * (np.cos(angle[i + 1]) + np.cos(angle[i])) / PIECES
    return total


def shape(z: Any) -> Any:
    angle, place, moment = z.reshape(3, PIECES + 1)
    out = np.zeros((2, PIECES), z.dtype)
    for i in range(PIECES):
        sines = np.sin(angle[i + 1]) + np.sin(angle[i])
        out[0, i] = place[i + 1] - place[i] - 0.5 * sines / PIECES
        out[1, i] = angle[i + 1] - angle[i] - 0.5 * (moment[i + 1] + moment[i]) / PIECES
    return out.ravel()


def beam() -> Problem:
    count = PIECES + 1
    bent = 0.05 * np.cos(np.arange(count) / PIECES)
    high = np.repeat([1.0, 0.05, np.inf], count)
    low = -high
    for end in (count, 2 * count - 1):
        low[end] = high[end] = 0.0
    return Problem(bending, shape, np.concatenate([bent, bent, 0 * bent]), low, high)


SIDE = 10


def twisted(u: Any) -> Any:
    whole = np.zeros((SIDE + 2, SIDE + 2), u.dtype)
    whole[1:-1, 1:-1] = u.reshape(SIDE, SIDE)
    down, right = whole[1:] - whole[:-1], whole[:, 1:] - whole[:, :-1]
    return 0.5 * (np.sum(down**2) + np.sum(right**2)) - 5 * np.sum(u) / (SIDE + 1) ** 2


def on_the_edge(u: Any) -> Any:
    return (u[1:] - u[:-1])[::SIDE]


def bar() -> Problem:
    away = np.minimum(np.arange(1, SIDE + 1), np.arange(SIDE, 0, -1)) / (SIDE + 1)
    high = np.minimum(away[:, None], away).ravel()
    return Problem(twisted, on_the_edge, np.zeros(SIDE**2), -high, high, (-0.04, 0.04))


PROBLEMS = {"control": control, "chain": chain, "beam": beam, "bar": bar}
# what CasADi's IPOPT finds with derivatives of its own
LOWEST = {
    "control": 5.402305094401585,
    "chain": 6.2324586324379885,
    "beam": 339.99370500220203,
    "bar": -0.39844817056739257,
}


@pytest.fixture(params=PROBLEMS)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.mark.slow
def test_trust_constr(name: str) -> None:
    f, g, start, low, high, within = PROBLEMS[name]()
    value, constraints = gradc.compile(f), gradc.compile(g)
    weighted = gradc.compile(lambda x, multipliers: multipliers @ g(x))
    found = minimize(
        value,
        start,
        jac=value.grad,
        hess=gradc.sparse_hessian(value),
        method="trust-constr",
        bounds=Bounds(low, high) if np.isfinite(low).any() else None,
        constraints=NonlinearConstraint(
            constraints,
            *within,
            jac=gradc.sparse_jacobian(constraints),
            hess=gradc.sparse_hessian(weighted),
        ),
        options={"gtol": 1e-9, "barrier_tol": 1e-10, "initial_tr_radius": 0.1},
    )
    assert found.constr_violation < 1e-8
    assert found.fun == pytest.approx(LOWEST[name], rel=1e-6, abs=1e-8)


def test_cyipopt(name: str) -> None:
    cyipopt = pytest.importorskip("cyipopt")
    f, g, start, low, high, within = PROBLEMS[name]()
    value, constraints = gradc.compile(f), gradc.compile(g)
    lagrangian = gradc.compile(lambda x, multipliers, factor: factor * f(x) + multipliers @ g(x))
    count = len(constraints(start))

    class Given:
        objective = staticmethod(lambda x: value(x))
        gradient = staticmethod(lambda x: value.grad(x))
        constraints = staticmethod(lambda x: constraints(x))
        jacobian = staticmethod(lambda x: constraints.jacobian_values(x))
        hessian = staticmethod(lambda *at: lagrangian.hessian_values(*at))
        jacobianstructure = staticmethod(lambda: constraints.jacobian_structure(start))
        hessianstructure = staticmethod(
            lambda: lagrangian.hessian_structure(start, np.zeros(count), 1.0)
        )

    bounds = [np.full(count, number) for number in within]
    problem = cyipopt.Problem(len(start), count, Given(), low, high, *bounds)
    problem.add_option("print_level", 0)
    problem.add_option("tol", 1e-10)
    _, told = problem.solve(start)
    assert told["status"] == 0
    assert told["obj_val"] == pytest.approx(LOWEST[name], rel=1e-8, abs=1e-8)


def by_casadi(problem: Problem, is_ours: bool) -> tuple[float, list[Any]]:
    """Return the least value that CasADi's IPOPT finds, and where derivatives are not zero."""
    import casadi

    f, g, start, low, high, within = problem
    if is_ours:
        x = casadi.MX.sym("x", len(start))
        made = {"f": gradc.casadi_external(f, start)(x), "g": gradc.casadi_external(g, start)(x)}
    else:
        x = casadi.SX.sym("x", len(start))
        symbols = np.array(casadi.vertsplit(x), dtype=object)
        made = {"f": f(symbols), "g": casadi.vertcat(*g(symbols))}
    options = {"ipopt.print_level": 0, "print_time": False, "ipopt.sb": "yes", "ipopt.tol": 1e-10}
    solver = casadi.nlpsol("solver", "ipopt", {"x": x, **made}, options)
    found = solver(x0=start, lbx=low, ubx=high, lbg=within[0], ubg=within[1])
    assert solver.stats()["success"]
    asked = (("nlp_jac_g", 1), ("nlp_hess_l", 0))
    patterns = [solver.get_function(name).sparsity_out(place) for name, place in asked]
    return float(found["f"]), patterns


def test_ipopt_of_casadi(name: str) -> None:
    pytest.importorskip("casadi")
    value, patterns = by_casadi(PROBLEMS[name](), is_ours=True)
    assert value == pytest.approx(LOWEST[name], rel=1e-8, abs=1e-8)
    wanted, theirs = by_casadi(PROBLEMS[name](), is_ours=False)
    assert value == pytest.approx(wanted, rel=1e-8, abs=1e-8)
    assert patterns == theirs
