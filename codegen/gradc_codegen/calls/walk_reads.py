"""The steps that look at objects: conditions, parts of nests, what is read from outside."""

from __future__ import annotations

from gradc_codegen.calls import layout
from gradc_codegen.calls.steps import Step
from gradc_codegen.calls.walk_writer import Steps, Walker

READS = Steps()
writes = READS.writes


# -- conditions ------------------------------------------------------------------------------------


@writes(Step.SAME)
def _same(w: Walker) -> None:
    w.require(w.equal(w.register(0), w.operand(1, "ptr")))
    w.next(3)


@writes(Step.KIND)
def _kind(w: Walker) -> None:
    w.require(w.equal(w.type_of(w.register(0)), w.operand(1, "ptr")))
    w.next(3)


@writes(Step.ENTRY_IS)
def _entry_is(w: Walker) -> None:
    w.require(w.equal(entry(w, w.operand(0, "ptr"), w.operand(1, "ptr")), w.operand(2, "ptr")))
    w.next(4)


def entry(w: Walker, holder: str, key: str) -> str:
    """Return an entry of a dict."""
    return w.found(w.call("ptr", "PyDict_GetItemWithError", f"ptr {holder}", f"ptr {key}"))


@writes(Step.CODE_IS)
def _code_is(w: Walker) -> None:
    code = w.call("ptr", "PyFunction_GetCode", f"ptr {w.operand(0, 'ptr')}")
    w.require(w.equal(code, w.operand(1, "ptr")))
    w.next(3)


@writes(Step.ATTRIBUTE_IS)
def _attribute_is_same(w: Walker) -> None:
    _compare_new(w, attribute_of(w, w.operand(0, "ptr"), w.operand(1, "ptr")), w.operand(2, "ptr"))
    w.next(4)


@writes(Step.MEMBER_IS)
def _member_is(w: Walker) -> None:
    member = w.call(
        "ptr", "_PyType_Lookup", f"ptr {w.operand(0, 'ptr')}", f"ptr {w.operand(1, 'ptr')}"
    )
    w.require(w.equal(member, w.operand(2, "ptr")))
    w.next(4)


@writes(Step.VARIABLE_IS)
def _variable_is(w: Walker) -> None:
    w.emit("store ptr null, ptr %found")
    w.call("i32", "PyContextVar_Get", f"ptr {w.operand(0, 'ptr')}", "ptr null", "ptr %found")
    _compare_new(w, w.found(w.load("ptr", "%found")), w.operand(1, "ptr"))
    w.next(3)


@writes(Step.IS_TRUE)
def _is_true(w: Walker) -> None:
    _compare_new(w, called(w, w.operand(0, "ptr")), w.known("True"))
    w.next(2)


@writes(Step.EQUAL)
def _equal(w: Walker) -> None:
    value, wanted = w.register(0), w.operand(1, "ptr")
    w.require(w.equal(w.type_of(value), w.type_of(wanted)))
    same = w.call("i32", "PyObject_RichCompareBool", f"ptr {value}", f"ptr {wanted}", "i32 2")
    with w.when(w.differ(same, "1", "i32"), "leave"):
        w.call("void", "PyErr_Clear")
    w.next(3)


@writes(Step.ALIKE)
def _alike(w: Walker) -> None:
    w.require(w.equal(w.register(0), w.register(1)))
    w.next(3)


@writes(Step.UNLIKE)
def _unlike(w: Walker) -> None:
    w.require(w.differ(w.register(0), w.register(1)))
    w.next(3)


def called(w: Walker, function: str) -> str:
    """Return a new reference to what a function without parameters returns."""
    return w.found(w.call("ptr", "PyObject_CallNoArgs", f"ptr {function}"))


def _compare_new(w: Walker, value: str, wanted: str) -> None:
    """Go on where a new reference is to an object; it goes in any case."""
    same = w.equal(value, wanted)
    w.call("void", "Py_DecRef", f"ptr {value}")
    w.require(same)


# -- parts of nests --------------------------------------------------------------------------------


@writes(Step.DICT_ITEMS)
def _dict_items(w: Walker) -> None:
    nest, count = w.register(0), w.operand(1)
    w.require(w.equal(w.type_of(nest), w.known("dict")))
    w.require(w.equal(w.call("i64", "PyDict_Size", f"ptr {nest}"), count, "i64"))
    w.emit("store i64 0, ptr %position")
    with w.each(count) as i:
        w.call("i32", "PyDict_Next", f"ptr {nest}", "ptr %position", "ptr %key", "ptr %item")
        pair = w.value(f"getelementptr [2 x i64], ptr {w.pc}, i64 {i}")
        wanted = w.load("ptr", pair, 24)
        found = w.load("ptr", "%key")
        same = w.call("i32", "PyObject_RichCompareBool", f"ptr {found}", f"ptr {wanted}", "i32 2")
        with w.when(w.differ(same, "1", "i32"), "leave"):
            w.call("void", "PyErr_Clear")
        part = w.place("registers", w.load("i64", pair, 32))
        w.emit(f"store ptr {w.load('ptr', '%item')}, ptr {part}")
    w.next(3, w.value(f"mul i64 {count}, 2"))


@writes(Step.LENGTH_OF_LIST)
def _length_of_list(w: Walker) -> None:
    nest = w.register(0)
    w.require(w.equal(w.type_of(nest), w.known("list")))
    _length(w, nest, "PyList_Size")


@writes(Step.LENGTH_OF_TUPLE)
def _length_of_tuple(w: Walker) -> None:
    _length(w, w.register(0), "PyTuple_Size")


def _length(w: Walker, nest: str, of: str) -> None:
    w.require(w.equal(w.call("i64", of, f"ptr {nest}"), w.operand(1), "i64"))
    w.next(3)


@writes(Step.LIST_ITEM)
def _list_item(w: Walker) -> None:
    _item(w, "PyList_GetItem")


@writes(Step.TUPLE_ITEM)
def _tuple_item(w: Walker) -> None:
    _item(w, "PyTuple_GetItem")


def _item(w: Walker, of: str) -> None:
    item = w.call("ptr", of, f"ptr {w.register(0)}", f"i64 {w.operand(1)}")
    w.set_register(2, w.found(item))
    w.next(4)


@writes(Step.ATTRIBUTE)
def _attribute(w: Walker) -> None:
    hold_attribute(w, w.register(0))


def hold_attribute(w: Walker, owner: str) -> None:
    """Put an attribute of an object into the register of the third operand."""
    value = attribute_of(w, owner, w.operand(1, "ptr"))
    w.hold(value)
    w.set_register(2, value)
    w.next(4)


def attribute_of(w: Walker, owner: str, name: str) -> str:
    """Return a new reference to an attribute."""
    return w.found(w.call("ptr", "PyObject_GetAttr", f"ptr {owner}", f"ptr {name}"))


# -- what is read from outside ---------------------------------------------------------------------


@writes(Step.READ_ENTRY)
def _readentry(w: Walker) -> None:
    w.set_register(2, entry(w, w.operand(0, "ptr"), w.operand(1, "ptr")))
    w.next(4)


@writes(Step.READ_ATTRIBUTE)
def _read_attribute(w: Walker) -> None:
    hold_attribute(w, w.operand(0, "ptr"))


@writes(Step.OBJECT)
def _object(w: Walker) -> None:
    w.set_register(0, w.operand(1, "ptr"))
    w.next(3)


@writes(Step.STATE)
def _state(w: Walker) -> None:
    place = w.place_in("%state", layout.FIRST_ITEM, w.operand(0))
    w.set_register(1, w.load("ptr", place))
    w.next(3)


@writes(Step.READ)
def _read(w: Walker) -> None:
    value = called(w, w.operand(0, "ptr"))
    w.hold(value)
    w.set_register(1, value)
    w.next(3)
