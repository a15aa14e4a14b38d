"""Lanes: the rows of the benchmarks have the same bits in every way their loops can run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import gradc
from benchmarks.rows import ROWS
from benchmarks.rows.row import Row, make_case
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.tracing import trace
from gradc_codegen.compile_function import Compilation
from gradc_codegen.interface.python_kernel import Kernel
from gradc_codegen.lower.lower import lower_nest
from gradc_codegen.machine.jit import compile_module
from gradc_codegen.nest.loop_nest import Loop, loops_of, statements_of
from gradc_codegen.schedule.choices import Choices, WithoutLanes
from gradc_codegen.schedule.schedule import schedule
from gradc_codegen.target.target import host, machine_of, target
from gradc_codegen.text.module import Machine
from gradc_ir import build
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import symbol
from gradc_ir.core.types import DType, Type, dtype_of
from gradc_ir.interpreter.interpret import interpret
from tests.codegen.compiled import assert_compiled_same, function_of
from tests.comparing import assert_same_bits


class Outside(Choices):
    """Lanes as far outside as they can be."""

    def lanes(self, loop: Loop, block: int) -> bool:
        return True


class Inside(Choices):
    """Lanes in the innermost loops alone."""

    def lanes(self, loop: Loop, block: int) -> bool:
        return len(list(loops_of(loop.body))) == 0


WAYS = {"outside": Outside(), "inside": Inside(), "nowhere": WithoutLanes()}
# with unknown sizes, rows are tried by themselves
# Rows that take long to compile: what is in them is in others, or in the tests of their rooms.
_LONG = {"lstm", "pharmacokinetics", "arm7_hessian", "kalman", "bundle", "gmm"}


def _is_mapped(row: Row) -> bool:
    """Whether a row is another one over many points, or for its derivatives."""
    return row.name.endswith(("_batch", "_jacobian"))


EACH_ROW = [
    pytest.param(
        row,
        dtype,
        id=f"{row.name}-{dtype}",
        marks=[pytest.mark.slow] * (row.name in _LONG or dtype == "f32" or _is_mapped(row)),
    )
    for row in ROWS
    for dtype in row.dtypes
    if not row.symbolic
]


def graph_of(row: Row, arguments: Sequence[Any], unknown: int = -1) -> Function:
    """Return what a row asks for; axes as long as ``unknown`` have a symbol for their size."""
    types = [
        Type(
            dtype_of(array.dtype),
            tuple(symbol("n") if size == unknown else size for size in array.shape),
        )
        for array in arguments
    ]
    request = Request("value") if row.wrt is None else Request(row.of, row.wrt)
    return derive(trace(row.function, types).function, request)


def results_of(
    function: Function, arguments: Sequence[Any], choices: Choices, cpu: str = "native"
) -> list[Any]:
    text = lower_nest(schedule(function, choices=choices), "test", machine_of(target(cpu)))
    return Kernel(function, compile_module(text, cpu), "test", native=False)(list(arguments))


@pytest.mark.parametrize(("row", "dtype"), EACH_ROW)
def test_lanes_and_processors(row: Row, dtype: str) -> None:
    arguments = make_case(row, row.tiny, dtype).arguments
    function = graph_of(row, arguments)
    wanted = results_of(function, arguments, Choices())
    ways = [(choices, "native") for choices in WAYS.values() if row.tiny.get("points") != 1]
    if host().triple.startswith("x86_64"):
        ways.append((Choices(), "x86-64-v3"))
        if "+avx512vl" in host().features:
            ways.append((Choices(), "x86-64-v4"))
    for choices, cpu in ways:
        for found, want in zip(results_of(function, arguments, choices, cpu), wanted, strict=True):
            assert_same_bits(found, want)


@pytest.mark.parametrize(
    "name",
    [
        "chain",
        "logistic",
        "logsumexp",
        "pairwise",
        pytest.param("softmax", marks=pytest.mark.slow),
        pytest.param("gmm", marks=pytest.mark.slow),
    ],
)
def test_sizes_that_only_the_running_program_knows(name: str) -> None:
    row = next(row for row in ROWS if row.name == name)
    arguments = make_case(row, row.tiny, "f64").arguments
    function = graph_of(row, arguments, row.tiny["n"])
    wanted = results_of(graph_of(row, arguments), arguments, Choices())
    for choices in (Choices(), *WAYS.values()):
        for found, want in zip(results_of(function, arguments, choices), wanted, strict=True):
            assert_same_bits(found, want)


def test_elements_have_the_same_bits_wherever_they_are() -> None:
    row = next(row for row in ROWS if row.name == "black_scholes")
    arguments = make_case(row, row.tiny, "f64").arguments
    length = len(arguments[0])
    whole = results_of(graph_of(row, arguments), arguments, Choices())
    for start in (1, 8, length - 1):
        part = [array[start:] for array in arguments]
        for found, want in zip(results_of(graph_of(row, part), part, Choices()), whole):
            assert_same_bits(found, want[start:])


@pytest.mark.parametrize(
    ("triple", "vectors"),
    [
        ("x86_64-linux-gnu", True),
        ("i686-linux-gnu", True),
        ("aarch64-linux-gnu", True),
        ("powerpc64le-linux-gnu", True),
        ("riscv64-linux-gnu", False),
        ("wasm32-unknown-unknown", False),
        ("thumbv7em-none-eabihf", False),
        ("armv7-linux-gnueabihf", False),  # its vectors lose subnormal numbers
    ],
)
def test_lanes_are_for_machines_with_vectors(triple: str, vectors: bool) -> None:
    n = symbol("n")
    function = function_of([Type(DType.F32, (n,))], lambda x: [build.exp(x)])
    text = Compilation(function, cpu=None, triple=triple).llvm
    assert (" x float>" in text) == vectors


SIZES = [*range(1, 12), *range(13, 71, 6), 31, 32, 33, 63, 64, 65]


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32], ids=str)
def test_squares_that_are_turned(dtype: DType) -> None:
    """Both products with a matrix read one block of it, whatever does not fill a square."""
    n = symbol("n")
    for columns in (1, 2, 7, 8, 9, 20):

        def body(x: Any, w: Any) -> list[Any]:
            product = build.contract(x, w, "ij,j->i")
            return [product, build.contract(x, product * product, "ij,i->j")]

        function = function_of([Type(dtype, (n, columns)), Type(dtype, (columns,))], body)
        random = np.random.default_rng(columns)
        cases = [
            [random.normal(size=(rows, columns)), random.normal(size=columns)] for rows in SIZES
        ]
        kernel = schedule(function, choices=Outside())
        assert any(loop.staged for loop in loops_of(kernel.body)) == (columns > 1)
        assert_compiled_same(function, *cases)


@pytest.mark.parametrize("dtype", [DType.F64, DType.F32], ids=str)
@pytest.mark.parametrize("rows", [3, 8, 9, 16, 17, 24, 31, 32])
def test_a_matrix_that_is_read_once_is_turned(rows: int, dtype: DType) -> None:
    """Where rows do not fill a vector, the last one stands for those behind it."""
    for columns in (8, 11, 40):
        types = [Type(dtype, (rows, columns)), Type(dtype, (columns,))]
        function = function_of(types, lambda x, w: [build.contract(x, w, "ij,j->i")])
        kernel = schedule(function, choices=Outside())
        assert any(loop.staged for loop in loops_of(kernel.body))
        random = np.random.default_rng(columns)
        assert_compiled_same(
            function, [random.normal(size=(rows, columns)), random.normal(size=columns)]
        )


def test_a_block_is_turned_for_the_loops_inside_alone() -> None:
    """What a loop outside reads again would be turned again."""
    types = [Type(DType.F64, (1000, 8)), Type(DType.F64, (1000, 8))]
    product = function_of(types, lambda x, y: [build.contract(x, y, "ki,kj->ij")])
    inside = schedule(product, choices=Inside())
    assert not any(loop.staged for loop in loops_of(inside.body))
    outside = schedule(product)
    assert [len(loop.staged) for loop in loops_of(outside.body) if loop.staged] == [2]


def test_the_sums_of_a_product_with_a_near_matrix_stay_in_registers() -> None:
    """The matrix is not read row by row: that would go through all sums at each turn."""
    types = [Type(DType.F64, (64, 64)), Type(DType.F64, (64,))]

    def body(w: Any, g: Any) -> list[Any]:
        return [build.contract(g * (g + 1.0), w, "i,ij->j")]

    loops = list(loops_of(schedule(function_of(types, body)).body))
    (sum_loop,) = (loop for loop in loops if loop.reductions)
    assert not any(isinstance(item, Loop) for item in sum_loop.body)


def test_functions_of_sums_along_long_rows_have_a_loop_of_their_own() -> None:
    def inside(rows: int, columns: int, gradient: bool = False) -> list[set[str]]:
        types = [Type(DType.F64, (rows, columns)), Type(DType.F64, (columns,))]

        def body(w: Any, x: Any) -> list[Any]:
            y = build.exp(build.contract(w, x, "ij,j->i"))
            return [y, build.contract(w, y, "ij,i->j")] if gradient else [y]

        function = function_of(types, body)
        kernel = schedule(function)
        made = Kernel(function, compile_module(lower_nest(kernel, "test")), "test", native=False)
        random = np.random.default_rng(rows)
        arguments = [random.normal(size=(rows, columns)), random.normal(size=columns)]
        for found, want in zip(made(arguments), interpret(function, arguments), strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-12)
        outermost = [item for item in kernel.body if isinstance(item, Loop)]
        return [{s.node.op.name for s in statements_of(loop.body)} for loop in outermost]

    assert inside(64, 64) == [{"contract"}, {"exp"}]
    # sums from left to right have a row for each lane, and what is read again is read once
    assert inside(64, 32) == [{"contract", "exp"}]
    assert inside(1000, 50, gradient=True) == [{"contract", "exp"}]


@pytest.mark.slow
def test_sums_that_run_side_by_side() -> None:
    """Register tiles: whole ones, and the sum that has no neighbour."""
    n = symbol("n")

    def body(x: Any, a: Any) -> list[Any]:
        product = build.contract(x, a, "nj,ij->ni")
        return [build.reduce_sum(product * product, (1,)), build.reduce_sum(product, (0,))]

    for sums in (2, 5, 8):
        types = [Type(DType.F64, (n, 9)), Type(DType.F64, (sums, 9))]
        function = function_of(types, body)
        kernel = schedule(function, choices=Outside())
        texts = [lower_nest(kernel, "test", Machine(is_wide=wide)) for wide in (False, True)]
        assert texts[0] != texts[1]
        random = np.random.default_rng(sums)
        for length in (0, 1, 31, 32, 33, 70):
            arguments = [random.normal(size=(length, 9)), random.normal(size=(sums, 9))]
            wanted = interpret(function, arguments)
            for text in texts:
                made = Kernel(function, compile_module(text), "test", native=False)
                for found, want in zip(made(arguments), wanted, strict=True):
                    assert_same_bits(found, want)


def test_lanes_from_anywhere_are_loaded_at_once_or_one_by_one() -> None:
    types = [Type(DType.F64, (40,)), Type(DType.I64, (21,)), Type(DType.F64, (5, 40))]

    def body(x: Any, at: Any, rows: Any) -> list[Any]:
        column = build.slice(rows, (0, 3), (5, 1), (1, 1))
        return [build.gather(x, [at], (0,)) * 2.0, build.reshape(column, (5,)) + 1.0]

    function = function_of(types, body)
    random = np.random.default_rng(0)
    arguments = [random.normal(size=40), random.integers(-40, 40, 21), random.normal(size=(5, 40))]
    wanted = interpret(function, arguments)
    for gathers in (True, False):
        machine = Machine(is_wide=True, permutes=True, gathers=gathers)
        text = lower_nest(schedule(function, choices=Inside()), "test", machine)
        assert ("insertelement" in text) is not gathers
        made = Kernel(function, compile_module(text), "test", native=False)
        for found, want in zip(made(arguments), wanted, strict=True):
            assert_same_bits(found, want)


def test_lanes_run_along_what_another_result_of_a_loop_holds() -> None:
    """Its layout decides, not that of the loop's first result, which has other axes."""

    def handed_on(a: Any, b: Any) -> Any:
        def step(last: Any, row: Any) -> Any:
            return np.sin(last) + row, last

        stacked = [gradc.scan(step, rows[0], rows)[1] for rows in (a, b)]
        return np.sum(np.einsum("aij,aik->akj", *stacked), 0)

    specs = [Type(DType.F64, (11, 40, 40))] * 2
    nest = schedule(derive(trace(handed_on, specs).function, Request("value")))
    (product,) = (one for one in nest.statements if one.node.op.name == "contract")
    (lanes,) = (dim for loop, dim in product.loops if loop.block > 1)
    assert lanes != product.sequential


@pytest.mark.slow
def test_many_folds_at_once() -> None:
    n = symbol("n")

    def body(x: Any, y: Any) -> list[Any]:
        outer = build.contract(x, y, "ni,nj->ij")
        return [outer, build.reduce_sum(x, (0,)), build.reduce_max(x, (0,))]

    for rows, columns in ((3, 4), (5, 13), (9, 8)):
        types = [Type(DType.F64, (n, rows)), Type(DType.F64, (n, columns))]
        function = function_of(types, body)
        random = np.random.default_rng(rows)
        for length in (1, 8, 31, 32, 33, 65, 4200):
            arguments = [random.normal(size=(length, rows)), random.normal(size=(length, columns))]
            wanted = interpret(function, arguments)
            for found, want in zip(results_of(function, arguments, Outside()), wanted):
                assert_same_bits(found, want)
