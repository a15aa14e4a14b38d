"""Distances, angles, areas, rotations, projections."""

import numpy as np

from benchmarks.accuracy.case import case, positive, real, within


@case(a=real(-10, 10), b=real(-10, 10), c=real(-10, 10), d=real(-10, 10), close=(("a", "c"),))
def distance_of_points(a, b, c, d):
    """Squares over- and underflow."""
    return np.sqrt((a - c) ** 2 + (b - d) ** 2)


@case(x=real(-10, 10), y=real(-10, 10), z=real(-10, 10))
def length_of_a_vector(x, y, z):
    """Squares over- and underflow."""
    return np.sqrt(x**2 + y**2 + z**2)


@case(x=real(-10, 10), y=real(-10, 10), z=real(-10, 10))
def norm_of_an_array(x, y, z):
    """Squares over- and underflow."""
    return np.linalg.norm(np.stack([x, y, z]), axis=0)


@case(x=real(-10, 10), y=real(-10, 10), z=real(-10, 10))
def direction_cosine(x, y, z):
    """Squares over- and underflow."""
    return z / np.sqrt(x * x + y * y + z * z)


@case(x=real(-10, 10), y=real(-10, 10))
def angle_with_the_first_axis(x, y):
    """The inverse cosine has no digits for small angles; squares overflow."""
    return np.arccos(x / np.sqrt(x**2 + y**2))


@case(a=real(-10, 10), b=real(-10, 10), c=real(-10, 10), d=real(-10, 10), close=(("a", "c"),))
def angle_between_two_vectors(a, b, c, d):
    """The inverse cosine has no digits for small angles; squares overflow."""
    return np.arccos((a * c + b * d) / (np.sqrt(a**2 + b**2) * np.sqrt(c**2 + d**2)))


@case(h=positive(1e-3, 1), r=positive(1, 10))
def angle_of_a_cap(h, r):
    """Of low caps the cosine is 1."""
    return np.arccos(1 - h / r)


@case(c=within(-1, 1))
def half_an_angle_from_its_cosine(c):
    """Near a cosine of 1 the root has half of its digits."""
    return np.arcsin(np.sqrt((1 - c) / 2))


@case(d=positive(0.1, 10), r=positive(0.1, 10))
def solid_angle_of_a_disk(d, r):
    """Far away the cosine is 1."""
    return 2 * np.pi * (1 - d / np.sqrt(d**2 + r**2))


@case(x=real(-10, 10), y=real(-10, 10))
def azimuth(x, y):
    """Squares in the gradient over- and underflow."""
    return np.arctan2(y, x)


@case(
    p=within(-1.5, 1.5, 0.0),
    q=within(-1.5, 1.5, 0.0),
    d=within(-3, 3, 0.0),
    close=(("p", "q"),),
)
def haversine_distance(p, q, d):
    """Fine for near points; the gradient divides by the distance."""
    h = np.sin((p - q) / 2) ** 2 + np.cos(p) * np.cos(q) * np.sin(d / 2) ** 2
    return 2 * 6371.0 * np.arcsin(np.sqrt(h))


@case(r=positive(0.1, 10), angle=within(-6.3, 6.3, 0.0))
def circular_segment(r, angle):
    """Cancels for small angles."""
    return r**2 / 2 * (angle - np.sin(angle))


@case(r=positive(0.1, 10), c=positive(0, 5), given=lambda r, c: c <= 2 * r, close=(("r", "c"),))
def sagitta(r, c):
    """Cancels for small chords; squares over- and underflow."""
    return r - np.sqrt(r**2 - c**2 / 4)


@case(a=positive(0.1, 10), b=positive(0.1, 10), angle=within(0, 3.14, 0.0), close=(("a", "b"),))
def third_side(a, b, angle):
    """Cancels for small angles between sides of nearly one length."""
    return np.sqrt(a**2 + b**2 - 2 * a * b * np.cos(angle))


@case(r=positive(0, 10), s=positive(0, 10), close=(("r", "s"),))
def ring_area(r, s):
    """Cancels for thin rings; squares overflow."""
    return np.pi * (r**2 - s**2)


@case(t=real(-3, 3))
def first_coefficient_of_a_rotation(t):
    """Nothing over nothing at zero."""
    return np.sin(t) / t


@case(t=real(-3, 3))
def second_coefficient_of_a_rotation(t):
    """Nothing over nothing at zero, to second order."""
    return (1.0 - np.cos(t)) / t**2


@case(t=within(0, 1, 0.0, 1.0), angle=within(0, 3.1, 0.0))
def slerp_weight(t, angle):
    """Nothing over nothing for equal directions."""
    return np.sin((1 - t) * angle) / np.sin(angle)


@case(a=real(-5, 5), b=real(-5, 5), c=real(-5, 5))
def distance_of_a_line_from_the_origin(a, b, c):
    """Squares over- and underflow."""
    return np.abs(c) / np.sqrt(a * a + b * b)


@case(a=positive(1, 10), b=positive(0.1, 10), given=lambda a, b: b <= a, close=(("a", "b"),))
def eccentricity(a, b):
    """Cancels for circles."""
    return np.sqrt(1 - (b / a) ** 2)


@case(lat=within(-1.57, 1.57, 0.0))
def mercator(lat):
    """The logarithm cancels at the equator, its argument in the south."""
    return np.log(np.tan(lat) + 1 / np.cos(lat))


@case(lat=within(-1.57, 1.57, 0.0))
def mercator_with_sines(lat):
    """The quotient rounds to one at the equator."""
    return 0.5 * np.log((1 + np.sin(lat)) / (1 - np.sin(lat)))


@case(lat=within(-1.57, 1.57, 0.0, 1.57))
def conformal_colatitude(lat):
    """The sum with a quarter of pi is rounded, and near the pole the tangent is small."""
    return np.tan(np.pi / 4 - lat / 2)


@case(x=real(-10, 10))
def impedance_of_a_line(x):
    """The sum with a quarter of pi is rounded, of which little is left for large x."""
    return np.tan(x + np.pi / 4)


@case(h=positive(0, 100), r=within(1, 1e8, usual=(6000, 7000)))
def horizon_distance(h, r):
    """Squares of the radius cancel for small heights."""
    return np.sqrt((r + h) ** 2 - r**2)


@case(x=real(-5, 5), y=real(-5, 5), k=within(0.01, 100, usual=(1, 20)))
def smooth_union(x, y, k):
    """Exponentials over- and underflow before the logarithm."""
    return -np.log(np.exp(-k * x) + np.exp(-k * y)) / k


@case(x=within(-0.999, 0.999, 0.0))
def hyperbolic_distance_from_the_origin(x):
    """The inverse hyperbolic cosine has no digits near one."""
    return np.arccosh(1 + 2 * x**2 / (1 - x**2))


@case(x=real(-10, 10), y=real(-10, 10))
def slope_angle(x, y):
    """Fine in the value; squares in the gradient over- and underflow."""
    return np.arctan(y / x)


@case(x=real(-10, 10), y=real(-10, 10))
def inverse_square_law(x, y):
    """Cubes of the distance over- and underflow."""
    return x / (x**2 + y**2) ** 1.5


@case(w=real(-1, 1), x=real(-1, 1), y=real(-1, 1), z=real(-1, 1))
def normalised_quaternion(w, x, y, z):
    """Squares over- and underflow, in an array."""
    q = np.stack([w, x, y, z])
    return q[0] / np.sqrt(np.sum(q * q, axis=0))


@case(a=real(-10, 10), b=real(-10, 10), close=(("a", "b"),))
def distance_on_a_line(a, b):
    """The square over- and underflows."""
    return np.sqrt((a - b) ** 2)


@case(x=real(-5, 5), y=real(-5, 5))
def component_of_a_unit_vector(x, y):
    """Squares over- and underflow."""
    scale = 1 / np.sqrt(x * x + y * y)
    return x * scale


@case(x=real(-5, 5), y=real(-5, 5))
def square_of_a_norm(x, y):
    """The root rounds, and has no slope at zero."""
    return np.linalg.norm(np.stack([x, y]), axis=0) ** 2


@case(x=within(-3.14159, 3.14159, 0.0))
def tangent_of_half_with_a_cosine(x):
    """Nothing over nothing at the ends."""
    return np.sin(x) / (1 + np.cos(x))


@case(x=real(-5, 5))
def latitude_on_a_mercator_map(x):
    """Cancels at the equator; the exponential overflows in the north."""
    return 2 * (np.arctan(np.exp(x)) - np.pi / 4)


@case(h=within(0, 2, 0.0, usual=(0, 1)))
def angle_to_the_horizon(h):
    """By the height, what is next to 1 is lost in a square that is subtracted."""
    return np.arccos(1 - h)
