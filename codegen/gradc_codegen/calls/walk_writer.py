"""The writer of the walk: lines, blocks and values, and how a plan is begun and left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gradc_codegen.calls import layout
from gradc_codegen.calls.steps import (
    CALL,
    FUNCTION,
    MOST_HELD,
    MOST_REGISTERS,
    MOST_SLOTS,
    NAME,
    OF_OBJECTS,
    Cell,
    Head,
    Step,
)


class Walker:
    """Writes the function, line by line; values and labels are numbered."""

    pc = "%pc"  # the address of the current step

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._serial = 0
        self._block = ""
        self._walk = 0  # the line that tells where steps are gone on with from
        self._before: list[str] = []

    # -- lines -------------------------------------------------------------------------------------

    def emit(self, line: str) -> None:
        """Write a line."""
        self.lines.append(f"  {line}")

    def label(self, name: str) -> None:
        """Begin a block."""
        self.lines.append(f"{name}:")
        self._block = name

    def value(self, expression: str) -> str:
        """Return the value of an expression, which is given a name."""
        self._serial += 1
        self.emit(f"%v{self._serial} = {expression}")
        return f"%v{self._serial}"

    def load(self, type_: str, pointer: str, offset: int = 0) -> str:
        """Return what lies at an offset from an address."""
        if offset:
            pointer = self.value(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.value(f"load {type_}, ptr {pointer}")

    def go(self, label: str) -> None:
        """End the block by going to another."""
        self.emit(f"br label %{label}")

    def branch(self, condition: str, yes: str, no: str) -> None:
        """End the block by going to one of two others."""
        self.emit(f"br i1 {condition}, label %{yes}, label %{no}")

    def fresh(self, name: str) -> str:
        """Return a name that no label has."""
        self._serial += 1
        return f"{name}{self._serial}"

    def unless(self, condition: str, label: str) -> None:
        """Go on where a condition holds, else to a label."""
        on = self.fresh("on")
        self.branch(condition, on, label)
        self.label(on)

    def require(self, condition: str) -> None:
        """Go on where a condition holds, else leave the plan."""
        self.unless(condition, "leave")

    @contextmanager
    def when(self, condition: str, to: str = "") -> Iterator[None]:
        """Write what is done only where a condition holds, and then go on, or ``to`` a label."""
        then, after = self.fresh("then"), self.fresh("after")
        self.branch(condition, then, after)
        self.label(then)
        yield
        self.go(to or after)
        self.label(after)

    @contextmanager
    def each(self, count: str) -> Iterator[str]:
        """Write what is done for each number below a count."""
        head, body, after = self.fresh("head"), self.fresh("body"), self.fresh("after")
        before = self._block
        self.go(head)
        self.label(head)
        self._serial += 1
        i, place = f"%v{self._serial}", len(self.lines)
        self.emit("")
        self.branch(self.value(f"icmp ult i64 {i}, {count}"), body, after)
        self.label(body)
        yield i
        more = self.value(f"add i64 {i}, 1")
        self.lines[place] = f"  {i} = phi i64 [0, %{before}], [{more}, %{self._block}]"
        self.go(head)
        self.label(after)

    # -- what is called and compared with ----------------------------------------------------------

    def known(self, name: str) -> str:
        """Return the address of a function or an object."""
        return self.load("ptr", "%table", 8 * layout.PLACES[name])

    def call(self, result: str, name: str, *arguments: str) -> str:
        """Return what a known function returns."""
        call = f"call {result} {self.known(name)}({', '.join(arguments)})"
        if result == "void":
            self.emit(call)
            return ""
        return self.value(call)

    def equal(self, one: str, other: str, type_: str = "ptr") -> str:
        """Return whether two values are equal."""
        return self.value(f"icmp eq {type_} {one}, {other}")

    def differ(self, one: str, other: str, type_: str = "ptr") -> str:
        """Return whether two values differ."""
        return self.value(f"icmp ne {type_} {one}, {other}")

    def type_of(self, value: str) -> str:
        """Return the class of an object."""
        return self.load("ptr", value, layout.TYPE)

    def found(self, value: str) -> str:
        """Return an object; leave the plan where there is none, or finding it raised."""
        missing = self.fresh("missing")
        self.unless(self.differ(value, "null"), missing)
        on = self.fresh("on")
        self.go(on)
        self.label(missing)
        self.call("void", "PyErr_Clear")
        self.go("leave")
        self.label(on)
        return value

    # -- the plan ----------------------------------------------------------------------------------

    def operand(self, position: int, type_: str = "i64") -> str:
        """Return an operand of the current step."""
        return self.load(type_, self.pc, 8 * (1 + position))

    def place(self, array: str, index: str) -> str:
        """Return the address of an entry of a table."""
        return self.value(f"getelementptr ptr, ptr %{array}, i64 {index}")

    def place_in(self, pointer: str, offset: int, index: str) -> str:
        """Return the address of an entry of a table of pointers at an offset from an address."""
        first = self.value(f"getelementptr i8, ptr {pointer}, i64 {offset}")
        return self.value(f"getelementptr ptr, ptr {first}, i64 {index}")

    def register(self, position: int) -> str:
        """Return the object in the register that an operand names."""
        return self.load("ptr", self.place("registers", self.operand(position)))

    def set_register(self, position: int, value: str) -> None:
        """Put an object into the register that an operand names."""
        self.emit(f"store ptr {value}, ptr {self.place('registers', self.operand(position))}")

    def hold(self, value: str) -> None:
        """Keep a new reference until the call is over."""
        count = self.load("i64", "%held")
        self.emit(f"store ptr {value}, ptr {self.place('holding', count)}")
        self.emit(f"store i64 {self.value(f'add i64 {count}, 1')}, ptr %held")

    def next(self, words: int, more: str = "0") -> None:
        """Go on with the step after so many words, and ``more``."""
        count = self.value(f"add i64 {words}, {more}")
        after = self.value(f"getelementptr i64, ptr {self.pc}, i64 {count}")
        self._go_on(after)

    def _go_on(self, step: str) -> None:
        """Go on with the step at an address."""
        self._before.append(f"[{step}, %{self._block}]")
        self.go("walk")

    def push(self, value: str) -> None:
        """Put a new reference on the stack of results."""
        top = self.load("i64", "%top")
        self.emit(f"store ptr {value}, ptr {self.place('stack', top)}")
        self.emit(f"store i64 {self.value(f'add i64 {top}, 1')}, ptr %top")

    def made(self, value: str) -> str:
        """Return a new object; end the call where making it raised."""
        self.unless(self.differ(value, "null"), "raise")
        return value

    # -- begin and end -----------------------------------------------------------------------------

    def begin(self) -> None:
        """Write what comes before the steps."""
        self.lines.append(
            f'define ptr @"{NAME}"(ptr %self, ptr %args, i64 %positional, ptr %names) {{'
        )
        self.label("entry")
        for name, count in (
            ("registers", MOST_REGISTERS),
            ("numbers", MOST_SLOTS),
            ("inputs", MOST_SLOTS),
            ("outputs", MOST_SLOTS),
            ("results", MOST_SLOTS),
            ("holding", MOST_HELD),
            ("stack", MOST_SLOTS),
            ("copied", MOST_SLOTS),
            ("hidden", MOST_SLOTS),
        ):
            self.emit(f"%{name} = alloca [{count} x ptr]")
        self.emit(f"%logicals = alloca [{MOST_SLOTS} x i8]")
        for name in (
            "plan",
            "found",
            "held",
            "top",
            "pushed",
            "keywords",
            "work",
            "owned",
            "before",
            "position",
            "key",
            "item",
        ):
            self.emit(f"%{name} = alloca i64")
        self.emit("%status = alloca i32")
        place = self.value(f"getelementptr i8, ptr %self, i64 {layout.BOUND_TO}")
        self.emit(f"%state = load ptr, ptr {place}")
        words = self.load("ptr", self.load("ptr", "%state", layout.FIRST_ITEM), layout.DATA)
        self.emit(f"%table = load ptr, ptr {self.value(f'getelementptr i8, ptr {words}, i64 8')}")
        self.emit(f"%cells = load ptr, ptr {self.value(f'getelementptr i8, ptr {words}, i64 16')}")
        for name in ("held", "top", "pushed", "keywords"):
            self.emit(f"store i64 0, ptr %{name}")
        tracing = self.load("i64", "%cells", 8 * Cell.TRACING)
        self.unless(self.equal(tracing, "0", "i64"), "miss")
        with self.when(self.differ("%names", "null")):
            given = self.call("i64", "PyTuple_Size", "ptr %names")
            self.emit(f"store i64 {given}, ptr %keywords")
        self.emit("%named = load i64, ptr %keywords")
        self.emit("%count = add i64 %positional, %named")
        self.unless(self.value(f"icmp ule i64 %count, {MOST_REGISTERS}"), "miss")
        with self.each("%count") as i:
            argument = self.load("ptr", self.value(f"getelementptr ptr, ptr %args, i64 {i}"))
            self.emit(f"store ptr {argument}, ptr {self.place('registers', i)}")
        self.emit(f"store ptr {self.load('ptr', words)}, ptr %plan")
        self.go("try")
        self._try()

    def _try(self) -> None:
        """Begin a plan, unless there is none left or it is for calls of other arguments."""
        self.label("try")
        plan = self.load("ptr", "%plan")
        self.unless(self.differ(plan, "null"), "miss")
        for word, wanted in ((Head.POSITIONAL, "%positional"), (Head.NAMED, "%named")):
            self.unless(self.equal(self.load("i64", plan, 8 * word), wanted, "i64"), "skip")
        version = self.load("i64", "%cells", 8 * Cell.VERSION)
        self.unless(self.equal(self.load("i64", plan, 8 * Head.VERSION), version, "i64"), "skip")
        with self.each("%named") as i:
            name = self.call("ptr", "PyTuple_GetItem", "ptr %names", f"i64 {i}")
            place = self.value(f"add i64 {i}, {Head.NAMES.value}")
            wanted = self.load("ptr", self.value(f"getelementptr ptr, ptr {plan}, i64 {place}"))
            self.unless(self.equal(name, wanted), "skip")
        first = self.value(f"add i64 %named, {Head.NAMES.value}")
        step = self.value(f"getelementptr i64, ptr {plan}, i64 {first}")
        self.count_running(1)
        self._go_on(step)
        self.label("walk")
        self._walk = len(self.lines)
        self.emit("")
        step = self.load("i64", self.pc)
        cases = " ".join(f"i64 {step.value}, label %step{step.value}" for step in Step)
        self.emit(f"switch i64 {step}, label %leave [{cases}]")
        self.label("skip")
        self.emit(f"store ptr {self.load('ptr', self.load('ptr', '%plan'))}, ptr %plan")
        self.go("try")

    def count_running(self, by: int) -> None:
        """Count the calls that are in the plan."""
        plan = self.load("ptr", "%plan")
        count = self.value(f"getelementptr i64, ptr {plan}, i64 {Head.RUNNING.value}")
        more = self.value(f"add i64 {self.load('i64', count)}, {by}")
        self.emit(f"store i64 {more}, ptr {count}")

    def end(self) -> None:
        """Write how a plan is left: for the next one, for Python's way, or with an error."""
        self.lines[self._walk] = f"  {self.pc} = phi ptr {', '.join(self._before)}"
        self.label("leave")
        self.release("holding", "held")
        self.count_running(-1)
        self.go("skip")
        self.label("raise")
        self.release("stack", "top")
        self.release_outputs(self.load("i64", "%pushed"))
        self.release("holding", "held")
        self.count_running(-1)
        self.emit("ret ptr null")
        self.label("failed")
        # the kernel refused: Python's way finds the user's line
        self.release("holding", "held")
        self.count_running(-1)
        self.go("miss")
        self.label("miss")
        found = self.call(
            "ptr", "PyObject_Vectorcall", "ptr %self", "ptr %args", "i64 %positional", "ptr %names"
        )
        self.emit(f"ret ptr {found}")
        self.lines.append("}")
        self._of_objects()

    def _of_objects(self) -> None:
        """Write the same for objects that are called: what is called lies in the object."""
        self.lines.append(
            f'define ptr @"{OF_OBJECTS}"(ptr %object, ptr %args, i64 %given, ptr %names) {{'
        )
        self.label("entry")
        door = self.load("ptr", "%object", layout.CALLED)
        with self.when(self.differ(self.type_of(door), f"@{FUNCTION}"), "other"):
            pass
        code = self.load("ptr", self.load("ptr", door, layout.DEFINITION), layout.CODE)
        with self.when(self.differ(code, f'@"{NAME}"'), "other"):
            pass
        inner = self.load("ptr", door, layout.OF_FUNCTION)
        count = self.value(f"and i64 %given, {2**63 - 1}")
        found = self.value(f'call ptr @"{NAME}"(ptr {inner}, ptr %args, i64 {count}, ptr %names)')
        self.emit(f"ret ptr {found}")
        self.label("other")  # somebody has set another
        call = f"@{CALL}(ptr {door}, ptr %args, i64 %given, ptr %names)"
        self.emit(f"ret ptr {self.value(f'call ptr {call}')}")
        self.lines += [
            "}",
            f"@{FUNCTION} = external global i8",
            f"declare ptr @{CALL}(ptr, ptr, i64, ptr)",
        ]

    def release(self, array: str, count: str) -> None:
        """Let go of the first objects of a table."""
        with self.each(self.load("i64", f"%{count}")) as i:
            self.call("void", "Py_DecRef", f"ptr {self.load('ptr', self.place(array, i))}")
        self.emit(f"store i64 0, ptr %{count}")

    def release_outputs(self, count: str) -> None:
        """Let go of outputs."""
        with self.each(count) as i:
            # what has been pushed is null by now, and null is left alone
            self.call("void", "Py_DecRef", f"ptr {self.load('ptr', self.place('results', i))}")


Write = Callable[[Walker], None]


class Steps(dict[Step, Write]):
    """What writes each step."""

    def writes(self, step: Step) -> Callable[[Write], Write]:
        """Decorate what writes a step."""

        def keep(write: Write) -> Write:
            self[step] = write
            return write

        return keep
