"""The code that makes methods and their members, and calls them, as LLVM text.

It is part of the module of the walk. Where things lie :mod:`methods` says.
"""

from __future__ import annotations

from gradc_codegen.calls.called_object import CODE
from gradc_codegen.calls.methods import FUNC, GET, NAME, SELF
from gradc_codegen.calls.steps import (
    BOUND,
    CALL,
    CELLS,
    CLASS_OF_MEMBERS,
    CLASS_OF_METHODS,
    GET_MEMBER,
    GET_METHOD,
    Cell,
)
from gradc_codegen.calls.walk_writer import Walker


def write_methods(w: Walker) -> None:
    """Write the functions, and declare what they call."""
    _get_method(w)
    _get_member(w)
    _bound(w)
    w.lines += [
        f"@{name} = external global i8" for name in (CLASS_OF_METHODS, CLASS_OF_MEMBERS, CELLS)
    ]
    w.lines += [
        "declare void @Py_IncRef(ptr)",
        "declare ptr @PyObject_GetAttr(ptr, ptr)",
        "declare ptr @PyObject_CallOneArg(ptr, ptr)",
        "declare ptr @PyType_GenericAlloc(ptr, i64)",
        "declare i64 @PyTuple_Size(ptr)",
    ]


def _get_method(w: Walker) -> None:
    """Write ``__get__`` of functions: a method of the function and the instance."""
    w.lines.append(f'define ptr @"{GET_METHOD}"(ptr %function, ptr %instance, ptr %owner) {{')
    w.label("entry")
    _unless_of_class(w, "function")
    _make(w, CLASS_OF_METHODS, "%function", "%instance")
    w.lines.append("}")


def _get_member(w: Walker) -> None:
    """Write ``__get__`` of members: what the function has, with the instance."""
    w.lines.append(f'define ptr @"{GET_MEMBER}"(ptr %member, ptr %instance, ptr %owner) {{')
    w.label("entry")
    _unless_of_class(w, "member")
    w.unless(w.equal(w.type_of("%instance"), f"@{CLASS_OF_METHODS}"), "python")
    tracing = w.load("i64", f"@{CELLS}", 8 * Cell.TRACING)
    w.unless(w.equal(tracing, "0", "i64"), "python")
    function = w.load("ptr", "%instance", FUNC)
    attribute = f"@PyObject_GetAttr(ptr {function}, ptr {w.load('ptr', '%member', NAME)})"
    found = w.value(f"call ptr {attribute}")
    w.unless(w.differ(found, "null"), "nothing")
    # the method refers to the instance
    _make(w, CLASS_OF_MEMBERS, found, w.load("ptr", "%instance", SELF), is_new=True)
    w.label("nothing")
    w.emit("ret ptr null")
    w.label("python")
    call = f"@PyObject_CallOneArg(ptr {w.load('ptr', '%member', GET)}, ptr %instance)"
    w.emit(f"ret ptr {w.value(f'call ptr {call}')}")
    w.lines.append("}")


def _unless_of_class(w: Walker, itself: str) -> None:
    """Go on where there is an instance; a class has the object itself."""
    w.branch(w.equal("%instance", "null"), "itself", "bind")
    w.label("itself")
    w.emit(f"call void @Py_IncRef(ptr %{itself})")
    w.emit(f"ret ptr %{itself}")
    w.label("bind")


def _make(w: Walker, kind: str, function: str, instance: str, *, is_new: bool = False) -> None:
    """Return a method of a class, of a function, of which there may be a new reference."""
    made = w.value(f"call ptr @PyType_GenericAlloc(ptr @{kind}, i64 0)")
    failed = w.fresh("failed")
    w.unless(w.differ(made, "null"), failed)
    for offset, value in ((CODE, f"@{BOUND}"), (FUNC, function), (SELF, instance)):
        place = w.value(f"getelementptr i8, ptr {made}, i64 {offset}")
        w.emit(f"store ptr {value}, ptr {place}")
    for value in (instance,) if is_new else (function, instance):
        w.emit(f"call void @Py_IncRef(ptr {value})")
    w.emit(f"ret ptr {made}")
    w.label(failed)
    w.emit("ret ptr null")


def _bound(w: Walker) -> None:
    """Write the call of a method: that of the function with one argument more."""
    w.lines.append(f'define ptr @"{BOUND}"(ptr %method, ptr %args, i64 %given, ptr %names) {{')
    w.label("entry")
    w.emit("%keywords = alloca i64")
    w.emit("store i64 0, ptr %keywords")
    with w.when(w.differ("%names", "null")):
        named = w.value("call i64 @PyTuple_Size(ptr %names)")
        w.emit(f"store i64 {named}, ptr %keywords")
    positional = w.value(f"and i64 %given, {2**63 - 1}")
    count = w.value(f"add i64 {positional}, {w.load('i64', '%keywords')}")
    # before them lies what the callee may overwrite meanwhile
    room = w.value(f"alloca ptr, i64 {w.value(f'add i64 {count}, 2')}")
    first = w.value(f"getelementptr ptr, ptr {room}, i64 1")
    w.emit(f"store ptr {w.load('ptr', '%method', SELF)}, ptr {first}")
    with w.each(count) as i:
        argument = w.load("ptr", w.value(f"getelementptr ptr, ptr %args, i64 {i}"))
        to = w.value(f"getelementptr ptr, ptr {room}, i64 {w.value(f'add i64 {i}, 2')}")
        w.emit(f"store ptr {argument}, ptr {to}")
    more = w.value(f"add i64 {positional}, 1")
    told = w.value(f"or i64 {more}, {-(2**63)}")
    function = w.load("ptr", "%method", FUNC)
    found = w.value(f"call ptr @{CALL}(ptr {function}, ptr {first}, i64 {told}, ptr %names)")
    w.emit(f"ret ptr {found}")
    w.lines.append("}")
