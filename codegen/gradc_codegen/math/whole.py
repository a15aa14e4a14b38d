"""Emitted functions that straight code calls and never inlines, shared whole by all kernels.

Value and gradient of a small function are some fifty instructions, and each function of math they
call is as many, in vectors. A module that is loaded into this process calls them outside, where
each is compiled once; an exported object has its own. The name says all that one is made of.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from gradc_codegen.math.emitted.rare import ATTRIBUTES
from gradc_codegen.math.functions import is_emitted, reference_of_all
from gradc_codegen.text.module import NARROW, UNMASKED, Machine, Module
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import DType

_OWN, _INNER = "@gradc.", "@gradc_inner."
# What names outside begin with, by whether the code keeps to registers of 32 bytes.
OUTSIDE = {False: "gradc_whole", True: "gradc_whole_narrow"}

_CALLED = re.compile(
    r" call [^@\n]*@gradc\.([\w.]+\.(?:v\d+)?f(?:64|32))\([^\n]*\) noinline$", re.MULTILINE
)
_FUNCTION = re.compile(r"([\w.]+)\.(?:v(\d+))?(f64|f32)")
# What callers are told; how it is compiled is its own affair.
_KNOWN = ATTRIBUTES.replace("noinline cold optnone ", "")
_DTYPES = {"f64": DType.F64, "f32": DType.F32}


class Whole(NamedTuple):
    """An emitted function with all that it is made of.

    Parameters
    ----------
    own: its text, as it stands in a module.
    parts: what it calls, by name.
    declared: how a module declares it that calls it outside.
    text: that of a module of its own.
    """

    own: str
    parts: Mapping[str, str]
    declared: str
    text: str


def without_whole(text: str, machine: Machine) -> str:
    """Return the text of a module that calls functions outside which it never inlines."""
    if UNMASKED in text:
        return text  # it has other registers, in which vectors are handed over otherwise
    machine = machine.keeping_to(NARROW) if NARROW in text else machine
    for function in dict.fromkeys(_CALLED.findall(text)):
        whole, call = whole_of(function, machine), f"{_OWN}{function}("
        if whole is None:
            continue
        if any(f"{block}\n" not in text for block in (whole.own, *whole.parts.values())):
            continue
        rest = text.replace(f"{whole.own}\n", "")
        if not all(line.endswith(" noinline") for line in _lines_with(call, rest)):
            continue
        outside = f"@{OUTSIDE[bool(machine.keeps_to)]}.{function}("
        text = rest.replace(call, outside) + f"{whole.declared}\n"
        for name, part in whole.parts.items():
            without = text.replace(f"{part}\n", "")
            if f"{name}(" not in without:
                text = without
    return text


def _lines_with(part: str, text: str) -> Iterator[str]:
    """Yield what is behind a part of a text, to the end of its line, each time it is there."""
    start = text.find(part)
    while start >= 0:
        end = text.find("\n", start)
        yield text[start : end if end >= 0 else len(text)]
        start = text.find(part, start + len(part))


@functools.cache
def whole_of(function: str, machine: Machine) -> Whole | None:
    """Return an emitted function, such as ``sin.v8f64``; None for what is no such."""
    found = _FUNCTION.fullmatch(function)
    words = [] if found is None else [f"math.{word}" for word in found[1].split(".")]
    if found is None or not all(map(is_emitted, words)):
        return None
    module = Module(function, machine)
    name = reference_of_all(module, words, _DTYPES[found[3]], int(found[2] or 1))
    parts = dict(module.helpers)
    own = parts.pop(name)
    head = re.search(rf"define internal ([^@\n]*){re.escape(name)}\(([^)]*)\)", own)
    assert head is not None
    outside = f"@{OUTSIDE[bool(machine.keeps_to)]}.{function}"
    types = re.sub(r" %\w+", "", head[2])
    declared = f"declare {head[1]}{outside}({types}) {_KNOWN}"
    opened = head[0].replace("internal ", "").replace(name, outside)
    return Whole(own, parts, declared, str(module).replace(head[0], opened).replace(_OWN, _INNER))
