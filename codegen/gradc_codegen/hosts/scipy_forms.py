"""SciPy's low-level callables: the types of C functions that it calls, over a kernel.

``double (double)`` of ``quad``, ``double (int, double *)`` of ``nquad``, and the three of
``ndimage``, each with ``void *`` behind for the user's data: a table of 8 bytes each, numbers as
they are and arrays by their addresses, which are the kernel's last inputs.
"""

from __future__ import annotations

import itertools
import re

from gradc_codegen.abi import Signature
from gradc_codegen.hosts.scratch import DECLARATIONS, with_scratch
from gradc_codegen.text.entry import Entry
from gradc_codegen.text.module import Module
from gradc_ir.classes.named import NamedTuple


class Form(NamedTuple):
    """A type of functions that SciPy calls.

    Parameters
    ----------
    text: in C.
    kind: ``number``, ``numbers``, ``filter``, ``line`` or ``mapping``.
    has_data: whether the last argument is the user's data.
    """

    text: str
    kind: str
    has_data: bool

    @property
    def parameters(self) -> str:
        """The parameters in LLVM text."""
        data = ", ptr %data" if self.has_data else ""
        return f"{_PARAMETERS[self.kind]}{data}"

    @property
    def returns(self) -> str:
        """What it returns: ``double``, or ``i32`` where the result is stored and 0 is failure."""
        return "double" if self.kind in ("number", "numbers") else "i32"


_PARAMETERS = {
    "number": "double %x",
    "numbers": "i32 signext %count, ptr %x",
    "filter": "ptr %x, i64 %size, ptr %result",
    "line": "ptr %x, i64 %size, ptr %result, i64 %result.size",
    "mapping": "ptr %x, ptr %result, i32 signext %rank, i32 signext %result.rank",
}
_DATA = r"(, ?void \*)?"
_SIZE = r"(?:npy_intp|intptr_t|long|Py_ssize_t|int64_t)"
_FORMS = {
    rf"double \(double{_DATA}\)": "number",
    rf"double \(int, ?double \*{_DATA}\)": "numbers",
    rf"int \(double \*, ?{_SIZE}, ?double \*{_DATA}\)": "filter",
    rf"int \(double \*, ?{_SIZE}, ?double \*, ?{_SIZE}{_DATA}\)": "line",
    rf"int \({_SIZE} \*, ?double \*, ?int, ?int{_DATA}\)": "mapping",
}
TYPES = (
    "double (double, void *)",
    "double (int, double *, void *)",
    "int (double *, npy_intp, double *, void *)",
    "int (double *, npy_intp, double *, npy_intp, void *)",
    "int (npy_intp *, double *, int, int, void *)",
)


def form_of(text: str) -> Form | None:
    """Return the form that a type in C names; None for another one."""
    plain = re.sub(r"\s*\*\s*", " *", re.sub(r"\s+", " ", text.strip())).replace("* ,", "*,")
    for pattern, kind in _FORMS.items():
        if match := re.fullmatch(pattern, plain):
            return Form(plain, kind, match[1] is not None)
    return None


def callable_text(name: str, form: Form, signature: Signature, own: int) -> str:
    """Return the LLVM text of ``name_callable``, which SciPy calls.

    It returns nan, or 0 for failure, where the kernel returns another status than OK, and where
    SciPy passes fewer or more numbers than the kernel takes or makes.

    Parameters
    ----------
    name: of the C function in front of the kernel, of one result.
    signature: its arguments. Its first ``own`` inputs are what the form gives: numbers, or one
        array whose size is the kernel's only one, if any; the others are of the user's data.
    """
    given = {"numbers": "%count.wide", "mapping": "%rank.wide"}.get(form.kind, "%size")
    symbols = {size.name: given for size in signature.sizes}
    entry = Entry(Module(name), symbols, itertools.count(1))
    if form.kind == "numbers":
        entry.lines.append("  %count.wide = sext i32 %count to i64")
    if form.kind == "mapping":
        # the coordinates that are given are those in the output
        entry.lines.append("  %rank.wide = sext i32 %rank to i64")
        entry.lines.append("  %result.rank.wide = sext i32 %result.rank to i64")
    fits = _fits(entry, form, signature, own, given)
    inputs = [
        _own(entry.lines, form, position, argument.by_value)
        if position < own
        else _of_data(entry.lines, argument.llvm, position - own)
        for position, argument in enumerate(signature.inputs)
    ]
    is_number = form.returns == "double"
    sizes = [f"i64 {given}"] * len(signature.sizes)
    if is_number:
        entry.lines.append("  %result = alloca double")
    entry.lines.append(f'  %bytes = call i64 @"{name}_worksize"({", ".join(sizes)})')
    start = "\n".join(entry.lines)

    def call(scratch: str) -> str:
        arguments = ", ".join([*sizes, *inputs, "ptr %result", f"ptr {scratch}"])
        return f'call i32 @"{name}"({arguments})'

    refused = "double 0x7FF8000000000000" if is_number else "i32 0"
    end = (
        "  %value = load double, ptr %result\n"
        f"  %told = select i1 %ok, double %value, {refused}\n  ret double %told\n"
        if is_number
        else "  %told = zext i1 %ok to i32\n  ret i32 %told\n"
    )
    types = ", ".join(argument.llvm for argument in signature.arguments)
    size_types = ", ".join(["i64"] * len(signature.sizes))
    return (
        f'declare i32 @"{name}"({types})\ndeclare i64 @"{name}_worksize"({size_types})\n'
        f"{DECLARATIONS}\n"
        f'define {form.returns} @"{callable_name(name)}"({form.parameters}) {{\nentry:\n'
        f"{start}\n  br i1 {fits}, label %fits, label %refused\nfits:\n"
        f"{with_scratch('%bytes', call)}"
        f"  %ok = icmp eq i32 %status, 0\n{end}refused:\n  ret {refused}\n}}\n"
    )


def callable_name(name: str) -> str:
    """Return the symbol of what SciPy calls."""
    return f"{name}_callable"


def _fits(entry: Entry, form: Form, signature: Signature, own: int, given: str) -> str:
    """Write whether SciPy gives as many numbers as the kernel reads and writes."""
    (result,) = signature.outputs
    fits = "true"

    def demand(condition: str) -> None:
        nonlocal fits
        fits = entry.emit(f"and i1 {fits}, {entry.emit(condition)}")

    first = signature.inputs[0].type if own else None
    if form.kind == "numbers":
        taken = entry.size(first.shape[0]) if first is not None and first.rank else str(own)
        demand(f"icmp sge i64 {given}, {taken}")
    elif form.kind != "number" and first is not None:
        demand(f"icmp eq i64 {given}, {entry.size(first.shape[0])}")
    if form.kind in ("line", "mapping"):
        assert result.type is not None
        wanted = {"line": "%result.size", "mapping": "%result.rank.wide"}[form.kind]
        demand(f"icmp eq i64 {wanted}, {entry.size(result.type.shape[0])}")
    return fits


def _own(lines: list[str], form: Form, position: int, by_value: bool) -> str:
    """Return the argument that the form gives for an input."""
    if form.kind == "number":
        return "double %x"
    if not by_value:
        return "ptr %x"
    lines.append(f"  %x{position}.at = getelementptr double, ptr %x, i64 {position}")
    lines.append(f"  %x{position} = load double, ptr %x{position}.at")
    return f"double %x{position}"


def _of_data(lines: list[str], type_: str, place: int) -> str:
    """Return an entry of the user's data."""
    lines.append(f"  %data{place}.at = getelementptr i64, ptr %data, i64 {place}")
    lines.append(f"  %data{place} = load {type_}, ptr %data{place}.at")
    return f"{type_} %data{place}"
