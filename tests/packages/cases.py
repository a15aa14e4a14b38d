"""What a package does when its state changes between calls: run where the package is installed.

    python cases.py

prints what every case gives, as JSON: results, gradients, or what was raised, before each change
and after it. The same package outside of any environment has to print the same.
"""

from __future__ import annotations

import json
import sys

import bases
import curves
import numpy as np
from curves import parts

import gradc

X = np.array([0.5, -0.25, 1.5])


def _set(owner, name, value):
    return lambda: setattr(owner, name, value)


def _fill(array, value):
    return lambda: array.fill(value)


# function of the package -> what changes, one after the other
CASES = {
    "arrays": [_fill(curves.SCALE, 10.0)],
    "rebound": [_set(curves, "TABLE", np.array([3.0, 2.0, 1.0]))],
    "numbers": [_set(curves, "GAIN", 5.0), _set(curves, "GAIN", -0.0)],
    "dicts": [
        lambda: curves.PARAMETERS.update(mass=7.0),
        lambda: curves.PARAMETERS["nested"].update(rate=2.0),
        _fill(curves.PARAMETERS["weights"], 4.0),
    ],
    "of_self": [
        _fill(curves.MODEL.w, 0.25),
        _set(curves.MODEL, "bias", 3.0),
        _set(curves.MODEL, "w", np.array([3.0, 2.0, 1.0])),
        _set(curves.Model, "rate", 2.0),
    ],
    "draws": [],
    "assigned": [],
    "other_module": [_fill(parts.SHIFT, 2.0), _set(parts, "FACTOR", 4.0)],
    "second_package": [_fill(bases.OFFSET, 3.0), _set(bases, "DEGREE", 3)],
    "stacked": [],
    "objects_in_lists": [
        _set(curves.SPRING, "stiffness", 9.0),
        _fill(curves.SPRING.rest, 1.0),
        lambda: curves.CHAIN.append(curves.Spring(2.0, np.ones(3))),
    ],
    "wrapped": [_fill(curves.SCALE, 0.5), _set(curves, "GAIN", 1.5)],
}


def _found(function, plain):
    """Return value and gradient, checked against the function itself run by NumPy."""
    try:
        value, gradient = function.value_and_grad(X)
    except gradc.TraceError as error:
        return [error.what]
    np.testing.assert_allclose(value, plain(X), rtol=1e-13)
    steps = 1e-6 * np.eye(len(X))
    slopes = [(plain(X + step) - plain(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-6)
    return [value.hex(), *(number.hex() for number in gradient.tolist())]


def main():
    """Print the results of all cases."""
    results = {}
    for name, changes in CASES.items():
        plain = getattr(curves, name)
        function = gradc.compile(plain)
        found = []
        for change in (lambda: None, *changes):
            change()
            try:
                found.append(_found(function, plain))
            except Exception as error:
                found.append([f"fails: {type(error).__name__}", str(error)])
        results[name] = found
    json.dump({"file": curves.__file__, "results": results}, sys.stdout)


if __name__ == "__main__":
    main()
