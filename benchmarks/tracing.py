"""How long tracing takes: the median of a realistic function of 200 lines, in milliseconds.

    python benchmarks/tracing.py [runs]

The function is one step of a model of a heart cell after ten Tusscher and others (2004), for a
cable of cells: gates with voltage-dependent rates, ionic currents, calcium in three stores, and
diffusion of the voltage. It uses helper functions, a dict of parameters, slices and assignment.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import numpy as np

from gradc.runtime.collector import collector_paused
from gradc.tracing import PythonNumber, trace
from gradc_ir.core.types import DType, Type

CELLS = 64
GAS, TEMPERATURE, FARADAY = 8314.472, 310.0, 96485.3415
THERMAL = GAS * TEMPERATURE / FARADAY


def gate(x: Any, half: float, slope: float) -> Any:
    """Return the steady state of a gate."""
    return 1.0 / (1.0 + np.exp((half - x) / slope))


def bell(x: Any, center: float, width: float, height: float) -> Any:
    """Return a time constant that is largest at a voltage."""
    return height * np.exp(-(((x - center) / width) ** 2))


def relax(x: Any, steady: Any, tau: Any, dt: Any) -> Any:
    """Return a gate after a time step, by Rush and Larsen."""
    return steady - (steady - x) * np.exp(-dt / tau)


def nernst(outside: float, inside: Any, charge: int = 1) -> Any:
    """Return the reversal potential of an ion."""
    return THERMAL / charge * np.log(outside / inside)


def saturating(x: Any, half: float, order: int = 1) -> Any:
    """Return a Hill function."""
    return x**order / (x**order + half**order)


def diffused(v: Any, rate: Any) -> Any:
    """Return the exchange with the neighbours; no current flows out at the ends."""
    out = np.zeros_like(v)
    out[1:-1] = v[2:] - 2 * v[1:-1] + v[:-2]
    out[0] = v[1] - v[0]
    out[-1] = v[-2] - v[-1]
    return rate * out


def step(state: Any, parameters: Any, dt: Any) -> Any:
    """Return the next state and a measure of the currents."""
    v = state["v"]
    sodium, potassium = state["sodium"], state["potassium"]
    calcium, store, cleft = state["calcium"], state["store"], state["cleft"]
    gates = state["gates"]
    p = parameters
    u = v / THERMAL
    e_na = nernst(p["na_out"], sodium)
    e_k = nernst(p["k_out"], potassium)
    e_ks = THERMAL * np.log((p["k_out"] + 0.03 * p["na_out"]) / (potassium + 0.03 * sodium))
    e_ca = nernst(p["ca_out"], calcium, 2)

    # the fast sodium current
    m, h, j = gates[0], gates[1], gates[2]
    m_steady = gate(v, -56.86, 9.03) ** 2
    alpha_m = gate(v, -60.0, 5.0)
    beta_m = 0.1 / (1.0 + np.exp((v + 35.0) / 5.0)) + 0.1 / (1.0 + np.exp((v - 50.0) / 200.0))
    tau_m = alpha_m * beta_m + 0.001
    h_steady = gate(-v, 71.55, 7.43) ** 2
    low = v < -40.0
    alpha_h = np.where(low, 0.057 * np.exp(-(v + 80.0) / 6.8), 0.0)
    beta_h_low = 2.7 * np.exp(0.079 * v) + 3.1e5 * np.exp(0.3485 * v)
    beta_h_high = 0.77 / (0.13 * (1.0 + np.exp(-(v + 10.66) / 11.1)))
    beta_h = np.where(low, beta_h_low, beta_h_high)
    tau_h = 1.0 / (alpha_h + beta_h)
    alpha_j_low = -2.5428e4 * np.exp(0.2444 * v) - 6.948e-6 * np.exp(-0.04391 * v)
    alpha_j_low = alpha_j_low * (v + 37.78) / (1.0 + np.exp(0.311 * (v + 79.23)))
    alpha_j = np.where(low, alpha_j_low, 0.0)
    beta_j_low = 0.02424 * np.exp(-0.01052 * v) / (1.0 + np.exp(-0.1378 * (v + 40.14)))
    beta_j_high = 0.6 * np.exp(0.057 * v) / (1.0 + np.exp(-0.1 * (v + 32.0)))
    beta_j = np.where(low, beta_j_low, beta_j_high)
    tau_j = 1.0 / (alpha_j + beta_j)
    conductance = p["g_na"] * m**3 * h * j
    i_na = conductance * (v - e_na)
    m_next = relax(m, m_steady, tau_m, dt)
    h_next = relax(h, h_steady, tau_h, dt)
    j_next = relax(j, h_steady, tau_j, dt)

    # the calcium current of type L
    d, f, f2 = gates[3], gates[4], gates[5]
    d_steady = gate(v, -8.0, 7.5)
    alpha_d = 1.4 * gate(v, -35.0, 13.0) + 0.25
    beta_d = 1.4 / (1.0 + np.exp((v + 5.0) / 5.0))
    gamma_d = gate(v, 50.0, 20.0)
    tau_d = alpha_d * beta_d + gamma_d
    f_steady = gate(-v, 20.0, 7.0)
    tau_f = (
        bell(v, -27.0, 15.0, 1102.5) + 200.0 * gate(-v, -13.0, 10.0) + 180.0 * gate(v, -30.0, 10.0)
    )
    tau_f = tau_f + 20.0
    f2_steady = 0.67 * gate(-v, 35.0, 7.0) + 0.33
    tau_f2 = (
        bell(v, -25.0, 13.0, 562.0) + 31.0 * gate(-v, -25.0, 10.0) + 80.0 * gate(v, -30.0, 10.0)
    )
    shifted = 2.0 * (v - 15.0) / THERMAL
    regular = np.where(np.abs(shifted) < 1e-6, 1.0, shifted)
    growth = np.expm1(regular)
    driving = (0.25 * cleft * np.exp(regular) - p["ca_out"]) / growth * regular
    f_cass = 0.6 / (1.0 + (cleft / 0.05) ** 2) + 0.4
    open_l = d * f * f2 * f_cass
    i_ca = p["g_ca"] * open_l * 2.0 * FARADAY * driving
    d_next = relax(d, d_steady, tau_d, dt)
    f_next = relax(f, f_steady, tau_f, dt)
    f2_next = relax(f2, f2_steady, tau_f2, dt)

    # the transient outward current
    r, s = gates[6], gates[7]
    r_steady = gate(v, 20.0, 6.0)
    tau_r = bell(v, -40.0, 42.43, 9.5) + 0.8
    s_steady = gate(-v, 20.0, 5.0)
    tau_s = bell(v, -45.0, 17.89, 85.0) + 5.0 / (1.0 + np.exp((v - 20.0) / 5.0)) + 3.0
    i_to = p["g_to"] * r * s * (v - e_k)
    r_next = relax(r, r_steady, tau_r, dt)
    s_next = relax(s, s_steady, tau_s, dt)

    # the delayed rectifiers
    xs, xr1, xr2 = gates[8], gates[9], gates[10]
    xs_steady = gate(v, -5.0, 14.0)
    alpha_xs = 1400.0 / np.sqrt(1.0 + np.exp((5.0 - v) / 6.0))
    beta_xs = 1.0 / (1.0 + np.exp((v - 35.0) / 15.0))
    tau_xs = alpha_xs * beta_xs + 80.0
    i_ks = p["g_ks"] * xs**2 * (v - e_ks)
    xr1_steady = gate(v, -26.0, 7.0)
    alpha_xr1 = 450.0 * gate(v, -45.0, 10.0)
    beta_xr1 = 6.0 / (1.0 + np.exp((v + 30.0) / 11.5))
    tau_xr1 = alpha_xr1 * beta_xr1
    xr2_steady = gate(-v, 88.0, 24.0)
    alpha_xr2 = 3.0 * gate(v, -60.0, 20.0)
    beta_xr2 = 1.12 / (1.0 + np.exp((v - 60.0) / 20.0))
    tau_xr2 = alpha_xr2 * beta_xr2
    root = np.sqrt(p["k_out"] / 5.4)
    i_kr = p["g_kr"] * root * xr1 * xr2 * (v - e_k)
    xs_next = relax(xs, xs_steady, tau_xs, dt)
    xr1_next = relax(xr1, xr1_steady, tau_xr1, dt)
    xr2_next = relax(xr2, xr2_steady, tau_xr2, dt)

    # the inward rectifier
    beyond = v - e_k
    alpha_k1 = 0.1 / (1.0 + np.exp(0.06 * (beyond - 200.0)))
    beta_k1 = 3.0 * np.exp(0.0002 * (beyond + 100.0)) + np.exp(0.1 * (beyond - 10.0))
    beta_k1 = beta_k1 / (1.0 + np.exp(-0.5 * beyond))
    k1_steady = alpha_k1 / (alpha_k1 + beta_k1)
    i_k1 = p["g_k1"] * root * k1_steady * beyond

    # exchangers and pumps
    forward = np.exp(p["split"] * u) * sodium**3 * p["ca_out"]
    backward = np.exp((p["split"] - 1.0) * u) * p["na_out"] ** 3 * calcium * 2.5
    limits = (87.5**3 + p["na_out"] ** 3) * (1.38 + p["ca_out"])
    brake = 1.0 + 0.1 * np.exp((p["split"] - 1.0) * u)
    i_naca = p["k_naca"] * (forward - backward) / (limits * brake)
    available = saturating(p["k_out"], 1.0) * saturating(sodium, 40.0)
    rectified = 1.0 + 0.1245 * np.exp(-0.1 * u) + 0.0353 * np.exp(-u)
    i_nak = p["p_nak"] * available / rectified
    i_pca = p["g_pca"] * saturating(calcium, 0.0005)
    i_pk = p["g_pk"] * (v - e_k) * gate(v, 25.0, 5.98)
    i_bna = p["g_bna"] * (v - e_na)
    i_bca = p["g_bca"] * (v - e_ca)

    # calcium between the stores
    release_open = gates[11]
    k_shape = 2.5 - 1.5 / (1.0 + (1.5 / store) ** 2)
    k_one = 0.15 / k_shape
    k_two = 0.045 * k_shape
    bound = k_one * cleft**2
    opened = bound * release_open / (0.06 + bound)
    release_next = release_open + dt * (
        -k_two * cleft * release_open + 0.005 * (1.0 - release_open)
    )
    j_release = 0.102 * opened * (store - cleft)
    j_uptake = p["uptake"] * saturating(calcium, 0.00025, 2)
    j_leak = 0.00036 * (store - calcium)
    j_transfer = 0.0038 * (cleft - calcium)
    buffer = 1.0 / (1.0 + 0.2 * 0.001 / (calcium + 0.001) ** 2)
    buffer_store = 1.0 / (1.0 + 10.0 * 0.3 / (store + 0.3) ** 2)
    buffer_cleft = 1.0 / (1.0 + 0.4 * 0.00025 / (cleft + 0.00025) ** 2)
    surface = p["surface"]
    volume, volume_store, volume_cleft = p["volumes"]
    per_charge = surface / (volume * FARADAY)
    leaving = i_bca + i_pca - 2.0 * i_naca
    exchange = volume_store / volume * (j_leak - j_uptake) + j_transfer
    calcium_rate = buffer * (exchange - leaving * per_charge / 2.0)
    store_rate = buffer_store * (j_uptake - j_release - j_leak)
    entering = i_ca * surface / (2.0 * volume_cleft * FARADAY)
    cleft_flow = volume_store / volume_cleft * j_release - volume / volume_cleft * j_transfer
    cleft_rate = buffer_cleft * (cleft_flow - entering)
    calcium_next = calcium + dt * calcium_rate
    store_next = store + dt * store_rate
    cleft_next = cleft + dt * cleft_rate

    # sodium and potassium
    sodium_current = i_na + i_bna + 3.0 * i_nak + 3.0 * i_naca
    potassium_current = i_k1 + i_to + i_kr + i_ks - 2.0 * i_nak + i_pk
    sodium_next = sodium - dt * sodium_current * per_charge
    potassium_next = potassium - dt * potassium_current * per_charge

    # the voltage
    calcium_current = i_ca + i_naca + i_bca + i_pca
    outward = i_k1 + i_to + i_kr + i_ks + i_nak + i_pk
    inward = i_na + i_bna + calcium_current
    stimulus = np.zeros(len(v))
    stimulus[:4] = p["stimulus"]
    spread = diffused(v, p["diffusion"])
    v_next = v + dt * (spread - outward - inward - stimulus)

    # rows of gates, kept between 0 and 1
    rows = [m_next, h_next, j_next, d_next, f_next, f2_next]
    rows += [r_next, s_next, xs_next, xr1_next, xr2_next, release_next]
    gates_next = np.clip(np.stack(rows), 0.0, 1.0)
    following = {
        "v": v_next,
        "sodium": sodium_next,
        "potassium": potassium_next,
        "calcium": np.maximum(calcium_next, 1e-8),
        "store": np.maximum(store_next, 1e-8),
        "cleft": np.maximum(cleft_next, 1e-8),
        "gates": gates_next,
    }
    total = np.sum(outward + inward)
    energy = np.mean(v_next**2) + np.sqrt(np.sum((v_next - v) ** 2))
    peak = np.max(v_next) - np.min(v_next)
    balance = sum(np.sum(following[name]) for name in ("sodium", "potassium", "calcium"))
    return following, total + energy + peak + 1e-3 * balance


CONSTANTS = (
    "na_out", "k_out", "ca_out", "g_na", "g_ca", "g_to", "g_ks", "g_kr", "g_k1", "split",
    "k_naca", "p_nak", "g_pca", "g_pk", "g_bna", "g_bca", "uptake", "surface", "stimulus",
    "diffusion",
)  # fmt: skip


def types() -> list[Any]:
    """Return the types of the arguments: arrays of cells, numbers and a tuple of them."""
    cells, number = Type(DType.F64, (CELLS,)), PythonNumber(DType.F64)
    state = {name: cells for name in ("v", "sodium", "potassium", "calcium", "store", "cleft")}
    state["gates"] = Type(DType.F64, (12, CELLS))
    parameters: dict[str, Any] = {name: number for name in CONSTANTS}
    parameters["volumes"] = (number, number, number)
    return [state, parameters, number]


def measure() -> float:
    """Return the milliseconds of this processor that one trace takes."""
    arguments = types()
    start = time.process_time()
    with collector_paused():
        trace(step, arguments)
    return 1000 * (time.process_time() - start)


def main() -> None:
    """Print the number of nodes and the median, smallest and largest time."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 25
    first = measure()
    nodes = len(list(trace(step, types()).function.body))
    times = sorted(measure() for _ in range(runs))
    print(
        f"{step.__code__.co_name}: {nodes} nodes, {statistics.median(times):.1f} ms "
        f"(median of {runs}; {times[0]:.1f} to {times[-1]:.1f}; the first {first:.1f})"
    )


if __name__ == "__main__":
    main()
