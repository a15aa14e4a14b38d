"""Where the user's program is: the line of an operation, and its text for error messages."""

from __future__ import annotations

import ast
import dis
import linecache
import os
import site
import sys
from bisect import bisect_right
from enum import Enum
from types import BuiltinFunctionType, CodeType, FrameType, ModuleType
from typing import Any

import numpy as np

import gradc_ir
from gradc.tracing.core import opaque
from gradc_ir.classes.named import NamedTuple
from gradc_ir.errors import DTypeError, ShapeError, TraceError
from gradc_ir.location import Lines, Location


def _folder(path: str) -> str:
    return os.path.join(os.path.abspath(path), "")


_TRACING = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_HERE = os.path.dirname(_TRACING)
_IR = os.path.dirname(os.path.abspath(gradc_ir.__file__))
_CODEGEN = os.path.join(os.path.dirname(os.path.dirname(_IR)), "codegen", "gradc_codegen")
_OURS = tuple({
    _folder(_HERE),
    _folder(_IR),
    _folder(_CODEGEN),
    _folder(os.path.join(os.path.dirname(_HERE), "gradc_codegen")),
})  # fmt: skip
_NUMPY = _folder(os.path.dirname(np.__file__))
_INTERNAL = (*_OURS, _NUMPY)
_PYTHON = (_folder(os.path.dirname(os.__file__)), "<frozen")
# NumPy and SciPy lie side by side; the one is never loaded to find the other
_NEVER_SEEN = (*_INTERNAL, _folder(os.path.join(os.path.dirname(_NUMPY[:-1]), "scipy")))
# Folders of packages, which may lie inside of Python's own.
_PACKAGES = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_INSTALLED = (*_NEVER_SEEN, *_PYTHON, *map(_folder, site.getsitepackages()))
# The file whose functions call the one to be traced.
_STARTS = os.path.join(_TRACING, "record", "trace.py")
# Those whose functions stand for Python's and NumPy's, and hand on what these raise.
_STAND_INS = frozenset(
    os.path.join(_TRACING, *names)
    for names in (
        ("lens", "builtins.py"),
        ("lens", "number_types.py"),
        ("lens", "math_module.py"),
        ("registry", "dispatch.py"),
    )
)


def is_unseen(filename: str) -> bool:
    """Whether the lens never sees code of a file: Python's, NumPy's, SciPy's, gradc's own."""
    if filename.startswith(_NEVER_SEEN):
        return True
    return filename.startswith(_PYTHON) and not any(part in filename for part in _PACKAGES)


def is_installed(filename: str) -> bool:
    """Whether a file belongs to Python or to an installed package, not to a program of the user."""
    return filename.startswith(_INSTALLED) or any(part in filename for part in _PACKAGES)


def is_ours(filename: str) -> bool:
    """Whether a file belongs to gradc."""
    return filename.startswith(_OURS)


def is_start(filename: str) -> bool:
    """Whether a file's functions call the one that is traced."""
    return filename == _STARTS


def is_defect(filename: str) -> bool:
    """Whether an error that a file's code raises, and that is none of gradc's, is gradc's fault.

    It is the user's where gradc calls a function of Python's or NumPy's for them.
    """
    return is_ours(filename) and filename not in _STAND_INS


def is_internal(filename: str) -> bool:
    """Whether a file belongs to gradc or to NumPy."""
    return filename.startswith(_INTERNAL)


# A name among the globals of code that is seen through the lens.
MARK = "__gradc_lens__"


# Behind some instructions is room that the interpreter uses.
_CACHE, _RETURN = dis.opmap["CACHE"], dis.opmap["RETURN_VALUE"]


class _Lines:
    """The lines of one code object: found from the position of an instruction, remembered."""

    def __init__(self, code: CodeType) -> None:
        self.code = code  # keeps the code alive, whose id is the key
        self.internal = is_internal(code.co_filename)
        self.unseen = is_unseen(code.co_filename)
        self.installed = is_installed(code.co_filename)
        self.starts = code.co_filename == _STARTS
        self._name = _function_name(code)
        self._known: dict[int, Lines] = {}
        self._starts: list[int] | None = None
        self._numbers: list[int] = []
        # positions of what is returned at once, and their lines by those of the calls
        self.returning: set[int] = set()
        self._called: dict[tuple[int, int], Lines] = {}

    def at(self, position: int) -> Lines:
        """Return the location of an instruction, the same tuple for the same instruction."""
        found = self._known.get(position)
        if found is None:
            if self._starts is None:
                self._read()
            assert self._starts is not None
            line = self._numbers[bisect_right(self._starts, position) - 1]
            made = Location.of_instruction(self.code, position, line, self._name)
            found = self._known[position] = (made,)
            if self._is_returned(position):
                self.returning.add(position)
        return found

    def called(self, position: int, caller: Lines) -> Lines:
        """Return the location of an instruction whose value a call elsewhere gives."""
        key = position, id(caller)  # which lives as long as this
        found = self._called.get(key)
        if found is None:
            found = self._called[key] = (self.at(position)[0].called_at(caller[0]),)
        return found

    def _is_returned(self, position: int) -> bool:
        code = self.code.co_code
        following = position + 2
        while following < len(code) and code[following] == _CACHE:
            following += 2
        return following < len(code) and code[following] == _RETURN

    def _read(self) -> None:
        # frame.f_lineno walks this table from its start at every call
        self._starts = []
        line = self.code.co_firstlineno
        for start, _, number in self.code.co_lines():
            line = number if number is not None else line
            self._starts.append(start)
            self._numbers.append(line)


def _function_name(code: CodeType) -> str:
    parts = [part for part in code.co_qualname.split(".") if part != "<locals>"]
    while len(parts) > 1 and parts[-1] in ("<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"):
        parts.pop()
    return "" if parts[-1] == "<module>" else parts[-1]


_lines: dict[int, _Lines] = {}


def _lines_of(code: CodeType) -> _Lines:
    found = _lines.get(id(code))
    if found is None:
        found = _lines[id(code)] = _Lines(code)
    return found


def user_frame(frame: FrameType | None = None) -> FrameType | None:
    """Return the innermost running frame that is the user's, from ``frame`` outwards.

    Inside of a trace it belongs neither to gradc nor to Python, NumPy or SciPy; outside it belongs
    to no installed package either. A function of these that is itself traced is the user's.
    """
    frame = frame or sys._getframe(1)
    called: FrameType | None = None
    inside = True
    while frame is not None:
        lines = _lines.get(id(frame.f_code)) or _lines_of(frame.f_code)
        if not (lines.unseen if inside else lines.installed):
            return frame
        if lines.starts:
            if called is not None:
                break
            inside = False
        if not lines.internal:
            called = called or frame
        frame = frame.f_back
    return called


def here() -> Lines:
    """Return the user's line that records an operation, as a tuple of one location, or of none.

    Raises TraceError when it is a line of code that is not seen through the lens, whose numbers and
    arrays would be kept as they are while tracing.
    """
    frame = user_frame(sys._getframe(2))
    if frame is None:
        return ()
    if MARK not in frame.f_globals:
        if _start_of(frame) is None:
            return ()  # whoever calls the function has no part in what it returns
        _refuse_unseen(frame)
    return _lines_at(frame)


def _lines_at(frame: FrameType) -> Lines:
    """Return the line of a frame; where it returns what it computes, with that of the call."""
    lines, position = _lines_of(frame.f_code), frame.f_lasti
    found = lines.at(position)
    if position in lines.returning:
        outer = frame.f_back
        while outer is not None:
            around = _lines_of(outer.f_code)
            if around.starts or around is lines:
                break
            if not around.unseen:
                return lines.called(position, _lines_at(outer))
            outer = outer.f_back
    return found


def _start_of(frame: FrameType) -> FrameType | None:
    """Return the frame that calls the function that is traced, None outside of all traces."""
    outer: FrameType | None = frame
    while outer is not None and not _lines_of(outer.f_code).starts:
        outer = outer.f_back
    return outer


def _refuse_unseen(frame: FrameType) -> None:
    """Raise TraceError for a frame in a trace that the lens does not see."""
    lines = _lines_of(frame.f_code)
    package = opaque.named(frame.f_globals.get("__name__"))
    if lines.unseen or (package is None and _reads_nothing(frame)):
        return  # of a function that is no Python, of one in Python's library, or a harmless one
    name = frame.f_code.co_name
    why = f"{package} is opaque" if package else "code that gradc cannot see has called it"
    raise TraceError(
        f"{name} computes with a traced value where gradc does not see it: {why}",
        at=lines.at(frame.f_lasti)[0],
        found="what it reads from outside would keep the values it has while tracing",
        help=opaque.cure(package, name)
        if package
        else f"call {name} from Python code that gradc sees: not through compiled code, a class it "
        "cannot derive from (one with a metaclass of its own, say), or an opaque package",
    )


def _reads_nothing(frame: FrameType) -> bool:
    """Whether a function reads nothing that may change but its arguments, themselves no objects.

    Such a one may be called by anything: a method of an Enum, say, that computes with its argument.
    """
    code = frame.f_code
    names = frame.f_globals
    found = [names[name] for name in code.co_names if name in names]
    found += [frame.f_locals.get(name) for name in code.co_freevars]
    if code.co_varnames[:1] == ("self",):
        found.append(frame.f_locals.get("self"))
    return all(map(_never_changes, found))


def _never_changes(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return value is np or value.__name__ in sys.stdlib_module_names
    if isinstance(value, Enum | np.ufunc | BuiltinFunctionType):
        return True
    module = getattr(value, "__module__", None)
    is_named = isinstance(value, type) or callable(value)
    return is_named and isinstance(module, str) and module.partition(".")[0] == "numpy"


def location() -> Location | None:
    """Return the user's current line."""
    frame = user_frame(sys._getframe(1))
    return None if frame is None else _lines_of(frame.f_code).at(frame.f_lasti)[0]


def location_of(error: BaseException) -> Location | None:
    """Return the user's innermost line that an exception came through."""
    found: Location | None = None
    step = error.__traceback__
    while step is not None:
        lines = _lines_of(step.tb_frame.f_code)
        if not lines.unseen:
            found = lines.at(step.tb_lasti)[0]
        step = step.tb_next
    return found


def definition(code: CodeType) -> Location:
    """Return the line of a function's ``def``, below its decorators when its source is at hand."""
    line, name = code.co_firstlineno, code.co_name
    for number, text in enumerate(linecache.getlines(code.co_filename)[line - 1 :], line):
        if text.lstrip().startswith(("def ", "async def ")):
            return Location(code.co_filename, number, name)
        if name == "<lambda>" or number - line > _MOST_DECORATOR_LINES:
            break
    return Location(code.co_filename, line, name)


_MOST_DECORATOR_LINES = 20


class Expression(NamedTuple):
    """The text of the operation the user's line is in, and of its operands."""

    text: str
    operands: tuple[str, ...]


def expression() -> Expression | None:
    """Return what the user wrote for the operation that is running, when the source is at hand."""
    frame = user_frame()
    if frame is None:
        return None
    positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
    start, end, column, end_column = positions
    if start is None or start != end or column is None or end_column is None:
        return None
    line = linecache.getline(frame.f_code.co_filename, start, frame.f_globals)
    text = line.encode()[column:end_column].decode(errors="replace").strip()
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return Expression(text, tuple(ast.unparse(operand) for operand in _operands(node)))


def _operands(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            return [left, right]
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.Call(args=arguments):
            return list(arguments)
        case ast.Subscript(value=value, slice=key):
            return [value, key]
    return []


# -- errors at the user's line: what failed, what was found, and what to write instead -------------


def trace_error(what: str, **details: Any) -> TraceError:
    """Return a TraceError at the user's current line."""
    return TraceError(what, at=location(), **details)


def shape_error(what: str, **details: Any) -> ShapeError:
    """Return a ShapeError at the user's current line."""
    return ShapeError(what, at=location(), **details)


def dtype_error(what: str, **details: Any) -> DTypeError:
    """Return a DTypeError at the user's current line."""
    return DTypeError(what, at=location(), **details)
