"""Contractions by BLAS: when that pays, how a graph says so, and the calls.

A contraction that is bound by arithmetic becomes the op ``matrix_product``, which is none of the
language: it is made here, before scheduling, and works on whole arrays. Where only the running
program knows the sizes, a branch is made of that op and of the contraction as it was.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from enum import Enum

from gradc_codegen.composite import SUFFIX
from gradc_codegen.contractions import Product, arranged, product_of
from gradc_codegen.emitter import REGISTER, Module, Writer
from gradc_codegen.fortran import LARGEST_INTEGER, Fortran
from gradc_codegen.site import Site
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.graph import Function, Node, Value
from gradc_ir.op import Op
from gradc_ir.ops.linalg import contract, parse_spec
from gradc_ir.sizes import Size, at_least
from gradc_ir.types import DType, Type

# Each axis of a product has at least this length: what is thinner reads more than it computes.
LEAST_LENGTH = 16
# One product has at least this many terms: a call and its packing cost as much as 10 to 20 thousand.
LEAST_TERMS = 2**15
# The result is in memory whole. It may take this many elements …
MOST_ELEMENTS = 2**23
# … or this many times the largest array the function takes or returns.
MOST_GROWTH = 16

MATRIX_PRODUCT = Op(
    "matrix_product",
    "linalg",
    2,
    contract.infer,
    contract.reference,
    attributes=("spec",),
    summary="A contraction whose operands lie as BLAS reads them.",
)


class Choice(Enum):
    """How a contraction is computed."""

    LOOPS = "in the loop nest"
    CALL = "by BLAS"
    BRANCH = "by either, as the running program decides"


def choose(product: Product, result: Type, around: Sequence[Type]) -> Choice:
    """Return how a product is best computed: the cost model.

    Parameters
    ----------
    product: its lengths and layouts.
    result: the type of all its elements.
    around: the parameters and results of the function it is in.

    BLAS multiplies some ten times as fast as a loop nest, but a nest computes what goes in and what
    comes out on the way, in registers, where BLAS has to have it in memory. So it is called where
    each length is at least ``LEAST_LENGTH`` (a product of a matrix and a few vectors is bound by
    reading the matrix, once) and their product at least ``LEAST_TERMS``, and where its result is
    not of another order of size than what the caller has in memory anyway: the distances of all
    pairs of points are summed up without ever being stored.

    Symbols are not guessed at: what depends on them is decided by the kernel when it runs.
    """
    lengths = (product.rows, product.columns, product.summed)
    leading = [layout.leading for layout in (product.left, product.right, product.result)]
    known = [length for length in lengths if isinstance(length, int)]
    if any(length < LEAST_LENGTH for length in known):
        return Choice.LOOPS
    if any(isinstance(size, int) and size > LARGEST_INTEGER for size in (*lengths, *leading)):
        return Choice.LOOPS
    limits = [MOST_ELEMENTS, *(type_.count * MOST_GROWTH for type_ in around)]
    if not any(at_least(limit, result.count) for limit in limits):
        return Choice.LOOPS
    if len(known) < len(lengths):
        return Choice.BRANCH
    if known[0] * known[1] * known[2] < LEAST_TERMS:
        return Choice.LOOPS
    return Choice.CALL if all(isinstance(size, int) for size in leading) else Choice.BRANCH


def by_blas(x: Value, y: Value, spec: str, around: Sequence[Type]) -> Value | None:
    """Return a contraction in the active builder as BLAS computes it; None if loops are better.

    Operands that lie otherwise than BLAS can read them are copied.
    """
    if x.type.dtype not in (DType.F64, DType.F32):
        return None
    order = arranged(spec, x.type.shape, y.type.shape)
    if order is None:
        return None
    left, right, result = parse_spec(order)
    given = parse_spec(spec)
    shapes = (_permuted(x.type.shape, given[0], left), _permuted(y.type.shape, given[1], right))
    product = product_of(order, *shapes)
    assert product is not None
    (type_,) = contract.infer((x.type, y.type), {"spec": spec})
    choice = choose(product, type_, around)
    if choice is Choice.LOOPS:
        return None

    def call(x: Value, y: Value) -> Value:
        operands = (_transposed(x, given[0], left), _transposed(y, given[1], right))
        node = build.active().apply(MATRIX_PRODUCT, operands, {"spec": order})
        return _transposed(node.results[0], result, given[2])

    if choice is Choice.CALL:
        return call(x, y)
    then = _branch("by_blas", x.type, y.type, call)
    otherwise = _branch("by_loops", x.type, y.type, lambda x, y: build.contract(x, y, spec))
    return build.cond(_pays(product), then, otherwise, (x, y))[0]


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


def write_product(site: Site) -> None:
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


def _function(module: Module, product: Product, dtype: DType) -> str:
    """Return the internal function that multiplies two matrices of such layouts."""
    turned = [layout.turned for layout in (product.left, product.right, product.result)]
    letters = "".join("nt"[one] for one in turned)
    name = f"@gradc.matrix_product.{letters}.{SUFFIX[dtype]}"
    module.help(name, lambda: _define(module, name, turned, dtype))
    return name


def _define(module: Module, name: str, turned: Sequence[bool], dtype: DType) -> str:
    """Write the function.

    BLAS counts by columns. What has adjacent columns in our result is its first matrix, transposed:
    the right one, or the left one where the result is turned.
    """
    writer = Writer(module, {})
    fortran = Fortran(writer, dtype)
    integers = {
        number: fortran.integer(f"%{number}")
        for number in ("rows", "columns", "summed", "below_x", "below_y", "below_z")
    }
    one, zero = fortran.number(1.0), fortran.number(0.0)
    operands = [
        ("%x", integers["below_x"], integers["rows"], turned[0]),
        ("%y", integers["below_y"], integers["columns"], turned[1]),
    ]
    first, second = operands if turned[2] else reversed(operands)
    letters = ("T" if first[3] else "N", "N" if second[3] else "T")
    lengths = (first[2], second[2], integers["summed"])
    arguments = (one, *first[:2], *second[:2], zero, "%z", integers["below_z"])
    fortran.call("gemm", letters, (*lengths, *arguments))
    writer.do("ret void")
    parameters = ["ptr %x", "ptr %y", "ptr noalias %z", *(f"i64 %{number}" for number in integers)]
    # its places on the stack are not the kernel's, which may have many such calls
    return writer.text(f"define internal void {name}({', '.join(parameters)}) noinline")
