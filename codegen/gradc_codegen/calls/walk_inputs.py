"""The steps that take inputs of a kernel from objects: arrays, and numbers in all their forms."""

from __future__ import annotations

from gradc_codegen.calls import layout
from gradc_codegen.calls.steps import Form, Step
from gradc_codegen.calls.walk_writer import Steps, Walker

INPUTS = Steps()
writes = INPUTS.writes


@writes(Step.ARRAY)
def _array(w: Walker) -> None:
    array, rank = w.register(0), w.operand(3)
    _check_array(w, array, w.operand(2, "ptr"), w.value(f"trunc i64 {rank} to i32"))
    _check_shape(w, array, rank, 4)
    w.emit(f"store ptr {w.load('ptr', array, layout.DATA)}, ptr {w.place('inputs', w.operand(1))}")
    w.next(5, rank)


@writes(Step.SAME_ELEMENTS)
def _same_elements(w: Walker) -> None:
    array, rank = w.register(0), w.operand(3)
    _check_array(w, array, w.operand(2, "ptr"), w.value(f"trunc i64 {rank} to i32"))
    _check_shape(w, array, rank, 5)
    data, wanted = w.load("ptr", array, layout.DATA), w.operand(1, "ptr")
    order = w.call("i32", "memcmp", f"ptr {data}", f"ptr {wanted}", f"i64 {w.operand(4)}")
    w.require(w.equal(order, "0", "i32"))
    w.next(6, rank)


def _check_shape(w: Walker, array: str, rank: str, first: int) -> None:
    """Go on where an array has the sizes that the operands from the first one on are."""
    shape = w.load("ptr", array, layout.SHAPE)
    wanted = w.value(f"getelementptr i64, ptr {w.pc}, i64 {1 + first}")
    with w.each(rank) as axis:
        size = w.load("i64", w.value(f"getelementptr i64, ptr {shape}, i64 {axis}"))
        same = w.load("i64", w.value(f"getelementptr i64, ptr {wanted}, i64 {axis}"))
        w.require(w.equal(size, same, "i64"))


@writes(Step.ADDRESS)
def _address(w: Walker) -> None:
    w.emit(f"store ptr {w.operand(1, 'ptr')}, ptr {w.place('inputs', w.operand(0))}")
    w.next(3)


@writes(Step.TARGET)
def _target(w: Walker) -> None:
    array, slot, rank = w.register(0), w.operand(1), w.operand(3)
    _check_array(
        w, array, w.operand(2, "ptr"), w.value(f"trunc i64 {rank} to i32"),
        layout.CONTIGUOUS_AND_ALIGNED | layout.WRITEABLE,
    )  # fmt: skip
    _check_shape(w, array, rank, 8)
    data = w.load("i64", array, layout.DATA)
    end = w.value(f"add i64 {data}, {w.operand(4)}")

    def overlap(table: str, i: str, sizes: str) -> str:
        other = w.load("i64", w.place(table, i))
        size = w.load("i64", w.value(f"getelementptr i64, ptr {sizes}, i64 {i}"))
        begins = w.value(f"icmp ult i64 {other}, {end}")
        ends = w.value(f"icmp ult i64 {data}, {w.value(f'add i64 {other}, {size}')}")
        there = w.differ(size, "0", "i64")
        return w.value(f"and i1 {there}, {w.value(f'and i1 {begins}, {ends}')}")

    copied = w.place("copied", slot)
    w.emit(f"store i64 0, ptr {copied}")
    with w.each(w.operand(5)) as i, w.when(overlap("inputs", i, w.operand(6, "ptr"))):
        w.emit(f"store i64 1, ptr {copied}")
    with w.each(slot) as i:
        shared = overlap("outputs", i, w.operand(7, "ptr"))
        w.unless(w.value(f"xor i1 {shared}, true"), "leave")
    w.emit(f"store i64 {data}, ptr {w.place('outputs', slot)}")
    w.next(9, rank)


def _check_array(
    w: Walker, array: str, dtype: str, rank: str, wanted: int = layout.CONTIGUOUS_AND_ALIGNED
) -> None:
    """Go on where an object is an array of a dtype, a rank and flags: contiguous and aligned."""
    w.require(w.equal(w.type_of(array), w.known("ndarray")))
    given = w.load("ptr", array, layout.DESCR)
    with w.when(w.differ(given, dtype)):
        _check_alike(w, given, dtype)
    flags = w.load("i32", array, layout.FLAGS)
    kept = w.value(f"and i32 {flags}, {wanted}")
    w.require(w.equal(kept, str(wanted), "i32"))
    w.require(w.equal(w.load("i32", array, layout.RANK), rank, "i32"))


def _check_alike(w: Walker, given: str, dtype: str) -> None:
    """Go on where another dtype than one of NumPy's own is of the same elements.

    What comes out of a pickle has a dtype of its own, and one kind of elements has several names.
    """
    number = w.load("i32", given, layout.DTYPE_NUMBER)
    w.require(w.value(f"icmp ult i32 {number}, {layout.OWN_DTYPES}"))
    for type_, offset in (
        ("i8", layout.DTYPE_KIND),
        ("i8", layout.DTYPE_ORDER),
        ("i64", layout.DTYPE_BYTES),
    ):
        w.require(w.equal(w.load(type_, given, offset), w.load(type_, dtype, offset), type_))


@writes(Step.NUMBER)
def _number(w: Walker) -> None:
    value, forms = w.register(0), w.operand(2)
    kind = w.type_of(value)
    place = w.place("numbers", w.operand(1))
    w.emit(f"store ptr {place}, ptr {w.place('inputs', w.operand(1))}")
    inside = w.value(f"getelementptr i8, ptr {value}, i64 {layout.NUMBER}")
    done = w.fresh("done")

    def accepted(form: Form, condition: str) -> str:
        asked = w.differ(w.value(f"and i64 {forms}, {form.value}"), "0", "i64")
        return w.value(f"and i1 {asked}, {condition}")

    copied = w.value(
        f"or i1 {accepted(Form.FLOAT, w.equal(kind, w.known('float')))}, "
        f"{accepted(Form.SCALAR, w.equal(kind, w.operand(3, 'ptr')))}"
    )
    with w.when(copied, done):
        # an object is larger than its number by a pointer or more
        w.emit(f"store i64 {w.load('i64', inside)}, ptr {place}")
    with w.when(accepted(Form.ARRAY, w.equal(kind, w.known("ndarray"))), done):
        _check_array(w, value, w.operand(4, "ptr"), "0")
        _copy(w, w.load("ptr", value, layout.DATA), place, w.operand(5))
    with w.when(accepted(Form.INT, w.equal(kind, w.known("int"))), done):
        number = w.call("i64", "PyLong_AsLong", f"ptr {value}")
        low = w.value(f"trunc i64 {number} to i32")
        w.require(w.equal(w.value(f"sext i32 {low} to i64"), number, "i64"))
        with w.when(w.equal(number, "-1", "i64")):
            raised = w.call("ptr", "PyErr_Occurred")
            with w.when(w.differ(raised, "null"), "leave"):
                w.call("void", "PyErr_Clear")
        w.emit(f"store i64 {number}, ptr {place}")
    w.go("leave")
    w.label(done)
    w.next(7)


def _copy(w: Walker, source: str, target: str, count: str) -> None:
    """Copy 8, 4 or 1 bytes."""
    done = w.fresh("done")
    for type_, bytes_ in (("i64", 8), ("i32", 4), ("i8", 1)):
        with w.when(w.equal(count, str(bytes_), "i64"), done):
            w.emit(f"store {type_} {w.load(type_, source)}, ptr {target}")
    w.go("leave")
    w.label(done)
