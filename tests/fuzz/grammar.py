"""Random programs as text: plain NumPy, written one statement at a time while they run.

A statement is a template whose holes are filled by values there are. It is run at once on the
arguments, so NumPy itself says what its result is and whether it can be at all; what it refuses is
not written.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gradc

# Holes: $f float, $i integer, $b bool, $a any of these; $v with an axis at least, $m a matrix, $s a
# number; letters after the first narrow: $fv a float array with an axis. #axis an axis of the first
# hole, #k a small whole number, #c a constant.
STATEMENTS: dict[str, tuple[int, list[str]]] = {
    "functions": (6, [
        *(f"np.{name}($f)" for name in (
            "exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "arctan", "arcsinh", "log1p", "expm1",
            "abs", "square", "reciprocal", "cbrt", "sign", "floor", "ceil", "rint", "trunc", "sinh",
            "cosh", "arcsin", "arccos", "arctanh", "arccosh", "exp2", "log2", "log10", "negative",
            "nan_to_num", "degrees", "sinc",
        )),
        "np.abs($i)", "np.sign($i)", "-$i", "~$i", "np.invert($b)", "np.square($i)",
        "np.isnan($f)", "np.isfinite($f)", "np.isinf($f)", "np.signbit(np.nan_to_num($f))", "np.float64($s)",
    ]),
    "arithmetic": (8, [
        *(f"$f {sign} $f" for sign in ("+", "-", "*", "/", "+", "-", "*", "**", "//", "%")),
        *(f"$f {sign} #c" for sign in ("+", "-", "*", "/", "**", "//", "%")),
        *(f"#c {sign} $f" for sign in ("+", "-", "*", "/", "**", "%")),
        "$f * $f + $f", "$f - $f * $f", "$f / ($f * $f)", "np.sqrt($f * $f + $f * $f)",
        *(f"np.{name}($f, $f)" for name in (
            "maximum", "minimum", "fmax", "fmin", "arctan2", "hypot", "logaddexp", "fmod",
            "remainder", "heaviside", "power", "logaddexp2", "nextafter",
        )),
    ]),
    "stable": (4, [
        "np.log(np.exp($f) + np.exp($f))", "np.log(1 + np.exp($f))", "1 / (1 + np.exp(-$f))",
        "np.exp($f) / (1 + np.exp($f))", "np.sqrt($f + 1) - np.sqrt($f)", "np.log($f * $f)",
        "np.log($f / $f)", "np.exp($f) - 1", "np.log(1 + $f)", "1 - np.cos($f)", "1 - np.tanh($f)",
        "np.log(np.sum(np.exp($fv)))", "np.exp($fv) / np.sum(np.exp($fv))",
        "np.sqrt(np.sum($fv ** 2))", "np.mean($fv ** 2) - np.mean($fv) ** 2", "$f ** 2 - $f ** 2",
        "(np.exp($f) - 1) / $f", "np.sin($f) / $f", "np.log($f ** 3 * $f)", "$f * np.log($f)",
        "np.cosh($f) - 1", "$f / np.sqrt($f * $f + $f * $f)", "np.log1p($f) - np.log1p($f)",
        "np.arccosh($f * $f)", "np.exp($f) * np.exp($f)", "($f + $f) - $f",
    ]),
    "integers": (3, [
        *(f"$i {sign} $i" for sign in ("+", "-", "*", "//", "%", "&", "|", "^")),
        *(f"$i {sign} #k" for sign in ("+", "-", "*", "//", "%", "<<", ">>", "**")),
        "$i / $i", "np.maximum($i, $i)", "np.minimum($i, $i)", "np.fmod($i, $i)", "$i * $f",
        "$i + $f", "$i / #k", "$i * #c", "np.floor_divide($f, $f)", "$b * $f", "$b + $i",
    ]),
    "conditions": (3, [
        *(f"$a {sign} $a" for sign in ("<", "<=", ">", ">=", "==", "!=")),
        *(f"$b {sign} $b" for sign in ("&", "|", "^")),
        "np.logical_and($b, $b)", "np.logical_not($b)", "np.isclose($f, $f)",
    ]),
    "choices": (4, [
        "np.where($b, $f, $f)", "np.where($b, $a, $a)", "np.where($f > 0, $f, #c)",
        "np.where($f != 0, $f / $f, 1.0)", "np.clip($f, #c, #c)", "np.where($b, $i, $f)",
        "np.select([$b, $b], [$f, $f], #c)", "np.clip($i, -2, 3)", "np.where($fv > 0, np.log($fv), 0.0)",
        "np.where($f > 0, np.sqrt($f), $f)",
    ]),
    "reductions": (4, [
        *(f"np.{name}($fv)" for name in ("sum", "mean", "prod", "max", "min", "var", "std")),
        *(f"np.{name}($fv, axis=#axis)" for name in (
            "sum", "mean", "prod", "max", "min", "var", "std", "cumsum", "cumprod", "sort",
        )),
        *(f"np.{name}($fv, axis=#axis, keepdims=True)" for name in ("sum", "mean", "max", "std")),
        *(f"np.{name}($fv)" for name in ("nansum", "nanmax", "median", "ptp")),
        *(f"np.{name}($av)" for name in ("argmax", "argmin", "any", "all")),
        # which of equal ones comes first is open in NumPy
        "np.argsort($av, kind='stable')",
        "np.sum($iv)", "np.sum($b)", "np.cumsum($iv)", "np.mean($iv)", "np.max($iv)", "np.sum($fv, where=$fv > 0)",
        "np.argmax($fv, axis=#axis)", "np.count_nonzero($av)", "np.linalg.norm($fv)", "np.average($fv)",
        "np.linalg.norm($fv, axis=#axis)", "np.trace($fm)", "np.prod($iv)", "np.any($b, axis=0)",
    ]),
    "shapes": (4, [
        "$av.reshape(-1)", "$av.T", "$av[None]", "$av[..., None]", "np.squeeze($av)", "np.ravel($av)",
        "np.concatenate([$fv, $fv])", "np.stack([$f, $f])", "np.flip($av)", "np.roll($av, #k)",
        "np.repeat($av, 2)", "np.tile($av, 2)", "np.diff($fv)", "np.pad($fv, 1)", "np.triu($fm)",
        "np.tril($fm)", "np.diag($fv)", "np.broadcast_to($f, (2, 3))", "np.array([$fs, $fs, 1.0])",
        "np.vstack([$fv, $fv])", "np.atleast_2d($f)", "np.swapaxes($am, 0, 1)", "np.ones_like($fv)",
        "np.full(3, $fs)", "np.hstack([$fv, $fv])", "np.expand_dims($av, 0)", "np.meshgrid($fv, $fv)[0]",
    ]),
    "indices": (4, [
        "$av[0]", "$av[-1]", "$av[1:]", "$av[:-1]", "$av[::-1]", "$av[::2]", "$am[:, 0]", "$am[0, 1]",
        "$am[:, 1:]", "$av[$is % 2]", "$av[[0, -1]]", "np.take($fv, [0, 1, 0])", "$am[[0, 1], [1, 0]]",
        "$av[..., 0]", "$av[-2:]", "$am[1:, :-1]", "$av[$iv % 2]", "np.take($fv, $i, mode='clip')",
        "$av[1:1]", "$av[::-2]", "$am[::-1, ::-1]", "$av[-1:0:-1]", "$am[:, ::-1]", "$av[2::-1]",
    ]),
    "products": (2, [
        "$fv @ $fv", "np.outer($fv, $fv)", "np.dot($fv, $fv)", "np.inner($fv, $fv)", "$fm @ $fm.T",
        "np.einsum('ij,kj->ik', $fm, $fm)", "np.einsum('i,i->', $fv, $fv)", "np.kron($fv, $fv)",
        "$iv @ $iv", "np.tensordot($fm, $fm, 2)", "$fm @ $fv", "np.vdot($fv, $fv)", "np.cross($fv, $fv)",
        "np.einsum('ij->ji', $fm)", "np.einsum('ij->i', $fm)", "np.einsum('ij,j->i', $fm, $fv)",
    ]),
    "types": (2, [
        "$f.astype(np.float32)", "$a.astype(np.float64)", "$i.astype(np.int32)", "$i.astype(bool)",
        "np.clip(np.nan_to_num($f), -99, 99).astype(np.int64)", "$i.astype(np.uint8)", "np.float32(#c) * $f", "np.int64(#k) + $i", "$f + True",
        "np.asarray($f)", "$b.astype(np.float64)", "$i.astype(np.int8)",
    ]),
}  # fmt: skip
# Statements of several lines; $= is the name that is assigned.
BLOCKS = [
    "$= = $fv.copy()\n$=[0] = $fs",
    "$= = $fv * 1.0\n$=[1:] += $=[:-1]",
    "$= = np.zeros(3)\n$=[0] = $fs\n$=[1:] = $fs",
    "$= = np.array($fv)\n$=[$= > 0] = 0.5",
    "$= = $fv + 0.0\n$=[::2] *= $fs",
    "$= = np.zeros_like($fv)\n$=[-1] = $fs\n$= -= 1.0",
    "$= = $iv * 1\n$=[0] += 2",
    "$= = $fm * 1.0\n$=[0, 1] = $fs\n$=[:, 0] /= 2.0",
    "$= = 0.0\nfor k in range(3):\n    $= = $= * 0.5 + $f * k",
    "$= = $fs\nfor row in $fv:\n    $= = np.tanh($= + np.sum(row))",
    "$= = []\nfor k, row in enumerate($fv):\n    $=.append(np.sum(row) * k)\n$= = np.array($=)",
    "if $av.ndim > 1:\n    $= = $f * 2.0\nelse:\n    $= = $f - 1.0",
    "$= = gradc.fori_loop(0, 4, lambda k, y: np.sin(y) * $fs + k, $f * 1.0)",
    "$= = gradc.scan(lambda c, x: (c * 0.5 + np.sum(x), c), $fs * 1.0, $fv)[1]",
    "$= = gradc.scan(lambda c, x: (np.where(c > x, c, x), c - x), $fs * 1.0, $fv.reshape(-1))[0]",
    "$= = gradc.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] / 2), (0, $f * 1.0))[1]",
    "$= = gradc.cond($fs > 0, lambda z: np.exp(-z), lambda z: z * z, $f * 1.0)",
    "parts = {'p': $f, 'q': $f}\n$= = parts['p'] * parts['q']",
    "$= = np.tanh($fm)\n$= = np.linalg.inv($= @ $=.T + 4.0 * np.eye($=.shape[0]))",
    "$= = np.tanh($fm)\n$= = np.linalg.det($= @ $=.T + 4.0 * np.eye($=.shape[0]))",
    "$= = np.tanh($fm)\n$= = np.linalg.solve($= @ $=.T + 4.0 * np.eye($=.shape[0]), $=)",
    "$= = np.array($fv)\n$=[$= < 0] *= -0.5",
    "$= = np.array($fv)\n$=[$= > $fs] = $fs",
    "$= = np.array($fv)\n$=[np.isnan($=)] = 0.0",
    "$= = $fv * 1.0\nfor k in range($=.shape[0] - 1):\n    $=[k + 1] = $=[k] * 0.5 + $=[k + 1]",
    "$= = $fv * 1.0\n$= = sum(np.sum($=[k:]) * k for k in range($=.shape[0]))",
    "$= = gradc.scan(lambda c, x: (gradc.fori_loop(0, 2, lambda k, y: np.cos(y) * 0.5 + x, c), c * x),"
    " $fs * 1.0, $fv.reshape(-1))[1]",
    "$= = gradc.vmap(lambda x: np.sum(x * x) - x)($fv)",
    "$= = gradc.vmap(lambda x, y: np.where(x > y, x, y * 0.5), (0, None))($fv, $fs)",
]  # fmt: skip
CONSTANTS = ["2", "0.5", "-1.5", "3", "1e-3", "0", "-1", "1.0", "100.0", "-0.0", "np.pi"]
SHAPES = [(), (), (3,), (3,), (4,), (2, 3), (3, 3), (1,), (1, 3), (0,), (2, 1, 3)]
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    5e-324,
    -5e-324,
    2.2e-308,
    1.7e308,
    -1.7e308,
]
SPECIAL += [0.5, -2.5, np.pi / 2, 710.0, -746.0, 1e-160, -1e160, 3.0]
MOST_ELEMENTS = 48


@dataclass
class Program:
    """A function as text, and arguments for it.

    Attributes
    ----------
    params: the names of the parameters.
    statements: each of one or more lines that assign one name.
    results: the names that are returned.
    points: tuples of arguments; the first has usual numbers.
    """

    params: list[str]
    statements: list[tuple[str, str]]
    results: list[str]
    points: list[tuple[Any, ...]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The function ``f`` as Python."""
        lines = [line for _, text in self.statements for line in text.splitlines()]
        body = "\n".join(f"    {line}" for line in lines)
        last = f"    return {', '.join(self.results)}{',' if len(self.results) == 1 else ''}"
        return f"def f({', '.join(self.params)}):\n{body}\n{last}\n"

    def sliced(self, results: list[str]) -> Program:
        """Return the program of some results, without the statements that they do not need."""
        needed, kept = set(results), []
        for name, text in reversed(self.statements):
            if name in needed:
                kept.append((name, text))
                needed |= set(re.findall(r"[a-z]\d+", text))
        return Program(self.params, kept[::-1], results, self.points)


def function_of(text: str, name: str = "f", file: str = "<fuzz>") -> Callable[..., Any]:
    """Return the function of a text; its lines are known to Python under a name of their own."""
    import linecache

    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"np": np, "gradc": gradc, "__name__": "fuzz"}
    exec(compile(text, file, "exec"), scope)
    made: Callable[..., Any] = scope[name]
    return made


class Writer:
    """Writes one program from a seed."""

    def __init__(self, seed: int) -> None:
        self.choose = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.values: dict[str, Any] = {}

    def program(self) -> Program:
        """Return a program of up to 16 statements with usual and special points."""
        kinds = [self.choose.choice("fffffgihj") for _ in range(self.choose.randint(1, 4))]
        shapes = [self.choose.choice(SHAPES) for _ in kinds]
        params = [f"a{i}" for i in range(len(kinds))]
        usual = tuple(self.argument(kind, shape) for kind, shape in zip(kinds, shapes, strict=True))
        self.values = dict(zip(params, usual, strict=True))
        statements: list[tuple[str, str]] = []
        wanted = self.choose.randint(4, 16)
        tries = 0
        while len(statements) < wanted and tries < 200:
            tries += 1
            name = f"v{len(statements)}"
            text = self.statement(name)
            if text is not None and self.runs(name, text):
                statements.append((name, text))
        names = [name for name, _ in statements]
        chosen = self.choose.sample(names, min(len(names), self.choose.randint(1, 3)))
        results = sorted({*chosen, names[-1]}) if names else params[:1]
        program = Program(params, statements, results).sliced(results)
        program.points = [usual, *self.special(usual)]
        return program

    def argument(self, kind: str, shape: tuple[int, ...]) -> Any:
        """Return an argument of a kind: f f64, g f32, i i64, j i32, h a number of Python."""
        if kind == "h":
            return self.choose.choice([0.75, 2, -1.5, 1, np.float64(0.3), np.float32(1.5), True])
        if kind == "i":
            return self.numbers.integers(-4, 6, shape)
        if kind == "j":
            return np.asarray(self.numbers.integers(-4, 6, shape), np.int32)
        made = np.asarray(self.numbers.normal(size=shape) * self.choose.choice([1.0, 1.0, 3.0]))
        return made.astype(np.float32 if kind == "g" else np.float64)

    def special(self, usual: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        """Yield arguments of the same types with special values among them."""
        for share in (0.2, 0.5, 1.0, 1.0):
            yield tuple(self.with_special(each, share) for each in usual)

    def with_special(self, usual: Any, share: float) -> Any:
        if isinstance(usual, bool | int):
            return usual
        if isinstance(usual, float) and not isinstance(usual, np.floating):
            return self.choose.choice(SPECIAL)
        made = np.array(usual)
        with np.errstate(over="ignore", under="ignore"):
            for place in np.ndindex(made.shape):
                if self.choose.random() < share:
                    made[place] = self.odd(made.dtype)
        return made if isinstance(usual, np.ndarray) else made[()]

    def odd(self, dtype: np.dtype[Any]) -> Any:
        if dtype.kind == "f":
            return self.choose.choice(SPECIAL)
        limits = np.iinfo(dtype)
        return self.choose.choice([0, 1, max(-1, limits.min), 2, limits.max, limits.min])

    # -- statements --------------------------------------------------------------------------------

    def statement(self, name: str) -> str | None:
        """Return the text of a statement, None where no value fits a hole."""
        if self.choose.random() < 0.12:
            return self.filled(self.choose.choice(BLOCKS).replace("$=", name))
        weights = [weight for weight, _ in STATEMENTS.values()]
        (_, choices) = self.choose.choices(list(STATEMENTS.values()), weights)[0]
        text = self.filled(self.choose.choice(choices))
        return None if text is None else f"{name} = {text}"

    def filled(self, template: str) -> str | None:
        """Return the template with names in its holes, None where none fits."""
        first: list[str] = []

        def fill(hole: re.Match[str]) -> str:
            word = hole[0]
            if word == "#k":
                return str(self.choose.randint(1, 3))
            if word == "#c":
                return self.choose.choice(CONSTANTS)
            if word == "#axis":
                rank = np.ndim(self.values[first[0]])
                return str(self.choose.randrange(-rank, rank))
            fitting = [name for name, value in self.values.items() if fits(value, word[1:])]
            if not fitting:
                raise LookupError
            # the latest values are likelier, so that programs are deep
            picked = self.choose.choice(fitting[-4:] if self.choose.random() < 0.7 else fitting)
            first.append(picked)
            return picked

        try:
            return re.sub(r"\$[abfi][msv]?|\$s|#axis|#k|#c", fill, template)
        except (LookupError, ValueError):
            return None

    def runs(self, name: str, text: str) -> bool:
        """Whether NumPy can do a statement; then its value is known."""
        scope = {"np": np, "gradc": gradc, **{k: _copied(v) for k, v in self.values.items()}}
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(text, scope)
        except Exception:
            return False
        value = scope[name]
        if not isinstance(value, np.ndarray | np.generic | float | int):
            return False
        made = np.asarray(value)
        if made.dtype.kind not in "fiub" or made.size > MOST_ELEMENTS or made.dtype == np.float16:
            return False
        self.values[name] = value
        return True


def fits(value: Any, hole: str) -> bool:
    """Whether a value may stand in a hole such as ``fv``."""
    kind, shape = (hole[0], hole[1:]) if hole[0] != "s" else ("a", "s")
    kinds = {"f": "f", "i": "iu", "b": "b", "a": "fiub"}[kind]
    made = np.asarray(value)
    if made.dtype.kind not in kinds:
        return False
    if not isinstance(value, np.ndarray | np.generic) and kind in "ib":
        return False
    return {"": True, "v": made.ndim > 0, "m": made.ndim == 2, "s": made.ndim == 0}[shape]


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value
