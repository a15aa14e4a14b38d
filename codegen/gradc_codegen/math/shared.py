"""What emitted functions do rarely, shared by all kernels of a process.

It is a third of the text of a kernel that has a sine, and the same in each. So a module that is
loaded into this process calls it outside, where it is compiled once; an exported object has its
own. The name of what is shared says all that it is made of.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

from gradc_codegen.math.emitted.function_text import own_text_of
from gradc_codegen.math.emitted.rare import ATTRIBUTES
from gradc_codegen.math.emitted.table import DEFINITIONS, operands_of
from gradc_codegen.text.module import NARROW, Machine
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import DType

# What names in a module begin with, and those of what it calls outside, by whether it keeps to
# registers of 32 bytes.
_OWN = "@gradc."
OUTSIDE = {False: "gradc_shared", True: "gradc_shared_narrow"}

_RARE = re.compile(
    r"^define internal [^@\n]*(@gradc\.[\w.]+)\([^\n]*\) (?:noinline )?cold ", re.MULTILINE
)
_FUNCTION = re.compile(r"@gradc\.(\w+)\.((?:v(\d+))?(f64|f32))\.")
_NAME = re.compile(r"@gradc\.[\w.]+")
_DEFINED = re.compile(r"^(?:define internal [^@\n]*)?(@gradc\.[\w.]+)(?:\(| = )", re.MULTILINE)
# What callers are told of what they call; how it is compiled is its own affair.
_KNOWN = ATTRIBUTES.replace("noinline ", "").replace(" optnone", "")
_DTYPES = {"f64": DType.F64, "f32": DType.F32}


class Shared(NamedTuple):
    """What one emitted function shares.

    Parameters
    ----------
    blocks: the texts of what is shared, as they stand in a module.
    declared: how a module declares what the emitted function calls of it, by name.
    text: that of a module of its own.
    """

    blocks: tuple[str, ...]
    declared: Mapping[str, str]
    text: str


def without_shared(text: str, machine: Machine) -> str:
    """Return the text of a module that calls what is shared outside."""
    machine = machine.keeping_to(NARROW) if NARROW in text else machine
    for function in dict.fromkeys(_functions(text)):
        shared = shared_of(function, machine)
        if shared is None or any(f"{block}\n" not in text for block in shared.blocks):
            continue
        for block in shared.blocks:
            text = text.replace(f"{block}\n", "")
        for name, declaration in shared.declared.items():
            text = text.replace(f"{name}(", f"{_outside(name, machine)}(") + f"{declaration}\n"
    return text


def _functions(text: str) -> Iterator[str]:
    """Yield which emitted functions a module has of which something is rare."""
    for name in _RARE.findall(text):
        found = _FUNCTION.match(name)
        if found is not None and f"math.{found[1]}" in DEFINITIONS:
            yield f"{found[1]}.{found[2]}"


@functools.cache
def shared_of(function: str, machine: Machine) -> Shared | None:
    """Return what an emitted function shares, such as ``sin.v8f64``; None for nothing."""
    found = _FUNCTION.match(f"{_OWN}{function}.")
    assert found is not None
    word, lanes = f"math.{found[1]}", int(found[3] or 1)
    own, body = own_text_of(
        f"{_OWN}{function}", DEFINITIONS[word], _DTYPES[found[4]], operands_of(word), lanes, machine
    )
    rare = {name: each for name, each in body.definitions.items() if _RARE.search(each)}
    usual = "\n".join([own, *(each for name, each in body.definitions.items() if name not in rare)])
    whole = "\n".join(rare.values())
    called = [name for name in rare if f"{name}(" in usual]
    if not called or not set(_NAME.findall(whole)) <= set(_DEFINED.findall(whole)):
        return None
    declared = {}
    for name in called:
        head = re.search(
            rf"^define internal ([^@\n]*){re.escape(name)}\(([^)]*)\)", whole, re.MULTILINE
        )
        assert head is not None
        outside, given = _outside(name, machine), re.sub(r" %\w+", "", head[2])
        declared[name] = f"declare {head[1]}{outside}({given}) {_KNOWN}"
        opened = f"define {head[1]}{name}({head[2]})"
        whole = whole.replace(head[0], opened).replace(f"{name}(", f"{outside}(")
    text = "\n".join([machine.keeps_to, whole, *body.declarations, ""])
    return Shared(tuple(rare.values()), declared, text)


def _outside(name: str, machine: Machine) -> str:
    return name.replace(_OWN, f"@{OUTSIDE[bool(machine.keeps_to)]}.", 1)
