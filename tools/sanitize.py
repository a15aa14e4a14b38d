"""Runs exported kernels where every byte beside their buffers is forbidden.

    python tools/sanitize.py [--every N] [--kernels N] [--out FOLDER] [words in names …]

Sanitizers see nothing inside of an object file. So a C program, itself built with the address and
undefined-behaviour sanitizers, gives each kernel buffers that are flush with a forbidden page, once
with the page before and once with the one behind; inputs may not be written, and scratch is just as
long as the kernel asks for, less what only an unaligned arena takes. Each kernel runs with scratch
full of zeros and full of NaNs, with all results and with each left out: the results that are wanted
must have the same bits every time. It ends by a signal, or tells of the difference, where one
does not keep to its buffers.

The kernels: the functions of tests/corpus, the rows of the benchmark and some nests, values and
gradients (or pullbacks), of static and of symbolic sizes; and kernels that call these through
``gradc.external``, in loops too.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

import gradc
from benchmarks.rows import ROWS
from benchmarks.rows.row import make_case
from gradc.arguments import pytree
from gradc_ir.core import sizes
from gradc_ir.core.types import Type
from gradc_ir.errors import GradcError
from gradc_ir.text.parser import parse_spec

Array = NDArray[Any]

TOPICS = (
    "biology",
    "engineering",
    "finance",
    "geometry",
    "imaging",
    "machine_learning",
    "optimisation",
    "physics",
    "signal",
    "statistics",
)
FLAGS = ("-std=gnu99", "-g", "-O1", "-Wall", "-Werror", "-fno-omit-frame-pointer")
SANITIZERS = "-fsanitize=address,undefined"


class Case(NamedTuple):
    """A function, its arguments, and by which of them it is differentiated."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    wrt: Any


class Pair(NamedTuple):
    """A nest whose leaves are not sorted."""

    weights: Any
    bias: Any


@dataclass
class Layer:
    """Another, of a class."""

    pair: Pair
    scale: Any


def _nested_loss(p: Any, x: Any) -> Any:
    hidden = np.tanh(x @ p["layer"].pair.weights + p["layer"].pair.bias) * p["layer"].scale
    return np.sum(np.cumsum(np.sort(hidden @ p["out"]))) + p["beta"][0] * p["beta"][1]


def _nested_results(p: Any, x: Any) -> Any:
    return {"z": np.cumsum(x) * p["w"], "a": (np.sum(x), {"y": np.sort(x), "b": x[::-1] * p["c"]})}


def _nests() -> Iterator[Case]:
    random = np.random.default_rng(3)
    p = {
        "out": random.normal(size=4),
        "layer": Layer(Pair(random.normal(size=(3, 4)), random.normal(size=4)), 1.5),
        "beta": [0.5, 2.0],
    }
    yield Case("nested_loss", _nested_loss, (p, random.normal(size=(5, 3))), "p")
    yield Case("nested_results", _nested_results, ({"w": 2.0, "c": 3.0}, np.arange(7.0)), "p")


def cases() -> Iterator[Case]:
    """Yield all functions."""
    for topic in TOPICS:
        for function, arguments, wrt in importlib.import_module(f"tests.corpus.{topic}").CASES:
            yield Case(function.__name__, function, tuple(arguments()), wrt)
    for row in ROWS:
        for dtype in row.dtypes:
            made = make_case(row, row.tiny, dtype)
            yield Case(f"{row.name}_{dtype}", row.function, made.arguments, row.wrt)
    yield from _nests()


# -- kernels and what they are called with ---------------------------------------------------------


@dataclass
class Kernel:
    """One exported function: its prototype, its values for it, and the types of its results."""

    name: str
    parameters: list[str]
    sizes: dict[str, int]
    inputs: list[Array]
    results: list[Type]

    def call(self) -> str:
        """Return C that calls it with ``in``, ``out`` and ``work``."""
        given: list[str] = [str(self.sizes[name]) for name in self._size_names]
        for position, parameter in enumerate(self.parameters[len(given) : -1 - len(self.results)]):
            if "*" in parameter:
                given.append(f"in[{position}]")
            else:
                given.append(f"*({parameter.rpartition(' ')[0]} *)in[{position}]")
        given += [f"out[{position}]" for position in range(len(self.results))]
        return f"{self.name}({', '.join([*given, 'work'])})"

    def worksize(self) -> str:
        """Return C that asks for its scratch."""
        return f"{self.name}_worksize({', '.join(str(self.sizes[n]) for n in self._size_names)})"

    @property
    def _size_names(self) -> list[str]:
        count = len(self.parameters) - 1 - len(self.results) - len(self.inputs)
        return [parameter.rpartition(" ")[2] for parameter in self.parameters[:count]]

    def bytes_of(self, type_: Type) -> int:
        """Return how long an array is."""
        return sizes.evaluate(type_.count, self.sizes) * type_.dtype.bytes


_TYPE = re.compile(r"\s*(.+?): ((?:f64|f32|i64|i32|bool)(?:\[[^]]*\])?)(?:, |$)")


def read_header(
    header: Path, leaves: Sequence[Any], bound: dict[str, int], random: np.random.Generator
) -> Iterator[Kernel]:
    """Yield the kernels of a header, with values: the leaves, and numbers for what comes behind."""
    text = header.read_text(encoding="utf-8")
    told = re.findall(r"^ \* (\w+)\((.*)\) -> \((.*)\)$", text, re.MULTILINE)
    for name, inputs, results in told:
        found = re.search(rf"^int {name}\((.*?)\);", text, re.MULTILINE | re.DOTALL)
        assert found
        parameters = [re.sub(r"\s+", " ", part).strip() for part in found[1].split(",")]
        taken = [_parse(type_) for _, type_ in _TYPE.findall(inputs)]
        values = [
            np.asarray(leaf, type_.dtype.numpy) for leaf, type_ in zip(leaves, taken, strict=False)
        ]
        values += [_random(type_, bound, random) for type_ in taken[len(values) :]]
        known = {**bound, "tape": 64}
        yield Kernel(
            name, parameters, known, values, [_parse(t) for _, t in _TYPE.findall(results)]
        )


def _parse(text: str) -> Type:
    ((_, type_),) = parse_spec(f"x: {text}")
    assert isinstance(type_, Type)
    return type_


def _random(type_: Type, bound: dict[str, int], random: np.random.Generator) -> Array:
    shape = [sizes.evaluate(size, bound) for size in type_.shape]
    return np.asarray(random.normal(size=shape)).astype(type_.dtype.numpy)


def _leaves(arguments: Sequence[Any]) -> list[Any]:
    """Return the leaves of arguments in the order in which they are written."""
    found = []
    for argument in arguments:
        leaves, structure = pytree.flatten(argument)
        found += [leaves[position] for position in pytree.written(structure)]
    return found


def symbolic_spec(case: Case) -> tuple[str, dict[str, int]]:
    """Return a spec with a symbol for every size above 1, equal ones for equal sizes.

    Raises KeyError for arguments that no spec describes, such as objects of classes.
    """
    bound: dict[str, int] = {}

    def type_of(leaf: Any) -> str:
        array = np.asarray(leaf)
        names = [f"s{size}" if size > 1 else str(size) for size in array.shape]
        bound.update({f"s{size}": size for size in array.shape if size > 1})
        dtype = {"f": "f", "i": "i"}[array.dtype.kind] + str(8 * array.dtype.itemsize)
        return f"{dtype}[{','.join(names)}]" if names else dtype

    code = case.function.__code__
    given = zip(code.co_varnames, case.arguments, strict=False)
    parts = [f"{name}: {_nest_text(argument, type_of)}" for name, argument in given]
    return ", ".join(parts), bound


def _nest_text(nest: Any, type_of: Callable[[Any], str]) -> str:
    if isinstance(nest, dict):
        return "{" + ", ".join(f"{k}: {_nest_text(v, type_of)}" for k, v in nest.items()) + "}"
    if isinstance(nest, list):
        return f"[{', '.join(_nest_text(part, type_of) for part in nest)}]"
    if type(nest) is tuple:
        return f"({', '.join(_nest_text(part, type_of) for part in nest)},)"
    if not isinstance(nest, float | int | np.ndarray | np.generic):
        raise KeyError(type(nest).__name__)
    return type_of(nest)


def export(case: Case, number: int, folder: Path, log: Callable[[str], None]) -> list[Kernel]:
    """Export a function with static and with symbolic sizes; returns its kernels."""
    random = np.random.default_rng(number)
    found: list[Kernel] = []
    leaves = _leaves(case.arguments)
    ways: list[tuple[str, tuple[Any, ...], dict[str, int]]] = [(f"k{number}", case.arguments, {})]
    try:
        spec, bound = symbolic_spec(case)
        ways.append((f"k{number}s", (spec,), bound))
    except KeyError:
        log(f"{case.name}: no spec has its arguments")
    for name, given, symbols in ways:
        for of, wrt in (("value_and_grad", case.wrt), ("vjp", case.wrt), ("value", None)):
            if case.wrt is None and of != "value":
                continue
            try:
                compiled = gradc.compile(case.function)
                _, header = compiled.export(name, *given, of=of, wrt=wrt, out=folder)
            except (GradcError, KeyError) as error:
                if of == "value":
                    log(
                        f"{case.name}, {name}: {type(error).__name__}: {str(error).splitlines()[0]}"
                    )
                continue
            if "It calls LAPACK" in header.read_text() or "It calls BLAS" in header.read_text():
                log(f"{case.name}, {name}: calls LAPACK, which is not linked")
            else:
                found += read_header(header, leaves, symbols, random)
            break
    return found


def round_trips(exported: Sequence[Kernel], folder: Path, count: int) -> Iterator[Kernel]:
    """Yield kernels that call exported ones, by themselves and in a loop."""
    library_path = folder / "kernels.so"
    objects = sorted({f"{_file(kernel)}.o" for kernel in exported})
    command = ["cc", "-shared", "-o", str(library_path), *objects]
    subprocess.run(command, cwd=folder, check=True)
    library = ctypes.CDLL(str(library_path))
    random = np.random.default_rng(1)
    plain = [k for k in exported if not k.sizes.keys() - {"tape"} and "tape" not in k._size_names]
    for number, kernel in enumerate(plain[:: max(1, len(plain) // count)]):
        header = folder / f"{_file(kernel)}.h"
        inner = gradc.external(getattr(library, kernel.name), header=header)
        first = next((i for i, x in enumerate(kernel.inputs) if x.dtype.kind == "f"), None)
        if first is None:
            continue

        def outer(*args: Any, inner: Any = inner, first: int = first) -> Any:
            before = np.cumsum(np.sort(np.ravel(args[first])))
            made = inner(*args)
            every = made if isinstance(made, tuple) else (made,)
            return np.sum(np.cumsum(before)), *every

        def looped(*args: Any, inner: Any = inner, first: int = first) -> Any:
            def step(carry: Any, row: Any) -> Any:
                made = inner(*args[:first], carry, *args[first + 1 :])
                every = made if isinstance(made, tuple) else (made,)
                return carry + np.sort(np.ravel(carry))[0] * row, every

            return gradc.scan(step, args[first], np.array([0.25, 0.5, -1.0], args[first].dtype))

        names = [f"x{i}" for i in range(len(kernel.inputs))]
        for suffix, function in (("o", outer), ("l", looped)):
            text = f"lambda {', '.join(names)}: function({', '.join(names)})"
            name = f"r{number}{suffix}"
            made = gradc.compile(eval(text, {"function": function}))
            _, header = made.export(name, *kernel.inputs, of="value", out=folder)
            yield from read_header(header, kernel.inputs, {}, random)


def _file(kernel: Kernel) -> str:
    return kernel.name.partition("_")[0]


# -- the program that runs them --------------------------------------------------------------------

HARNESS = Path(__file__).with_suffix(".c")

_DTYPES = {"float64": "F64", "float32": "F32", "int64": "I64", "int32": "I32", "bool": "BOOL"}


def program(kernels: Sequence[Kernel]) -> str:
    """Return C of the table of kernels, behind the harness."""
    includes = sorted({f'#include "{_file(kernel)}.h"' for kernel in kernels})
    lines = [HARNESS.read_text(encoding="utf-8"), *includes]
    rows = []
    for number, kernel in enumerate(kernels):
        given = [(_DTYPES[str(x.dtype)], x.nbytes) for x in kernel.inputs]
        made = [(_DTYPES[str(t.dtype.numpy)], kernel.bytes_of(t)) for t in kernel.results]
        head = "void **in, void **out, void *work"
        unused = "" if given else " (void)in;"
        lines += [
            f"static int call{number}({head}) {{{unused} return {kernel.call()}; }}",
            f"static size_t asked{number}(void) {{ return {kernel.worksize()}; }}",
            *(
                f"static const array {name}{number}[] = "
                f"{{{', '.join(f'{{{dtype}, {count}}}' for dtype, count in pairs) or '{0, 0}'}}};"
                for name, pairs in (("given", given), ("made", made))
            ),
        ]
        rows.append(
            f'{{"{kernel.name}", call{number}, asked{number}, {len(given)}, {len(made)}, '
            f"given{number}, made{number}}}"
        )
    table = ",\n".join(rows)
    lines += [f"const kernel kernels[] = {{{table}}};", f"const int kernel_count = {len(rows)};"]
    return "\n".join(lines) + "\n"


def build_and_run(
    kernels: Sequence[Kernel], folder: Path, flags: Sequence[str] = (SANITIZERS,)
) -> subprocess.CompletedProcess[str]:
    """Build the program of these kernels and run it; returns how it ended."""
    (folder / "main.c").write_text(program(kernels), encoding="utf-8")
    with open(folder / "data", "wb") as data:
        for kernel in kernels:
            for array in kernel.inputs:
                data.write(np.ascontiguousarray(array).tobytes())
    objects = sorted({path.name for path in folder.glob("*.o")})
    command = ["cc", *FLAGS, *flags, "-o", "main", "main.c", *objects]
    subprocess.run(command, cwd=folder, check=True)
    return subprocess.run([folder / "main", "data"], cwd=folder, capture_output=True, text=True)


def check(
    chosen: Sequence[Case], folder: Path, trips: int, log: Callable[[str], None]
) -> subprocess.CompletedProcess[str]:
    """Export functions, and kernels that call them; run all."""
    kernels: list[Kernel] = []
    for number, case in enumerate(chosen):
        kernels += export(case, number, folder, log)
    names = {_file(kernel) for kernel in kernels}
    for path in folder.glob("*.o"):
        if path.stem not in names:
            path.unlink()
    kernels += list(round_trips(kernels, folder, trips))
    log(f"{len(kernels)} kernels of {len(chosen)} functions")
    return build_and_run(kernels, folder)


def main() -> int:
    """Check all functions, or those whose names have a word of the command line in them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--every", type=int, default=1, help="take each so-manieth function")
    parser.add_argument("--trips", type=int, default=20, help="how many round trips")
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    chosen = [
        case for case in cases() if not given.words or any(w in case.name for w in given.words)
    ]
    with tempfile.TemporaryDirectory() as made:
        folder = given.out or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        done = check(
            chosen[:: given.every], folder, given.trips, lambda line: print(line, flush=True)
        )
    print(done.stdout, end="")
    if done.returncode:
        print("\n".join(done.stderr.splitlines()[-60:]))
    return done.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
