"""Contractions by BLAS: when that pays, how a graph says so, and the calls.

A contraction that is bound by arithmetic becomes the op ``matrix_product``, which is none of the
language: it is made here, before scheduling, and works on whole arrays. Where only the running
program knows the sizes, a branch is made of that op and of the contraction as it was.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from enum import Enum

from gradc_codegen.arrays.fortran import LARGEST_INTEGER, Fortran
from gradc_codegen.arrays.whole_array_site import Site, WholeOp
from gradc_codegen.nest.contractions import Product, arranged, product_of, total, weight
from gradc_codegen.text.module import REGISTER, Module, suffix
from gradc_codegen.text.writer import Writer
from gradc_ir import build, ops
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.op import Op
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.ops.linalg import condition_of, parse_spec

# A product of thinner matrices is bound by reading them.
LEAST_LENGTH = 16
# A call, and the copies BLAS makes for itself, cost about as much as so many terms in a loop nest.
LEAST_TERMS = 2**14
# So many terms have to be gained for each element that is stored only because BLAS is called.
LEAST_INTENSITY = 48
# They may be so many, or so many times those of the largest array the function takes or returns.
MOST_ELEMENTS = 2**23
MOST_GROWTH = 4

MATRIX_PRODUCT = Op(
    "matrix_product",
    "linalg",
    2,
    ops.contract.infer,
    ops.contract.reference,
    attributes=("spec",),
    summary="A contraction whose operands lie as BLAS reads them.",
)


class Choice(Enum):
    """How a contraction is computed."""

    LOOPS = "in the loop nest"
    CALL = "by BLAS"
    BRANCH = "by either, as the running program decides"


def choose(product: Product, stored: Size, around: Sequence[Size]) -> Choice:
    """Return how a product is best computed: the cost model.

    Parameters
    ----------
    product: its lengths and layouts.
    stored: how many elements are in memory for its sake alone.
    around: how many elements each array has that the function takes or returns.

    BLAS multiplies two to ten times as fast as a loop nest. But a nest computes operands and what
    becomes of the result on the way, in registers, where BLAS reads and writes memory. So BLAS is
    called where no axis is shorter than ``LEAST_LENGTH``, where a product has ``LEAST_TERMS``, and
    where ``LEAST_INTENSITY`` of them come to each stored element. And the memory of a kernel must
    not be of another order of size than that of its arguments: the distances between all pairs of
    many points are summed up without ever being stored.

    Where costs are weighed a symbol counts as a thousand; whether BLAS can and should be called for
    the sizes there are is left to the running kernel.
    """
    lengths = (product.rows, product.columns, product.summed)
    leading = [layout.leading for layout in (product.left, product.right, product.result)]
    known = [length for length in lengths if isinstance(length, int)]
    if any(length < LEAST_LENGTH for length in known):
        return Choice.LOOPS
    if any(isinstance(size, int) and size > LARGEST_INTEGER for size in (*lengths, *leading)):
        return Choice.LOOPS
    if weight(total(product)) < LEAST_INTENSITY * weight(stored):
        return Choice.LOOPS
    limit = MOST_GROWTH * max(map(weight, around), default=0.0)
    if weight(stored) > (max(limit, MOST_ELEMENTS) if isinstance(stored, int) else limit):
        return Choice.LOOPS
    if len(known) < len(lengths):
        return Choice.BRANCH
    if known[0] * known[1] * known[2] < LEAST_TERMS:
        return Choice.LOOPS
    return Choice.CALL if all(isinstance(size, int) for size in leading) else Choice.BRANCH


def by_blas(function: Function, node: Node, operands: Sequence[Value]) -> Value | None:
    """Return a contraction as BLAS computes it, in the active builder; None if loops are better.

    Operands that lie otherwise than BLAS can read them are copied.

    Parameters
    ----------
    function: what the contraction is in.
    node: the contraction.
    operands: its operands in the active builder.
    """
    x, y = operands
    spec = node.attributes["spec"]
    if x.type.dtype not in (DType.F64, DType.F32) or condition_of(spec) is not None:
        return None
    order = arranged(spec, x.type.shape, y.type.shape)
    if order is None:
        return None
    given, wanted = parse_spec(spec), parse_spec(order)
    shapes = [_permuted(value.type.shape, *pair) for value, pair in zip((x, y), zip(given, wanted))]
    product = product_of(order, *shapes)
    assert product is not None
    around = (*function.param_types, *function.result_types)
    choice = choose(product, _stored(function, node, wanted), [each.count for each in around])
    if choice is Choice.LOOPS:
        return None

    def call(x: Value, y: Value) -> Value:
        operands = (_transposed(x, given[0], wanted[0]), _transposed(y, given[1], wanted[1]))
        made = build.active().apply(MATRIX_PRODUCT, operands, {"spec": order})
        return _transposed(made.results[0], wanted[2], given[2])

    if choice is Choice.CALL:
        return call(x, y)
    then = _branch("by_blas", x.type, y.type, call)
    otherwise = _branch("by_loops", x.type, y.type, lambda x, y: build.contract(x, y, spec))
    return build.cond(_pays(product), then, otherwise, (x, y))[0]


# Families of ops whose results are in memory whatever reads them.
_STORED = ("control", "linalg", "order")


def _stored(function: Function, node: Node, wanted: Sequence[str]) -> Size:
    """Return how many elements are stored for BLAS: copies, and what nests compute on the way."""
    elements: Size = 0
    result = node.results[0]
    for value, given, order in zip(
        (*node.operands, result), parse_spec(node.attributes["spec"]), wanted
    ):
        from_ = value
        while from_.op.name == "reshape":
            (from_,) = from_.operands
        is_kept = from_.op.name in ("param", "constant") or from_.op.family in _STORED
        is_new = value is result or not is_kept
        if given != order or (is_new and value not in function.results):
            elements = elements + value.type.count
    return elements


def is_choice(node: Node) -> bool:
    """Whether a node is a branch made here: in it nothing is left to choose."""
    return node.op.name == "cond" and any(
        inner.op is MATRIX_PRODUCT for inner in node.attributes["then"].nodes
    )


def _permuted(shape: Sequence[Size], labels: str, wanted: str) -> tuple[Size, ...]:
    return tuple(shape[labels.index(label)] for label in wanted)


def _transposed(x: Value, labels: str, wanted: str) -> Value:
    return build.transpose(x, tuple(labels.index(label) for label in wanted))


def _branch(name: str, x: Type, y: Type, body: Callable[[Value, Value], Value]) -> Function:
    with Builder() as builder:
        params = [builder.param(i, type_) for i, type_ in enumerate((x, y))]
        return builder.function(name, params, [body(*params)])


def _pays(product: Product) -> Value:
    """Return whether BLAS can and should compute a product, of sizes that are known then."""
    lengths = (product.rows, product.columns, product.summed)
    leading = [layout.leading for layout in (product.left, product.right, product.result)]
    asked: list[Value] = []
    terms = build.full((), 1.0, DType.F64)
    for length in lengths:
        terms = terms * build.size_value(length, DType.F64)
        if not isinstance(length, int):
            asked.append(build.ge(build.size_value(length), LEAST_LENGTH))
    for size in dict.fromkeys((*lengths, *leading)):
        if not isinstance(size, int):
            asked.append(build.le(build.size_value(size), LARGEST_INTEGER))
    return functools.reduce(build.logical_and, asked, build.ge(terms, LEAST_TERMS))


# -- calls -----------------------------------------------------------------------------------------


def _write_product(site: Site) -> None:
    """Write the calls for a stack of products, one for each."""
    spec = site.node.attributes["spec"]
    x, y = (operand.type for operand in site.node.operands)
    product = product_of(spec, x.shape, y.shape)
    assert product is not None
    writer = site.writer
    parts = (
        (site.operands[0], product.left),
        (site.operands[1], product.right),
        (site.results[0], product.result),
    )
    sizes = [product.rows, product.columns, product.summed]
    sizes += [layout.leading for _, layout in parts]
    numbers = tuple(map(writer.size, sizes))
    name = _function(writer.module, product, x.dtype)

    def stack(depth: int, positions: tuple[str, ...]) -> None:
        if depth == len(product.stack):
            pointers = tuple(
                writer.emit(f"getelementptr {REGISTER[x.dtype]}, ptr {base}, i64 {position}")
                for (base, _), position in zip(parts, positions)
            )
            site.call(name, pointers, numbers)
            return

        def matrices(index: str) -> None:
            moved = (
                writer.add(position, writer.multiply(index, writer.size(layout.steps[depth])))
                for position, (_, layout) in zip(positions, parts)
            )
            stack(depth + 1, tuple(moved))

        writer.plain_loop("0", writer.size(product.stack[depth]), matrices)

    stack(0, ("0", "0", "0"))


matrix_product = WholeOp(_write_product)


def _function(module: Module, product: Product, dtype: DType) -> str:
    """Return the internal function that multiplies two matrices of such layouts."""
    transposed = [layout.transposed for layout in (product.left, product.right, product.result)]
    letters = "".join("nt"[one] for one in transposed)
    name = f"@gradc.matrix_product.{letters}.{suffix(dtype)}"
    return module.help(name, lambda: _define(module, name, transposed, dtype))


def _define(module: Module, name: str, transposed: Sequence[bool], dtype: DType) -> str:
    """Write the function.

    BLAS counts by columns. What has adjacent columns in our result is its first matrix, transposed:
    the right one, or the left one where the result is transposed.
    """
    writer = Writer(module, {})
    fortran = Fortran(writer, dtype)
    integers = {
        number: fortran.integer(f"%{number}")
        for number in ("rows", "columns", "summed", "below_x", "below_y", "below_z")
    }
    one, zero = fortran.number(1.0), fortran.number(0.0)
    operands = [
        ("%x", integers["below_x"], integers["rows"], transposed[0]),
        ("%y", integers["below_y"], integers["columns"], transposed[1]),
    ]
    first, second = operands if transposed[2] else reversed(operands)
    letters = ("T" if first[3] else "N", "N" if second[3] else "T")
    lengths = (first[2], second[2], integers["summed"])
    arguments = (one, *first[:2], *second[:2], zero, "%z", integers["below_z"])
    fortran.call("gemm", letters, (*lengths, *arguments))
    parameters = ["ptr %x", "ptr %y", "ptr noalias %z", *(f"i64 %{number}" for number in integers)]
    # its places on the stack are not the kernel's, which may have many such calls
    return writer.procedure(name, parameters, " noinline")
