"""What of a function is supported: every problem at once, for its value and its derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType

from gradc.autodiff.active import active_nodes
from gradc.autodiff.open_calls import OpenCalls
from gradc.autodiff.table import derivative_of
from gradc.pipeline import differentiate, stabilise
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.tracing import NeedsConcreteSize, Traced
from gradc.tracing.core import source
from gradc.tracing.record.trace_past_errors import Survey, SurveyEnds, surveying
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array, Type
from gradc_ir.errors import GradcError, NoGradientError
from gradc_ir.location import Location, shown


@dataclass(frozen=True)
class Support:
    """What a survey of a function found; printed as a screen of text.

    Parameters
    ----------
    name: the function.
    spec: the arguments it was looked at for.
    problems: the errors of the value in the order of the code, then those of the derivatives.
    value, forward, reverse: whether the value and the derivatives can be compiled; None for
        derivatives where no argument or no result is floating point.
    notes: what the survey assumed, and where it had to end.
    """

    name: str
    spec: str
    problems: tuple[GradcError, ...]
    value: bool
    forward: bool | None
    reverse: bool | None
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the value and, where there are any, the derivatives can be compiled."""
        return self.value and self.forward is not False and self.reverse is not False

    def __str__(self) -> str:
        count = len(self.problems)
        found = f"{count} problem{'s' * (count != 1)}" if count else "supported"
        lines = [f"{self.name}({self.spec}): {found if self.ok or count else 'not supported'}"]
        for position, problem in enumerate(self.problems, 1):
            first, *rest = str(problem).splitlines()
            lines += ["", f"{position}. {type(problem).__name__}: {first}"]
            lines += [f"  {line}" for line in rest]
        lines += ["", *self.notes] if self.notes else []
        lines += [""] if count or self.notes else []
        word = {True: "yes", False: "no", None: "nothing to take"}
        lines.append(
            f"value: {word[self.value]}    forward mode: {word[self.forward]}    "
            f"reverse mode: {word[self.reverse]}"
        )
        return "\n".join(lines)

    __repr__ = __str__


def survey(
    name: str,
    trace: Callable[[Sequence[Type]], Traced],
    types: Sequence[Type],
    names: Sequence[str],
    samples: Sequence[Array],
    options: Options,
) -> Support:
    """Trace a function to its end, past what is not supported, and look at its derivatives.

    Parameters
    ----------
    name: the function's.
    trace: records it for types of the leaves.
    types: those types.
    names: the paths of the leaves, for the text.
    samples: arrays of the leaves, or none to have them drawn.
    options: those of the function.
    """
    found = Survey(samples)
    notes: list[str] = []
    traced: Traced | None = None
    given = list(types)
    with surveying(found):
        while True:
            try:
                traced = trace(given)
            except NeedsConcreteSize as needed:
                notes += [f"note: {needed}: each number it takes has a kernel of its own"]
                notes += _place(needed.at)
                numbers = {symbol: found.number(symbol) for symbol in needed.symbols}
                given = [type_.with_shape(_numbered(type_, numbers)) for type_ in given]
                continue
            except SurveyEnds as end:
                notes += [f"the survey ends here: {end.why}", *_place(end.at)]
            except GradcError as error:
                found.note(error)
                if error.at is not None:
                    notes += ["the survey ends with this problem:", *_place(error.at)]
            except Exception as error:
                where = _last_line(error.__traceback__)
                notes += [f"the survey ends here: {type(error).__name__}: {error}", *_place(where)]
            break
    for place in found.assumed:
        notes += ["note: only the branch of the sample values was looked at", *_place(place)]
    problems = list(found.problems)
    value = traced is not None and not problems
    forward: bool | None = value
    reverse: bool | None = value
    if traced is not None:
        wrt = [i for i, type_ in enumerate(types) if type_.dtype.is_float]
        if wrt and any(type_.dtype.is_float for type_ in traced.function.result_types):
            further, forward, reverse = _derivatives(traced.function, wrt, options)
            problems += further
            forward, reverse = forward and value, reverse and value
        else:
            forward = reverse = None
    spec = ", ".join(f"{name}: {type_}" for name, type_ in zip(names, types))
    return Support(name, spec, tuple(problems), value, forward, reverse, tuple(notes))


def _numbered(type_: Type, numbers: dict[str, int]) -> tuple[sizes.Size, ...]:
    return tuple(sizes.substitute(size, numbers) for size in type_.shape)


def _place(at: Location | None) -> list[str]:
    return [] if at is None else [f"  {line}" for line in shown(at)]


def _last_line(traceback: TracebackType | None) -> Location | None:
    """Return the last line of the user's in a traceback."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not source.is_unseen(code.co_filename):
            found = Location.of_instruction(
                code, traceback.tb_lasti, traceback.tb_lineno, code.co_name
            )
        traceback = traceback.tb_next
    return found


def _order(at: Location | None) -> tuple[str, int, int]:
    if at is None:
        return "", 0, 0
    return at.file, at.line, at.instruction[1] if at.instruction else 0


def _derivatives(
    function: Function, wrt: Sequence[int], options: Options
) -> tuple[list[GradcError], bool, bool]:
    """Return every op on the path without a derivative, and whether each mode can be built."""
    problems: list[GradcError] = []
    ready = stabilise(function, options)
    for node in active_nodes(ready, wrt, ready.results):
        try:
            derivative_of(node, ready)
        except NoGradientError as error:
            problems.append(error)
    problems.sort(key=lambda error: _order(error.at))

    def works(mode: str) -> bool:
        try:
            OpenCalls()(differentiate(ready, Request(mode, tuple(wrt), options=options)))
        except GradcError as error:
            if str(error) not in map(str, problems):
                problems.append(error)
            return False
        return True

    return problems, works("jvp"), works("vjp")
