"""Exceptions that the user's code raises where only the program knows whether it does."""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from gradc.tracing import Tracer
from gradc.tracing.checks.checks import Check, check
from gradc.tracing.checks.texts import as_number, filled, marks_in, without_numbers
from gradc.tracing.core import source
from gradc.tracing.core.source import location_of, trace_error
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.tracer import read
from gradc.tracing.lens.user_classes import original_of
from gradc.tracing.rewriting.site import Site
from gradc_ir.core.graph import Value
from gradc_ir.core.types import Array
from gradc_ir.location import Location

_RAISE = dis.opmap["RAISE_VARARGS"]
# What says in an exception that the program is to raise it with these numbers.
Make = Callable[[dict[int, Array]], Any]


def is_raised(error: BaseException | None) -> bool:
    """Whether code that is seen through the lens raises an exception itself."""
    step = None if error is None else error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    if step is None or not isinstance(error, Exception):
        return False
    frame = step.tb_frame
    return source.MARK in frame.f_globals and frame.f_code.co_code[step.tb_lasti] == _RAISE


def record_raise(error: BaseException, site: Site, frame: FrameType) -> None:
    """Have the function fail where it is recorded: it raises this exception there.

    Raises TraceError inside of a ``try`` that may handle it.
    """
    handled = site.handled or handled_at(frame.f_back)
    if handled is not None:
        raise trace_error(
            f"{type(error).__name__} is raised on a condition that is not known while tracing, "
            f"and the try of line {handled} may handle it",
            help="ask for the condition itself where the try stands, or leave the try out",
        )
    trace = running()
    collected = _Numbers(trace)
    parts = [collected.part(arg) for arg in error.args]
    own = {name: collected.part(value) for name, value in vars(error).items()}
    steps = collected.steps()
    kind = original_of(type(error))
    at = location_of(error)

    def make(numbers: Sequence[Array]) -> BaseException:
        known = dict(enumerate(numbers))
        args = [part(known) for part in parts]
        found: BaseException = kind.__new__(kind, *args)
        found.args = tuple(args)
        vars(found).update({name: part(known) for name, part in own.items()})
        for note in [step(known) for step in steps]:
            found.add_note(note)
        return raised_at(found, at)

    shown = [without_numbers(arg) if isinstance(arg, str) else arg for arg in error.args]
    title = f"{kind.__name__}: {', '.join(map(str, shown))}" if shown else kind.__name__
    check(None, Check(at, make, without_numbers(title)), collected.values)


class _Numbers:
    """The numbers of a message, as values of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.values: list[Value] = []

    def part(self, value: Any) -> Make:
        """Return what makes a part of an exception of the numbers there are in the end."""
        if isinstance(value, Tracer) and value.known is None:
            position = self._add(read(value))
            weak, scalar = value.weak, value.scalar
            return lambda numbers: as_number(numbers[position], weak, scalar)
        if isinstance(value, Tracer):
            return lambda numbers: value.known
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, tuple | list):
            makes = [self.part(each) for each in value]
            return lambda numbers: type(value)(make(numbers) for make in makes)
        return lambda numbers: value

    def _text(self, text: str) -> Make:
        texts = self._trace.root.texts
        places = {}
        for number in dict.fromkeys(marks_in(text)):
            written = texts[number]
            places[number] = self._add(self._trace.lift(written.value, written.trace)), written

        def fill(numbers: dict[int, Array]) -> str:
            return filled(
                text, {key: written.shown(numbers[at]) for key, (at, written) in places.items()}
            )

        return fill

    def steps(self) -> list[Callable[[dict[int, Array]], str]]:
        """Return what says in which step of which loops it failed, the innermost first."""
        found = []
        trace: Trace | None = self._trace
        while trace is not None:
            if trace.step is not None:
                found.append(_step_note(self._add(self._trace.lift(*trace.step)), trace.step_of))
            trace = trace.outer
        return found

    def _add(self, value: Value) -> int:
        self.values.append(value)
        return len(self.values) - 1


def _step_note(position: int, line: int) -> Callable[[dict[int, Array]], str]:
    return lambda numbers: f"in step {int(numbers[position])} of the loop of line {line}"


def raised_at(error: BaseException, at: Location | None) -> BaseException:
    """Return an exception whose traceback ends at a line of the user's."""
    if at is None:
        return error
    code = compile("raise error", at.file, "exec")
    code = code.replace(
        co_firstlineno=at.line, co_name=at.function, co_qualname=at.function or code.co_qualname
    )
    traceback = None
    try:
        exec(code, {"error": error})
    except BaseException as found:
        traceback = found.__traceback__
    return error.with_traceback(traceback and traceback.tb_next)


def handled_at(frame: FrameType | None) -> int | None:
    """Return the line of a handler that may catch what comes out of a frame's calls.

    Looked for from a frame outwards, in the traced function only.
    """
    while frame is not None and source.MARK in frame.f_globals:
        found = _handler(frame)
        if found is not None:
            return found
        frame = frame.f_back
        while frame is not None and source.is_ours(frame.f_code.co_filename):
            frame = frame.f_back
    return None


def _handler(frame: FrameType) -> int | None:
    """Return the line of the user's handler around the running instruction of a frame."""
    code, position = frame.f_code, frame.f_lasti
    entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    instructions = {each.offset: each for each in dis.get_instructions(code)}
    seen = set()
    while True:
        target = next((e.target for e in entries if e.start <= position < e.end), None)
        if target is None or target in seen:
            return None
        seen.add(target)
        names = []
        offset = target
        for offset in sorted(at for at in instructions if at >= target)[:8]:
            names.append(instructions[offset].opname)
            if names[-1] in ("CHECK_EXC_MATCH", "WITH_EXCEPT_START") or names[-1] == "RERAISE":
                break
        first = instructions.get(target)
        loaded = [
            str(instructions[at].argval)
            for at in sorted(instructions)
            if target <= at <= offset and instructions[at].opname.startswith("LOAD_FAST")
        ]
        is_ours = any(name.startswith(("_loop_", "_branch_")) for name in loaded)
        if not is_ours and names[-1] not in ("WITH_EXCEPT_START", "RERAISE"):
            line = first.positions.lineno if first is not None and first.positions else None
            return line or code.co_firstlineno
        position = target
