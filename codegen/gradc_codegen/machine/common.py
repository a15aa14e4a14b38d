"""Functions that several kernels of one object have in common: there is one of each.

Each kernel is a text of its own with all the functions it calls. Those of math and of reductions
say by their names what they compute, so that of equal ones LLVM's linker keeps the first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from gradc_codegen.text.module import NARROW

_DEFINITION = re.compile(
    r"^define internal (?P<rest>[^@\n]*(?P<name>@gradc\.[\w.]+)\([^\n]*\{\n.*?^\})$",
    re.MULTILINE | re.DOTALL,
)
_NAME = re.compile(r"@gradc\.[\w.]+")
# marks of loops have numbers, which each text counts by itself
_MARK = re.compile(r"!llvm\.loop (!\d+)")
_MARKS = re.compile(r"^(!\d+) = distinct !\{!\d+, ([^\n]*)\}$", re.MULTILINE)


def with_common(texts: Sequence[str]) -> list[str]:
    """Return texts whose linker keeps one of the functions that several of them have, if equal."""
    defined = [_definitions(text) for text in texts]
    counts = Counter(name for each in defined for name in each)
    common = {name for name, count in counts.items() if count > 1}
    while True:
        # what it calls, and the tables it reads, have to be the same too
        other = {
            name
            for name in common
            if len({each[name] for each in defined if name in each}) > 1
            or any(
                called in counts and called not in common
                for each in defined
                if name in each
                for called in _NAME.findall(each[name])
            )
        }
        if not other:
            break
        common -= other
    if not common:
        return list(texts)

    def shared(match: re.Match[str]) -> str:
        return f"define linkonce_odr {match['rest']}" if match["name"] in common else match[0]

    return [_DEFINITION.sub(shared, text) for text in texts]


def _definitions(text: str) -> dict[str, str]:
    """Return the texts of a module's functions that have common names, by these."""
    marks = dict(_MARKS.findall(text))
    # vectors are handed on in other registers
    registers = NARROW if NARROW in text else ""
    return {
        match["name"]: registers + _MARK.sub(lambda mark: marks[mark[1]], match["rest"])
        for match in _DEFINITION.finditer(text)
    }
