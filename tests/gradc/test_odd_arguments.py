"""Random calls with odd and wrong arguments: the right answer, or an error that says what to do."""

from __future__ import annotations

import array
import collections
import decimal
import enum
import fractions
import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradc
from gradc.arguments import pytree

pytestmark = pytest.mark.slow

CALLS = int(os.environ.get("GRADC_EXAMPLES", "300"))
SUPPORTED = ("float64", "float32", "int64", "int32", "bool")
REFUSED = type("Refused", (), {"__repr__": lambda self: "refused"})()


class Plain(np.ndarray):
    """A subclass that computes as arrays do."""


class Metres(np.ndarray):
    """A subclass that computes in its own way."""

    def __mul__(self, other: Any) -> Any:
        return "not a number"


class Column:
    """An object that NumPy makes an array of, as a column of a table is."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"Column({self.values!r}, {getattr(self.values, 'dtype', '')})"

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        if isinstance(self.values, Exception):
            raise self.values
        return self.values


class Level(enum.IntEnum):
    """An integer with a name, which to NumPy is an int64."""

    LOW = 2


Weights = collections.namedtuple("Weights", "w b")


# -- the functions ---------------------------------------------------------------------------------


def wave(x):
    return np.sum(np.sin(x) * x)


def product(x, y):
    return np.sum(x * y)


def parts(p):
    w, b = (p["w"], p["b"]) if isinstance(p, dict) else p
    return np.sum(w * w * b)


def scaled(x, *, scale=1.5, shift=0.25):
    return np.sum(x * scale + shift)


def each(x, n=3):
    return np.multiply(x, x) * n


def last(*xs):
    return xs[-1] + np.cos(xs[0])


FUNCTIONS = (wave, product, parts, scaled, each, last)
COMPILED = {function: gradc.compile(function) for function in FUNCTIONS}

# -- the arguments: what is given, and what it is taken for ----------------------------------------


def some_array(rng: random.Random) -> Any:
    dtype = rng.choice(("float64",) * 12 + SUPPORTED)
    shape = rng.choice(((3,), (3,), (3,), (4,), (2, 3), (), (0,), (1,)))
    drawn = np.array([rng.randint(-9, 9) for _ in range(int(np.prod(shape)))], float)
    return (drawn / 4 if dtype[0] == "f" else drawn).reshape(shape).astype(dtype)


def laid_out(rng: random.Random, x: Any) -> Any:
    """Return an array of the same dtype and shape that lies in memory in another way."""
    every = (slice(None, None, -1),) * x.ndim
    fixed = x.copy()
    fixed.flags.writeable = False
    moved = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    moved[...] = x
    return rng.choice((
        np.repeat(x, 2, axis=-1)[..., ::2] if x.ndim else x,
        x[every],
        x.astype(x.dtype.newbyteorder(">")),
        moved,
        fixed,
        np.asfortranarray(x),
        np.lib.stride_tricks.as_strided(x, x.shape, (0,) * x.ndim),
        x.astype(np.dtype(x.dtype, metadata={"unit": "m"})),
    ))  # fmt: skip


def refused(rng: random.Random) -> Any:
    x = np.array([0.5, 1.0, 2.0])
    kinds = ("float16", "longdouble", "complex64", "complex128", "int8", "int16", "uint8",
             "uint32", "uint64", "object", "U8", "S8", "M8[s]", "m8[s]")  # fmt: skip
    return rng.choice((
        *(x.astype("int64").astype(kind) for kind in kinds),
        np.zeros(3, [("a", float)]), np.ma.masked_less(x, 1), x.view(np.matrix), x.view(Metres),
        "text", b"bytes", {1, 2}, range(3), iter([1.0]), np.sin, float, object(), ..., slice(2),
        1j, fractions.Fraction(1, 3), decimal.Decimal("1.5"), memoryview(b"abcdefgh"),
        array.array("d", [1.0]), bytearray(8), 10**30, -(2**63) - 1, 2**63, 10**5000,
        np.float16(1), np.longdouble(1), np.complex128(1), np.int8(1), np.uint64(1),
        np.datetime64("2020"), np.dtype(float), np.ndarray, Column, lambda: 1, NotImplemented,
        Column(ValueError("no")), Column([1.0]), Column(np.zeros(2, "int8")), np.str_("a"),
    ))  # fmt: skip


def number(rng: random.Random) -> Any:
    return rng.choice((
        rng.randint(-5, 5) / 4, rng.randint(-5, 5) / 4, rng.randint(-3, 3), True, -0.0, 1e400,
        -1e400, float("nan"), 5e-324, 2**31, 2**40, -(2**40), np.float64(0.5), np.float32(0.5),
        np.int64(-2), np.int32(3), np.True_, np.array(2.5), np.array(2, np.int32),
    ))  # fmt: skip


def leaf(rng: random.Random) -> tuple[Any, Any]:
    """Return an argument, and what it is taken for."""
    draw = rng.random()
    if draw < 0.12:
        given = refused(rng)
        return given, REFUSED
    if draw < 0.3:
        given = number(rng)
        return given, given
    if draw < 0.32:
        return Level.LOW, np.int64(2)
    x = some_array(rng)
    if draw < 0.45:
        return rng.choice((x.view(Plain), x.view(np.recarray), Column(x))), x.copy()
    given = laid_out(rng, x) if draw < 0.8 else x
    return given, np.array(given, dtype=x.dtype)


def pair(rng: random.Random) -> tuple[Any, Any]:
    """Return a nest of two leaves or another number of them, and what it is taken for."""
    (w, taken_w), (b, taken_b) = leaf(rng), leaf(rng)
    makers: tuple[Callable[[Any, Any], Any], ...] = (
        lambda w, b: {"w": w, "b": b},
        lambda w, b: [w, b],
        lambda w, b: (w, b),
        Weights,
        lambda w, b: {"b": b, "w": w, "more": (None, [w])},
        lambda w, b: (w,),
        lambda w, b: {"w": w},
        lambda w, b: None,
        lambda w, b: w,
    )
    make = makers[min(rng.randrange(24), 23) % len(makers)] if rng.random() < 0.5 else makers[0]
    return make(w, b), make(taken_w, taken_b)


def arguments(rng: random.Random, function: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return positional and keyword arguments, each with what it is taken for."""
    if function is parts:
        return [pair(rng)], {}
    count = {wave: 1, product: 2, scaled: 1, each: rng.randint(1, 2), last: rng.randint(1, 3)}
    given = [leaf(rng) for _ in range(count[function])]
    if function is scaled:
        return given, {key: leaf(rng) for key in ("scale", "shift") if rng.random() < 0.4}
    return given, {}


def is_refused(taken: Any) -> bool:
    return any(part is REFUSED for part in pytree.flatten(taken)[0])


# -- the answers -----------------------------------------------------------------------------------


def dtype_of(x: Any) -> np.dtype:
    return np.asarray(x).dtype


def assert_same(got: Any, wanted: Any, tolerance: float, context: str) -> None:
    """Compare a value with NumPy's: dtype, shape and elements."""
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), context
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=context)


def directional(function: Any, taken: Any, direction: Any) -> Any:
    """Return the derivative along a direction by a complex step, exact to rounding.

    ``taken`` is a tuple of nests, ``direction`` has a leaf for each of theirs, None for zero.
    """
    leaves, structure = pytree.flatten(taken)
    moved = [
        x if d is None else np.asarray(x, complex) + 1e-200j * np.asarray(d, float)
        for x, d in zip(leaves, direction)
    ]
    return np.imag(function(*pytree.unflatten(structure, moved))) * np.float64(1e200)


def assert_gradient(function: Any, taken: Any, position: int, gradient: Any, context: str) -> None:
    """Compare the gradient by one argument with complex steps along each of its elements."""
    leaves = pytree.flatten(taken)[0]
    before = len(pytree.flatten(taken[:position])[0])
    for offset, part in enumerate(pytree.flatten(gradient)[0]):
        x, part = np.asarray(leaves[before + offset]), np.asarray(part)
        assert (part.dtype, part.shape) == (x.dtype, x.shape), context
        for index in np.ndindex(x.shape):
            direction: list[Any] = [None] * len(leaves)
            direction[before + offset] = np.zeros(x.shape)
            direction[before + offset][index] = 1.0
            assert_close(part[index], directional(function, taken, direction), context)


def assert_close(got: Any, wanted: Any, context: str) -> None:
    tolerance = 1e-9 if "float32" not in context and dtype_of(got) == np.float64 else 1e-4
    np.testing.assert_allclose(got, wanted, rtol=tolerance, atol=tolerance, err_msg=context)


# -- one call --------------------------------------------------------------------------------------

METHODS = ("value", "value", "grad", "value_and_grad", "jvp", "vjp", "jacobian", "hvp", "hessian")


def call(rng: random.Random) -> str:
    """Make one random call, check what came back, and return what kind of answer it was."""
    function, method = rng.choice(FUNCTIONS), rng.choice(METHODS)
    compiled = COMPILED[function]
    pairs, named = arguments(rng, function)
    given, taken = tuple(x for x, _ in pairs), tuple(x for _, x in pairs)
    keywords = {key: x for key, (x, _) in named.items()}
    taken_keywords = {key: x for key, (_, x) in named.items()}
    context = f"{function.__name__} {method} {described((given, keywords))}"

    def plain(*args: Any) -> Any:
        return function(*args, **taken_keywords)

    if rng.random() < 0.08:
        check_wrong_form(rng, function, method, given, keywords, context)
        return "wrong form"
    try:
        with np.errstate(all="ignore"):
            wanted = None if is_refused((taken, taken_keywords)) else plain(*taken)
            fails: Any = None
    except Exception as error:
        wanted, fails = None, error
    run: dict[str, Callable[[], Any]] = {
        "value": lambda: compiled(*given, **keywords),
        "grad": lambda: compiled.grad(*given, **keywords),
        "value_and_grad": lambda: compiled.value_and_grad(*given, **keywords),
        "jvp": lambda: compiled.jvp(given, (ones(taken[0]), *(None,) * (len(given) - 1))),
        "vjp": lambda: compiled.vjp(*given, **keywords),
        "jacobian": lambda: compiled.jacobian(*given, **keywords),
        "hvp": lambda: compiled.hvp(given, ones(taken[0])),
        "hessian": lambda: compiled.hessian(*given, **keywords),
    }
    if method in ("jvp", "hvp") and keywords:
        return "not taken"
    found, failed = attempt(run[method])
    if isinstance(failed, gradc.GradcError):
        if not may_fail(method, taken, taken_keywords, wanted, fails):
            raise AssertionError(context) from failed
        return type(failed).__name__
    if failed is not None:
        if type(failed) is not type(fails):
            raise AssertionError(context) from failed
        return "the function's own error"  # as it is without gradc
    assert not is_refused((taken, taken_keywords)), context
    assert fails is None, f"{context}: {fails!r}"
    check_answer(method, plain, taken, wanted, found, context)
    return "an answer"


def attempt(run: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return run(), None
    except Exception as error:
        return None, error


def described(given: Any) -> str:
    try:
        return repr(given)
    except ValueError:
        return "an integer too long to print"


def ones(taken: Any) -> Any:
    return pytree.map_leaves(lambda x: np.ones(np.shape(x) if x is not REFUSED else ()), taken)


def may_fail(method: str, taken: Any, keywords: Any, wanted: Any, fails: Any) -> bool:
    """Whether an error is documented for such a call."""
    every = pytree.flatten((taken, keywords))[0]
    if fails is not None or is_refused(every):
        return True
    if any(type(x) is int and not -(2**31) <= x < 2**31 for x in every):
        return True  # a product of such integers, or one with an int32
    if dtype_of(wanted).name not in SUPPORTED or any(dtype_of(x).kind == "b" for x in every):
        return True  # the sine of a bool is a float16
    if method == "jvp":  # whole numbers have no tangent
        return any(dtype_of(x).kind != "f" for x in every)
    if method in ("value", "vjp"):
        return False
    floats = all(dtype_of(x).kind == "f" for x in pytree.flatten(taken[0])[0])
    if method == "jacobian":
        return not floats
    return not floats or np.ndim(wanted) > 0 or dtype_of(wanted).kind != "f"


def check_answer(
    method: str, plain: Any, taken: Any, wanted: Any, found: Any, context: str
) -> None:
    """Compare what a method returned with NumPy's value and with complex steps."""
    exact = all(dtype_of(x) != np.float32 for x in pytree.flatten((taken, wanted))[0])
    tolerance = 1e-12 if exact else 2e-6
    if method == "value":
        return assert_same(found, wanted, tolerance, context)
    if method in ("value_and_grad", "jvp", "vjp"):
        assert_same(found[0], wanted, tolerance, context)
    floats = [x for x in pytree.flatten(taken)[0] if dtype_of(x).kind == "f"]
    if not all(np.all(np.isfinite(x)) and np.all(np.abs(x) < 1e9) for x in floats):
        return None
    if not np.all(np.isfinite(wanted)) or dtype_of(wanted).kind != "f":
        return None
    along: list[Any] = [np.ones(np.shape(x)) for x in pytree.flatten(taken[:1])[0]]
    along += [None] * len(pytree.flatten(taken[1:])[0])
    along = [
        d if dtype_of(x).kind == "f" else None for x, d in zip(pytree.flatten(taken)[0], along)
    ]
    with np.errstate(all="ignore"):
        if method == "grad":
            assert_gradient(plain, taken, 0, found, context)
        elif method == "value_and_grad":
            assert_gradient(plain, taken, 0, found[1], context)
        elif method == "jvp":
            assert_close(found[1], directional(plain, taken, along), context)
        elif method == "vjp":
            pulled = found[1](np.ones(np.shape(wanted)))
            for position, part in enumerate(pulled[: len(taken)]):  # then those of default values
                if all(dtype_of(x).kind == "f" for x in pytree.flatten(taken[position])[0]):
                    assert_gradient(
                        lambda *args: np.sum(plain(*args)), taken, position, part, context
                    )
        elif method == "jacobian":
            summed = pytree.map_leaves(
                lambda part: np.sum(part, axis=tuple(range(np.ndim(wanted))), dtype=part.dtype),
                found,
            )
            assert_gradient(lambda *args: np.sum(plain(*args)), taken, 0, summed, context)
    return None


def check_wrong_form(
    rng: random.Random, function: Any, method: str, given: Any, keywords: Any, context: str
) -> None:
    """Make a call whose form is wrong, whatever its arguments are."""
    f = COMPILED[function]
    x = np.ones(3)
    forms: tuple[Callable[[], Any], ...] = (
        lambda: f(**keywords) if function is not last else f.grad(),
        lambda: f(*given, *given, *given, **keywords) if function is not last else f.grad(),
        lambda: f(*given, **keywords, unknown=1.0),
        lambda: f.grad(*given, **keywords, wrt=7),
        lambda: f.grad(*given, **keywords, wrt=-8),
        lambda: f.grad(*given, **keywords, wrt="unknown"),
        lambda: f.grad(*given, **keywords, wrt=1.5),
        lambda: f.grad(*given, **keywords, wrt=(0, None)),
        lambda: f.grad(*given, **keywords, wrt=0, argnums=0),
        lambda: f.jacobian(*given, **keywords, mode="sideways"),
        lambda: f.jvp(given, (x,) * 5),
        lambda: f.jvp(*given) if len(given) == 2 else f.jvp(given, 1.0),
        lambda: f.hvp(given, (x, x), wrt=(0, 9)),
        lambda: gradc.compile(given and 3.0),
        lambda: gradc.compile(function, static="unknown"),
        lambda: gradc.grad(None)(x),
        lambda: f.vjp(x, x)[1]() if function is product else gradc.compile("text"),
    )
    _, failed = attempt(forms[rng.randrange(len(forms))])
    if not isinstance(failed, (gradc.GradcError, TypeError)):
        raise AssertionError(context) from failed


def test_random_calls_are_right_or_refused() -> None:
    rng = random.Random(2)
    answers = collections.Counter(call(rng) for _ in range(CALLS))
    assert answers["an answer"] > CALLS // 3, answers
