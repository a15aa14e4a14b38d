"""How much stack functions take at most, read off their assembly, over all ways of calls."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

_LABEL = re.compile(r'^("[^"]+"|[A-Za-z_.$][\w.$@]*):')
# a label within a function: .LBB0_1 of ELF and COFF, LBB0_1 of Mach-O
_LOCAL = re.compile(r"^\.?L|^\.")
_NUMBER = r"(-?(?:0x[0-9a-f]+|\d+))"


@dataclass(frozen=True)
class _Dialect:
    """How the assembly of an architecture takes stack and calls functions.

    Parameters
    ----------
    takes: patterns, and what their matches take.
    call: whose group is the function that is called, or jumped to.
    at_call: what a call itself takes.
    below: what a function may use below its stack without taking it.
    unknown: what no bound can be told of.
    """

    takes: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], int]], ...]
    call: re.Pattern[str]
    at_call: int = 0
    below: int = 0
    unknown: re.Pattern[str] = re.compile(r"(?!)")


def _number(match: re.Match[str]) -> int:
    return abs(int(match[1], 0))


def _registers(width: int) -> Callable[[re.Match[str]], int]:
    """Return what saving the registers of a list takes: ``r4, r5-r7, lr``."""

    def bytes_of(match: re.Match[str]) -> int:
        count = 0
        for part in match[1].split(","):
            first, _, last = part.strip().partition("-")
            count += int(last.strip()[1:]) - int(first[1:]) + 1 if last else 1
        return count * width

    return bytes_of


_X86 = _Dialect(
    takes=(
        (re.compile(r"^\s+push[lq]\s"), lambda match: 8 if "pushq" in match[0] else 4),
        (re.compile(rf"^\s+sub[lq]\s+\${_NUMBER}, %[er]sp\b"), _number),
        (re.compile(r"^\s+add[lq]\s+\$(-\d+), %[er]sp\b"), _number),
        (re.compile(rf"^\s+and[lq]\s+\${_NUMBER}, %[er]sp\b"), lambda match: _number(match) - 1),
    ),
    call=re.compile(r'^\s+(?:call|jmp)[lq]?\s+("[^"]+"|[\w.$]+)'),
    at_call=8,
    below=128,
    unknown=re.compile(r"^\s+sub[lq]\s+%\w+, %[er]sp\b"),
)
_AARCH64 = _Dialect(
    takes=(
        (
            re.compile(rf"^\s+sub\s+(?:sp|x\d+), sp, #{_NUMBER}(, lsl [#]12)?"),
            lambda match: _number(match) << (12 if match[2] else 0),
        ),
        (re.compile(r"^\s+st[rp]\s.*\[sp, #(-\d+)\]!"), _number),
        # to be aligned, below what is taken
        (re.compile(r"^\s+and\s+sp, \w+, #0xf+([0-9a-f]+)"), lambda match: 64),
    ),
    call=re.compile(r'^\s+bl?\s+("[^"]+"|[\w.$]+)'),
    below=128,
    unknown=re.compile(r"^\s+sub\s+sp, sp, [xw]\d"),
)
_RISCV = _Dialect(
    takes=(
        (re.compile(r"^\s+addi\s+sp, sp, (-\d+)"), _number),
        # what is more than an immediate holds is put together in a register first
        (re.compile(r"^\s+lui\s+\w+, (\d+)\s*$"), lambda match: 0),
        (re.compile(r"^\s+andi\s+sp, sp, (-\d+)"), lambda match: _number(match) - 1),
    ),
    call=re.compile(r'^\s+(?:call|tail)\s+("[^"]+"|[\w.$]+)'),
    unknown=re.compile(r"^\s+sub\s+sp, sp, \w"),
)
_ARM = _Dialect(
    takes=(
        (re.compile(r"^\s+(?:push(?:\.w)?|stmdb\s+sp!,)\s*\{([^}]*)\}"), _registers(4)),
        (re.compile(r"^\s+vpush\s+\{([^}]*)\}"), _registers(8)),
        (re.compile(rf"^\s+sub(?:\.w|w)?\s+sp, (?:sp, )?#{_NUMBER}"), _number),
        (
            re.compile(r"^\s+bfc\s+\w+, [#]0, [#]([1-7])\b"),
            lambda match: (1 << int(match[1])) - 1,
        ),
        (re.compile(r"^\s+str(?:\.w)?\s+.*\[sp, #(-\d+)\]!"), _number),
    ),
    call=re.compile(r'^\s+bl?x?(?:\.w)?\s+("[^"]+"|[\w.$]+)'),
    unknown=re.compile(r"^\s+sub(?:\.w)?\s+sp, (?:sp, )?r\d+\s*$"),
)
_WASM = _Dialect(
    takes=((re.compile(rf"^\s+i(?:32|64)\.const\s+{_NUMBER}\s*;stack"), _number),),
    call=re.compile(r'^\s+call\s+("[^"]+"|[\w.$]+)'),
)
_DIALECTS: Mapping[str, _Dialect] = {
    "x86_64": _X86,
    "i86": _X86,
    "aarch64": _AARCH64,
    "arm64": _AARCH64,
    "riscv64": _RISCV,
    "riscv32": _RISCV,
    "wasm32": _WASM,
    "arm": _ARM,
}


@dataclass
class _Function:
    own: int = 0
    calls: set[str] = field(default_factory=set)
    is_known: bool = True


def worst_stack(assembly: str, architecture: str, without: str | None = None) -> dict[str, int]:
    """Return, for each function of a module, how many bytes of stack a call takes at most.

    A function is left out where that cannot be told; what it calls in other modules is not counted.
    Empty for an architecture whose assembly is not known here. Functions whose names begin with
    ``without`` do not count.
    """
    family = "arm" if architecture.startswith("arm") and architecture != "arm64" else architecture
    dialect = _DIALECTS.get(family)
    if dialect is None:
        return {}
    if dialect is _WASM:
        # the stack in memory: the pointer to it, less a number
        assembly = re.sub(
            r"(global\.get\s+__stack_pointer\n\s+i(?:32|64)\.const\s+\d+)(?=\n\s+i\d\d\.sub)",
            r"\1 ;stack",
            assembly,
        )
    functions = _functions(assembly, dialect)
    if without is not None:
        functions = {name: one for name, one in functions.items() if not name.startswith(without)}
    found: dict[str, int | None] = {}

    def total(name: str, within: frozenset[str] = frozenset()) -> int | None:
        if name in found:
            return found[name]
        function = functions[name]
        below = 0
        for called in sorted(function.calls & functions.keys() - {name}):
            if called in within:
                return None  # calls in a circle have no bound
            deeper = total(called, within | {name})
            if deeper is None:
                function.is_known = False
                break
            below = max(below, deeper + dialect.at_call)
        leaf = dialect.below if not function.calls else 0
        found[name] = function.own + max(below, leaf) if function.is_known else None
        return found[name]

    bounds = {name: total(name) for name in functions}
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _functions(assembly: str, dialect: _Dialect) -> dict[str, _Function]:
    functions: dict[str, _Function] = {}
    current: _Function | None = None
    for line in assembly.splitlines():
        label = _LABEL.match(line)
        if label is not None:
            if not _LOCAL.match(label[1]):
                current = functions.setdefault(_plain(label[1]), _Function())
            continue
        if current is None or not line[:1].isspace():
            continue
        for pattern, bytes_of in dialect.takes:
            if match := pattern.match(line):
                current.own += bytes_of(match)
        if dialect.unknown.match(line):
            current.is_known = False
        if match := dialect.call.match(line):
            current.calls.add(_plain(match[1]))
    return functions


def _plain(name: str) -> str:
    return name.strip('"').partition("@")[0]
