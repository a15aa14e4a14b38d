"""The steps that call the kernel and make what the call returns."""

from __future__ import annotations

from gradc_codegen.calls import layout
from gradc_codegen.calls.steps import LARGE_RESULT, Cell, Output, Step
from gradc_codegen.calls.walk_writer import Steps, Walker

RESULTS = Steps()
writes = RESULTS.writes


@writes(Step.CALL)
def _call(w: Walker) -> None:
    count = w.operand(5)
    w.emit("store i64 0, ptr %pushed")
    with w.each(count) as i:
        _new_output(w, i)
    _with_scratch(w)
    with w.when(w.differ(w.load("i32", "%status"), "0", "i32"), "failed"):
        w.release_outputs(count)
    finished = w.fresh("finished")
    w.unless(w.differ(w.operand(6), "0", "i64"), finished)
    with w.each(count) as i:
        is_logical = w.equal(w.load("i64", _output(w, i)), str(Output.BOOL.value), "i64")
        with w.when(is_logical):
            byte = w.load("i8", w.load("ptr", w.place("outputs", i)))
            true, false = w.known("numpy.True"), w.known("numpy.False")
            is_set = w.differ(byte, "0", "i8")
            result = w.value(f"select i1 {is_set}, ptr {true}, ptr {false}")
            w.call("void", "Py_IncRef", f"ptr {result}")
            w.emit(f"store ptr {result}, ptr {w.place('results', i)}")
        target = w.load("i64", _output(w, i), 32)
        with w.when(w.differ(target, "0", "i64")):
            _fill_target(w, i, target)
    w.go(finished)
    w.label(finished)
    w.next(8, w.value(f"mul i64 {count}, 6"))


def _output(w: Walker, i: str) -> str:
    """Return the address of the words of an output."""
    at = w.value(f"add i64 {w.value(f'mul i64 {i}, 6')}, 8")
    return w.value(f"getelementptr i64, ptr {w.pc}, i64 {at}")


def _fill_target(w: Walker, i: str, target: str) -> None:
    """Copy an output into its target where that overlaps an input, and make it the result."""
    array = w.load("ptr", w.place("registers", w.value(f"sub i64 {target}, 1")))
    result = w.place("results", i)
    with w.when(w.differ(w.load("i64", w.place("copied", i)), "0", "i64")):
        made = w.load("ptr", result)
        data, numbers = w.load("ptr", array, layout.DATA), w.load("ptr", made, layout.DATA)
        size = w.load("i64", _output(w, i), 40)
        w.call("ptr", "memmove", f"ptr {data}", f"ptr {numbers}", f"i64 {size}")
        w.call("void", "Py_DecRef", f"ptr {made}")
        w.emit(f"store ptr null, ptr {result}")
    with w.when(w.equal(w.operand(4), "0", "i64")):
        w.call("void", "Py_IncRef", f"ptr {array}")
        w.emit(f"store ptr {array}, ptr {result}")


@writes(Step.ZERO)
def _zero(w: Walker) -> None:
    number = w.load("i64", w.place("hidden", w.operand(0)))
    with w.when(w.differ(number, "0", "i64"), "failed"):
        w.release_outputs(w.operand(1))
    w.next(3)


@writes(Step.GIVE)
def _give(w: Walker) -> None:
    value = w.register(0)
    w.call("void", "Py_IncRef", f"ptr {value}")
    w.push(value)
    w.next(2)


@writes(Step.DOOR)
def _door(w: Walker) -> None:
    known, count = w.operand(2, "ptr"), w.operand(3)
    first = w.call("i64", "PyTuple_Size", f"ptr {known}")
    state = w.made(w.call("ptr", "PyTuple_New", f"i64 {w.value(f'add i64 {first}, {count}')}"))
    with w.each(first) as i:
        part = w.load("ptr", w.place_in(known, layout.FIRST_ITEM, i))
        w.call("void", "Py_IncRef", f"ptr {part}")
        w.emit(f"store ptr {part}, ptr {w.place_in(state, layout.FIRST_ITEM, i)}")
    bottom = w.value(f"sub i64 {w.load('i64', '%top')}, {count}")
    with w.each(count) as i:
        part = w.load("ptr", w.place("stack", w.value(f"add i64 {bottom}, {i}")))
        at = w.value(f"add i64 {first}, {i}")
        w.emit(f"store ptr {part}, ptr {w.place_in(state, layout.FIRST_ITEM, at)}")
    w.emit(f"store i64 {bottom}, ptr %top")
    method = w.call("ptr", "PyMethod_New", f"ptr {w.operand(1, 'ptr')}", f"ptr {state}")
    w.call("void", "Py_DecRef", f"ptr {state}")
    function = w.call(
        "ptr", "PyCFunction_NewEx", f"ptr {w.operand(0, 'ptr')}", f"ptr {w.made(method)}",
        "ptr null",
    )  # fmt: skip
    w.call("void", "Py_DecRef", f"ptr {method}")
    w.push(w.made(function))
    w.next(5)


def _new_output(w: Walker, i: str) -> None:
    """Make the object of an output, and tell where its numbers go."""
    first = _output(w, i)
    kind = w.load("i64", first)
    result, output = w.place("results", i), w.place("outputs", i)
    scalar, array, logical, hidden, fresh, made = map(
        w.fresh, ("scalar", "array", "logical", "hidden", "fresh", "made")
    )
    cases = " ".join(
        f"i64 {which.value}, label %{label}"
        for which, label in (
            (Output.SCALAR, scalar), (Output.ARRAY, array), (Output.HIDDEN, hidden),
        )
    )  # fmt: skip
    w.emit(f"switch i64 {kind}, label %{logical} [{cases}]")
    w.label(scalar)
    number = w.made(w.call("ptr", "PyType_GenericAlloc", f"ptr {w.load('ptr', first, 8)}", "i64 0"))
    inside = w.value(f"getelementptr i8, ptr {number}, i64 {layout.NUMBER}")
    w.emit(f"store ptr {number}, ptr {result}")
    w.emit(f"store ptr {inside}, ptr {output}")
    w.go(made)
    w.label(array)
    w.emit(f"store ptr null, ptr {result}")
    none = w.equal(w.load("i64", first, 32), "0", "i64")
    copied = w.differ(w.load("i64", w.place("copied", i)), "0", "i64")
    w.branch(w.value(f"or i1 {none}, {copied}"), fresh, made)
    w.label(fresh)
    dtype = w.value(f"trunc i64 {w.load('i64', first, 8)} to i32")
    rank = w.value(f"trunc i64 {w.load('i64', first, 16)} to i32")
    _from_kept_memory(w, first)
    new = w.call(
        "ptr", "PyArray_New", f"ptr {w.known('ndarray')}", f"i32 {rank}",
        f"ptr {w.load('ptr', first, 24)}", f"i32 {dtype}", "ptr null", "ptr null", "i32 0",
        "i32 0", "ptr null",
    )  # fmt: skip
    _from_usual_memory(w)
    w.made(new)
    w.emit(f"store ptr {new}, ptr {result}")
    w.emit(f"store ptr {w.load('ptr', new, layout.DATA)}, ptr {output}")
    w.go(made)
    w.label(hidden)
    w.emit(f"store ptr null, ptr {result}")
    w.emit(f"store ptr {w.place('hidden', i)}, ptr {output}")
    w.go(made)
    w.label(logical)
    w.emit(f"store ptr null, ptr {result}")
    byte = w.value(f"getelementptr i8, ptr %logicals, i64 {i}")
    w.emit(f"store ptr {byte}, ptr {output}")
    w.go(made)
    w.label(made)
    w.emit(f"store i64 {w.value(f'add i64 {i}, 1')}, ptr %pushed")


def _from_kept_memory(w: Walker, output: str) -> None:
    """Have the memory of a large array be some that is kept; whoever has set a handler keeps it."""
    w.emit("store ptr null, ptr %before")
    own = w.load("ptr", "%cells", 8 * Cell.MEMORY)
    is_large = w.value(f"icmp uge i64 {w.load('i64', output, 40)}, {LARGE_RESULT}")
    with w.when(w.value(f"and i1 {is_large}, {w.differ(own, 'null')}")):
        before = w.made(w.call("ptr", "PyDataMem_SetHandler", f"ptr {own}"))
        w.emit(f"store ptr {before}, ptr %before")
        with w.when(w.differ(before, w.load("ptr", "%cells", 8 * Cell.USUAL_MEMORY))):
            _from_usual_memory(w)
            w.emit("store ptr null, ptr %before")


def _from_usual_memory(w: Walker) -> None:
    """Have memory come from where it came from before."""
    before = w.load("ptr", "%before")
    with w.when(w.differ(before, "null")):
        own = w.call("ptr", "PyDataMem_SetHandler", f"ptr {before}")
        w.call("void", "Py_DecRef", f"ptr {own}")
        w.call("void", "Py_DecRef", f"ptr {before}")


def _with_scratch(w: Walker) -> None:
    """Call the kernel with scratch of its own: the shared one, or a piece for this call."""
    wanted = w.operand(3)
    w.emit("store ptr null, ptr %work")
    w.emit("store i64 0, ptr %owned")
    taken = w.value(f"getelementptr i64, ptr %cells, i64 {Cell.SCRATCH_TAKEN.value}")
    with w.when(w.differ(wanted, "0", "i64")):
        is_free = w.equal(w.load("i64", taken), "0", "i64")
        room = w.load("i64", "%cells", 8 * Cell.SCRATCH_BYTES)
        fits = w.value(f"and i1 {is_free}, {w.value(f'icmp uge i64 {room}, {wanted}')}")
        shared, own, ready = map(w.fresh, ("shared", "own", "ready"))
        w.branch(fits, shared, own)
        w.label(shared)
        piece = w.load("ptr", "%cells", 8 * Cell.SCRATCH)
        w.emit(f"store ptr {piece}, ptr {taken}")
        w.emit(f"store ptr {piece}, ptr %work")
        w.go(ready)
        w.label(own)
        piece = w.call("ptr", "PyMem_RawMalloc", f"i64 {wanted}")
        with w.when(w.equal(piece, "null"), "raise"):
            w.call("ptr", "PyErr_NoMemory")
        w.emit(f"store ptr {piece}, ptr %work")
        w.emit("store i64 1, ptr %owned")
        w.go(ready)
        w.label(ready)
    call = (
        f"call i32 {w.operand(0, 'ptr')}(ptr %inputs, ptr %outputs, ptr {w.operand(1, 'ptr')}, "
        f"ptr {w.load('ptr', '%work')})"
    )
    long, short, after = map(w.fresh, ("long", "short", "after"))
    w.branch(w.differ(w.operand(2), "0", "i64"), long, short)
    w.label(long)
    thread = w.call("ptr", "PyEval_SaveThread")
    w.emit(f"store i32 {w.value(call)}, ptr %status")
    w.call("void", "PyEval_RestoreThread", f"ptr {thread}")
    w.go(after)
    w.label(short)
    w.emit(f"store i32 {w.value(call)}, ptr %status")
    w.go(after)
    w.label(after)
    with w.when(w.differ(wanted, "0", "i64")):
        owned = w.differ(w.load("i64", "%owned"), "0", "i64")
        free, give, gone = map(w.fresh, ("free", "give", "gone"))
        w.branch(owned, free, give)
        w.label(free)
        w.call("void", "PyMem_RawFree", f"ptr {w.load('ptr', '%work')}")
        w.go(gone)
        w.label(give)
        # after a fork it may be another's
        with w.when(w.equal(w.load("ptr", taken), w.load("ptr", "%work"))):
            w.emit(f"store i64 0, ptr {taken}")
        w.go(gone)
        w.label(gone)


@writes(Step.PUSH)
def _push(w: Walker) -> None:
    place = w.place("results", w.operand(0))
    w.push(w.load("ptr", place))
    w.emit(f"store ptr null, ptr {place}")
    w.next(2)


@writes(Step.DROP)
def _drop(w: Walker) -> None:
    place = w.place("results", w.operand(0))
    w.call("void", "Py_DecRef", f"ptr {w.load('ptr', place)}")
    w.emit(f"store ptr null, ptr {place}")
    w.next(2)


@writes(Step.NONE)
def _none(w: Walker) -> None:
    nothing = w.known("None")
    w.call("void", "Py_IncRef", f"ptr {nothing}")
    w.push(nothing)
    w.next(1)


@writes(Step.TUPLE)
def _tuple(w: Walker) -> None:
    _sequence(w, "PyTuple_New", "")


@writes(Step.LIST)
def _list(w: Walker) -> None:
    _sequence(w, "PyList_New", "PyList_SetItem")


def _sequence(w: Walker, new: str, put: str) -> None:
    count = w.operand(0)
    whole = w.made(w.call("ptr", new, f"i64 {count}"))
    first = w.value(f"sub i64 {w.load('i64', '%top')}, {count}")
    with w.each(count) as i:
        item = w.load("ptr", w.place("stack", w.value(f"add i64 {first}, {i}")))
        if put:
            w.call("i32", put, f"ptr {whole}", f"i64 {i}", f"ptr {item}")  # takes the reference
        else:
            w.emit(f"store ptr {item}, ptr {w.place_in(whole, layout.FIRST_ITEM, i)}")
    w.emit(f"store i64 {first}, ptr %top")
    w.push(whole)
    w.next(2)


@writes(Step.DICT)
def _dict(w: Walker) -> None:
    count = w.operand(0)
    whole = w.made(w.call("ptr", "PyDict_New"))
    first = w.value(f"sub i64 {w.load('i64', '%top')}, {count}")
    keys = w.value(f"getelementptr i64, ptr {w.pc}, i64 2")
    with w.each(count) as i:
        item = w.load("ptr", w.place("stack", w.value(f"add i64 {first}, {i}")))
        key = w.load("ptr", w.value(f"getelementptr ptr, ptr {keys}, i64 {i}"))
        w.call("i32", "PyDict_SetItem", f"ptr {whole}", f"ptr {key}", f"ptr {item}")
        w.call("void", "Py_DecRef", f"ptr {item}")
    w.emit(f"store i64 {first}, ptr %top")
    w.push(whole)
    w.next(2, count)


@writes(Step.APPLY)
def _apply(w: Walker) -> None:
    top = w.value(f"sub i64 {w.load('i64', '%top')}, 1")
    place = w.place("stack", top)
    given = w.load("ptr", place)
    found = w.made(
        w.call("ptr", "PyObject_CallOneArg", f"ptr {w.operand(0, 'ptr')}", f"ptr {given}")
    )
    w.emit(f"store ptr {found}, ptr {place}")
    w.call("void", "Py_DecRef", f"ptr {given}")
    w.next(2)


@writes(Step.RETURN)
def _return(w: Walker) -> None:
    w.release("holding", "held")
    w.count_running(-1)
    w.emit(f"ret ptr {w.load('ptr', w.place('stack', '0'))}")
