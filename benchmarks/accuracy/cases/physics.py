"""Radiation, relativity, statistical mechanics, mechanics."""

import numpy as np

from benchmarks.accuracy.case import case, positive, real, within

C = 299792458.0


@case(x=positive(0, 30))
def planck_spectrum(x):
    """The denominator cancels for small x; infinity over infinity for large x."""
    return x**3 / (np.exp(x) - 1)


@case(energy=positive(0, 10), t=within(1e-3, 1e3, usual=(0.2, 5)))
def bose_einstein(energy, t):
    """The denominator cancels for small energies."""
    return 1 / (np.exp(energy / t) - 1)


@case(energy=real(-10, 10), mu=real(-10, 10), t=within(1e-3, 1e3, usual=(0.2, 5)))
def fermi_dirac(energy, mu, t):
    """The exponential overflows above the Fermi level."""
    return 1.0 / (np.exp((energy - mu) / t) + 1.0)


@case(x=positive(0, 30))
def debye_integrand(x):
    """The denominator cancels; infinity over infinity."""
    return x**4 * np.exp(x) / (np.exp(x) - 1) ** 2


@case(x=real(-5, 5))
def brillouin_function_of_spin_one(x):
    """Two poles cancel at zero."""
    return 1.5 / np.tanh(1.5 * x) - 0.5 / np.tanh(0.5 * x)


@case(b=within(-1, 1, 0.0, -1.0, 1.0))
def doppler_shift(b):
    """Cancels for slow sources."""
    return np.sqrt((1 + b) / (1 - b)) - 1


@case(p=real(-10, 10), m=within(1e-3, 1e3, usual=(0.1, 5)))
def kinetic_energy_from_momentum(p, m):
    """Cancels for slow particles; squares overflow."""
    return np.sqrt(p**2 + m**2) - m


@case(energy=positive(0, 5), angle=within(-4, 4, 0.0))
def compton_ratio(energy, angle):
    """1 - cos cancels for small angles, which matters to the gradient."""
    return 1 / (1 + energy * (1 - np.cos(angle)))


@case(m=positive(0, 10), n=positive(0, 10))
def reduced_mass(m, n):
    """The product overflows and underflows."""
    return m * n / (m + n)


@case(f=positive(0.1, 10), d=positive(0.1, 10), close=(("f", "d"),), given=lambda f, d: f != d)
def image_distance(f, d):
    """Reciprocals cancel, and overflow."""
    return 1 / (1 / f - 1 / d)


@case(r=within(0.1, 100, usual=(0.8, 3)), s=within(0.1, 10, usual=(0.8, 1.2)))
def lennard_jones(r, s):
    """High powers; cancels where the potential is zero."""
    return 4 * ((s / r) ** 12 - (s / r) ** 6)


@case(r=within(0, 50, 1.4, usual=(0.5, 5)), a=within(0.1, 10, usual=(0.5, 3)))
def morse_potential(r, a):
    """Cancels at the minimum."""
    return 4.5 * (1 - np.exp(-a * (r - 1.4))) ** 2


@case(r=positive(0, 10), m=within(1e-3, 1e3, usual=(0.1, 3)))
def yukawa_force(r, m):
    """Squares and products over- and underflow."""
    return np.exp(-m * r) * (1 + m * r) / r**2


@case(t=positive(0, 5), tau=within(1e-6, 1e3, usual=(0.1, 3)), v=within(-100, 100))
def charging_capacitor(t, tau, v):
    """Cancels at the start."""
    return v * (1 - np.exp(-t / tau))


@case(m=real(-3, 3))
def kepler_remainder(m):
    """Cancels for small angles."""
    return m - np.sin(m)


@case(t=positive(0, 30), g=within(0.1, 100, usual=(1, 20)))
def fall_with_drag(t, g):
    """cosh overflows; the logarithm cancels at the start."""
    return np.log(np.cosh(np.sqrt(g) * t)) / g


@case(q=real(-10, 10))
def form_factor_of_a_sphere(q):
    """Cancels to third order at zero."""
    return 3 * (np.sin(q) - q * np.cos(q)) / q**3


@case(x=real(-10, 10))
def single_slit_diffraction(x):
    """Nothing over nothing at zero."""
    return (np.sin(x) / x) ** 2


@case(energy=positive(0, 10), t=within(1e-3, 1e3, usual=(0.1, 5)))
def schottky_heat_capacity(energy, t):
    """Infinity over infinity in the cold."""
    x = energy / t
    return x**2 * np.exp(x) / (1 + np.exp(x)) ** 2


@case(energy=positive(0, 10), t=within(1e-3, 1e3, usual=(0.1, 5)))
def free_energy_of_an_oscillator(energy, t):
    """The logarithm cancels in the cold, its argument in the heat."""
    return energy / 2 + t * np.log(1 - np.exp(-energy / t))


@case(v=within(-C, C, 0.0, usual=(-2e8, 2e8)), m=within(1e-3, 1e3, usual=(0.1, 5)))
def relativistic_momentum(v, m):
    """1 - v²/c² cancels close to c."""
    return m * v / np.sqrt(1 - v**2 / C**2)


@case(v=within(-C, C, 0.0, usual=(-2e5, 2e5)))
def time_dilation(v):
    """Cancels at everyday speeds."""
    return 1 - np.sqrt(1 - (v / C) ** 2)


@case(r=within(1e-3, 1e9, usual=(1, 100)), h=positive(0, 1))
def tidal_difference(r, h):
    """Reciprocals cancel for small h."""
    return 1 / r**2 - 1 / (r + h) ** 2


@case(x=real(-5, 5), w=within(1e-3, 1e3, usual=(0.1, 3)))
def lorentz_line(x, w):
    """Squares over- and underflow."""
    return (w / np.pi) / (x**2 + w**2)


@case(u=within(-1, 1, -1.0, 1.0), v=within(-1, 1, -1.0, 1.0))
def velocity_addition(u, v):
    """The denominator cancels for opposite velocities close to c."""
    return (u + v) / (1 + u * v)


@case(k=within(0, 50, 0.0, usual=(0, 5)), v=within(0.01, 100, usual=(0.1, 5)))
def tunnelling(k, v):
    """sinh overflows under a reciprocal."""
    return 1 / (1 + v * np.sinh(k) ** 2)


@case(x=real(-10, 10))
def soliton(x):
    """The square overflows in the gradient."""
    return 1 / np.cosh(x) ** 2


@case(x=real(-10, 10))
def quotient_of_hyperbolics(x):
    """Infinity over infinity on both sides."""
    return np.sinh(x) / np.cosh(x)


@case(x=real(-30, 30))
def free_energy_of_a_spin(x):
    """The hyperbolic cosine overflows."""
    return -np.log(2 * np.cosh(x))


@case(x=positive(0, 30))
def logarithm_of_a_hyperbolic_sine(x):
    """The hyperbolic sine overflows."""
    return np.log(np.sinh(x))


@case(x=real(-30, 30))
def logarithm_of_the_size_of_a_hyperbolic_sine(x):
    """The hyperbolic sine overflows on both sides."""
    return np.log(np.abs(np.sinh(x)))


@case(x=real(-30, 30))
def flow_in_a_channel(x):
    """Infinity times nothing on both sides."""
    return np.sinh(x) * (1 / (3 + np.cosh(x)))


@case(energy=positive(0, 10), t=within(1e-3, 1e3, usual=(0.2, 5)))
def logarithm_of_an_occupation(energy, t):
    """The exponential overflows; the denominator cancels for small energies."""
    return np.log(1 / (np.exp(energy / t) - 1))


@case(n=positive(0, 100))
def entropy_of_bosons(n):
    """Two large products cancel for many bosons."""
    return (n + 1) * np.log(n + 1) - n * np.log(n)


@case(x=real(-30, 30))
def logarithm_of_a_bernoulli_function(x):
    """Nothing over nothing at zero; the exponential overflows."""
    return np.log(x / (np.exp(x) - 1))


@case(x=positive(0, 30))
def logarithm_of_the_planck_spectrum(x):
    """The cube over- and underflows; so does the exponential."""
    return np.log(x**3 / (np.exp(x) - 1))


@case(x=real(-5, 5), y=real(-5, 5))
def coulomb_potential(x, y):
    """Squares over- and underflow."""
    return (x**2 + y**2) ** -0.5


@case(x=real(-5, 5), y=real(-5, 5))
def potential_of_a_line_charge(x, y):
    """Squares over- and underflow."""
    return np.log(x**2 + y**2)
