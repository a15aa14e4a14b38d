"""The measurement of a function's kernels as a report: figures beside the machine's ceilings."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gradc.costs.ceilings import Ceilings
from gradc.costs.measured import Measured, Part


@dataclass(frozen=True)
class Bench:
    """The kernels of a function that were measured in a run, and the ceilings of that run."""

    name: str
    ceilings: Ceilings
    kernels: Sequence[Measured]

    def as_json(self) -> dict[str, Any]:
        """Return all figures; seconds, bytes and operations."""
        most = self.ceilings
        return {
            "function": self.name,
            "ceilings": {
                "read": [{"bytes": size, "per_second": x} for size, x in most.bandwidth.items()],
                "triad": most.triad,
                "flops": most.flops,
                "functions": {str(one): x for one, x in most.functions.items()},
            },
            "kernels": [
                {
                    "kernel": one.name,
                    "scratch": one.scratch,
                    "finite": one.is_finite,
                    **_figures(one.whole),
                    "loops": [{"loop": title, **_figures(part)} for title, part in one.loops],
                    "lines": [
                        {
                            "line": line.short if line else None,
                            "code": line.code if line else None,
                            **_figures(part),
                        }
                        for line, part in _in_order(one)
                    ],
                }
                for one in self.kernels
            ],
        }

    def text(self, bold: Callable[[str], str] = str) -> str:
        """Return the figures as tables; headings go through ``bold``."""
        return "\n".join(self._lines(bold))

    def __str__(self) -> str:
        return self.text()

    def _lines(self, bold: Callable[[str], str]) -> Iterator[str]:
        most = self.ceilings
        reads = ", ".join(f"{_bytes(size)} {x / 1e9:.1f}" for size, x in most.bandwidth.items())
        flops = ", ".join(f"{dtype} {x / 1e9:.1f}" for dtype, x in most.flops.items())
        yield bold("ceilings of this core, now")
        yield f"  reading, GB/s: {reads}; triad {most.triad / 1e9:.1f}"
        yield f"  multiply-adds, GFLOP/s: {flops}"
        slow = [f"{one} {x / 1e9:.2f}" for one, x in sorted(most.functions.items(), key=str)]
        if slow:
            text = f"functions, G/s: {', '.join(slow)}"
            yield from textwrap.wrap(text, 100, initial_indent="  ", subsequent_indent="    ")
        for one in self.kernels:
            yield ""
            yield bold(f"{one.name}: {_seconds(one.whole.seconds)}, bound by {one.whole.bound}")
            rows: list[tuple[str, ...]] = [
                ("", "time", "GB/s", "of memory", "GFLOP/s", "of peak", "bound by", "")
            ]
            for number, (title, part) in enumerate(one.loops, 1):
                rows.append((f"{number}. {title}", *_cells(part), ""))
            for line, part in _in_order(one):
                name = line.short if line else "no line"
                rows.append((name, *_cells(part), line.code if line else ""))
            widths = [max(map(len, column)) for column in zip(*rows)]
            for row in rows:
                cells = [row[0].ljust(widths[0])]
                cells += [x.rjust(width) for x, width in zip(row[1:6], widths[1:6])]
                cells += [row[6].ljust(widths[6]), row[7]]
                yield f"  {'  '.join(cells)}".rstrip()
            if not one.is_finite:
                yield "  some results are not finite: --range x=1:2 draws arguments elsewhere"


def _in_order(one: Measured) -> list[tuple[Any, Part]]:
    """Return the lines that take something, in the order of the file."""
    found = [(line, part) for line, part in one.lines.items() if part.seconds > 0]
    return sorted(found, key=lambda item: (item[0] is None, item[0] or ()))


def _figures(part: Part) -> dict[str, Any]:
    return {
        "seconds": part.seconds,
        "operations": part.operations,
        "functions": part.calls,
        "bytes": part.bytes,
        "least_memory": part.memory,
        "least_arithmetic": part.arithmetic,
        "least_functions": part.functions,
        "bound": part.bound,
    }


def _cells(part: Part) -> tuple[str, ...]:
    if part.seconds <= 0:
        return ("0", "", "", "", "", part.bound)
    return (
        _seconds(part.seconds),
        f"{part.bytes / part.seconds / 1e9:.2f}",
        f"{100 * part.memory / part.seconds:.0f} %",
        f"{part.operations / part.seconds / 1e9:.2f}",
        f"{100 * (part.arithmetic + part.functions) / part.seconds:.0f} %",
        part.bound,
    )


def _seconds(seconds: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def _bytes(count: int) -> str:
    return f"{count // 2**20} MiB" if count >= 2**20 else f"{count // 2**10} KiB"
