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
    shape = w.load("ptr", array, layout.SHAPE)
    wanted = w.value(f"getelementptr i64, ptr {w.pc}, i64 5")
    with w.each(rank) as axis:
        size = w.load("i64", w.value(f"getelementptr i64, ptr {shape}, i64 {axis}"))
        same = w.load("i64", w.value(f"getelementptr i64, ptr {wanted}, i64 {axis}"))
        w.require(w.equal(size, same, "i64"))
    w.emit(f"store ptr {w.load('ptr', array, layout.DATA)}, ptr {w.place('inputs', w.operand(1))}")
    w.next(5, rank)


def _check_array(w: Walker, array: str, dtype: str, rank: str) -> None:
    """Go on where an object is an array of a dtype and a rank, contiguous and aligned."""
    w.require(w.equal(w.type_of(array), w.known("ndarray")))
    w.require(w.equal(w.load("ptr", array, layout.DESCR), dtype))
    flags, wanted = w.load("i32", array, layout.FLAGS), layout.CONTIGUOUS_AND_ALIGNED
    kept = w.value(f"and i32 {flags}, {wanted}")
    w.require(w.equal(kept, str(wanted), "i32"))
    w.require(w.equal(w.load("i32", array, layout.RANK), rank, "i32"))


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
    for name, bit in (("True", 1), ("False", 0)):
        with w.when(accepted(Form.BOOL, w.equal(value, w.known(name))), done):
            w.emit(f"store i64 {bit}, ptr {place}")
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
