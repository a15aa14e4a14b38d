"""The cost of a function: operations, bytes and tape, in all and by the user's lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gradc.costs.operations import Operations
from gradc.costs.traffic import Share, traffic
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc_codegen.compile_function import Compilation
from gradc_codegen.storage.buffers import plan
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.walk import nested
from gradc_ir.errors import TraceError
from gradc_ir.location import Location
from gradc_ir.text.variables import is_derived


@dataclass(frozen=True)
class LineCost:
    """What a line of the user's costs in a kernel; all numbers may be expressions of sizes.

    Parameters
    ----------
    line: where; None for what no line made.
    operations: sums, products, comparisons and functions of elements.
    functions: how many of these are functions, such as ``exp``.
    read, written: bytes of arrays, each once for each loop.
    tape: bytes of what the way back keeps of it.
    """

    line: Location | None
    operations: Size
    functions: Size
    read: Size
    written: Size
    tape: Size = 0


@dataclass(frozen=True)
class Cost:
    """What a function or derivative costs; prints as a table.

    Parameters
    ----------
    name, of: the function, and what of it.
    lines: by the user's lines, in the order of the file.
    arguments, results: bytes that come in and go out.
    scratch: bytes of memory that the kernel needs beside these, at most.
    """

    name: str
    of: str
    lines: tuple[LineCost, ...]
    arguments: Size
    results: Size
    scratch: Size

    @property
    def operations(self) -> Size:
        """The operations of all lines."""
        return _total(line.operations for line in self.lines)

    @property
    def functions(self) -> Size:
        """How many of the operations are functions such as ``exp``."""
        return _total(line.functions for line in self.lines)

    @property
    def bytes(self) -> Size:
        """The bytes that all lines read and write."""
        return _total(line.read + line.written for line in self.lines)

    @property
    def tape(self) -> Size:
        """The bytes of what the way back keeps of the way there."""
        return _total(line.tape for line in self.lines)

    def at(self, **numbers: int) -> Cost:
        """Return the cost where symbolic sizes are these numbers.

        Raises TraceError for a name that is no size of the function.
        """
        symbols = {name for size in self._sizes() for name in sizes.symbols(size)}
        unknown = sorted(set(numbers) - symbols)
        if unknown:
            known = f"its sizes: {', '.join(sorted(symbols))}" if symbols else "it has none"
            raise TraceError(f"{self.name} has no size called {unknown[0]}", found=known)
        values: Mapping[str, Size] = numbers

        def known_size(size: Size) -> Size:
            return sizes.substitute(size, values)

        lines = [
            LineCost(
                x.line, *map(known_size, (x.operations, x.functions, x.read, x.written, x.tape))
            )
            for x in self.lines
        ]
        ends = map(known_size, (self.arguments, self.results, self.scratch))
        return Cost(self.name, self.of, tuple(lines), *ends)

    def _sizes(self) -> Iterator[Size]:
        yield from (self.arguments, self.results, self.scratch)
        for x in self.lines:
            yield from (x.operations, x.functions, x.read, x.written, x.tape)

    def as_json(self) -> dict[str, Any]:
        """Return the figures as JSON has them: numbers, or expressions as texts."""

        def shown(size: Size) -> int | str:
            return size if isinstance(size, int) else str(size)

        return {
            "function": self.name,
            "of": self.of,
            "operations": shown(self.operations),
            "functions": shown(self.functions),
            "bytes": shown(self.bytes),
            "tape": shown(self.tape),
            "arguments": shown(self.arguments),
            "results": shown(self.results),
            "scratch": shown(self.scratch),
            "lines": [
                {
                    "line": x.line.short if x.line else None,
                    "code": x.line.code if x.line else None,
                    "operations": shown(x.operations),
                    "functions": shown(x.functions),
                    "read": shown(x.read),
                    "written": shown(x.written),
                    "tape": shown(x.tape),
                }
                for x in self.lines
            ],
        }

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [
            ("line", "operations", "functions", "read", "written", "tape")
        ]
        for x in self.lines:
            name = x.line.short if x.line else "no line"
            figures = (x.operations, x.functions, x.read, x.written, x.tape)
            rows.append((name, *map(print_size, figures)))
        total = [self.operations, self.functions, _total(x.read for x in self.lines),
                 _total(x.written for x in self.lines), self.tape]  # fmt: skip
        rows.append(("all", *map(print_size, total)))
        widths = [max(map(len, column)) for column in zip(*rows)]
        table = []
        for row, line in zip(rows, (None, *(x.line for x in self.lines), None)):
            cells = [row[0].ljust(widths[0])]
            cells += [text.rjust(width) for text, width in zip(row[1:], widths[1:])]
            code = f"   {line.code}" if line is not None and line.code else ""
            table.append(("  ".join(cells) + code).rstrip())
        ends = (
            f"{print_size(self.arguments)} bytes of arguments, "
            f"{print_size(self.results)} of results, {print_size(self.scratch)} of scratch"
        )
        return "\n".join([f"{self.name}, {self.of}", *table, ends])

    __repr__ = __str__


def cost_of(traced: Function, request: Request) -> Cost:
    """Return what a request of a traced function costs."""
    final = derive(traced, request)
    nest = Compilation(final, blas=request.options.blas).nest
    shares: dict[Location | None, Share] = {}
    for loop in traffic(nest):
        for line, share in loop.lines.items():
            total = shares.setdefault(line, Share(Operations()))
            total.operations += share.operations
            total.read += share.read
            total.written += share.written
    tapes = _tape(final)
    for line in tapes:
        shares.setdefault(line, Share(Operations()))
    lines = [
        LineCost(
            line,
            share.operations.all,
            share.operations.functions,
            share.read,
            share.written,
            tapes.get(line, 0),
        )
        for line, share in sorted(shares.items(), key=lambda item: _order(item[0]))
    ]
    lines = [x for x in lines if any((x.operations, x.read, x.written, x.tape))]
    given = _total(param.type.count * param.type.dtype.bytes for param in final.params)
    made = _total(result.type.count * result.type.dtype.bytes for result in final.results)
    return Cost(traced.name, request.of, tuple(lines), given, made, plan(nest).bytes)


def _order(line: Location | None) -> tuple[str, int]:
    return ("\U0010ffff", 0) if line is None else (line.file, line.line)


def _tape(function: Function) -> dict[Location | None, Size]:
    """Return the bytes of arrays, by line, that differentiation reads and did not make."""
    found: dict[Location | None, Size] = {}
    seen: set[Value] = set()
    for owner, node in nested(function):
        if owner is not function or not is_derived(owner.locations.get(node, ())):
            continue
        for operand in node.operands:
            lines = owner.locations.get(operand.node, ())
            is_kept = operand.type.rank and operand.op.name not in ("param", "constant")
            if is_kept and lines and not is_derived(lines) and operand not in seen:
                seen.add(operand)
                bytes_ = operand.type.count * operand.type.dtype.bytes
                found[lines[0]] = found.get(lines[0], 0) + bytes_
    return found


def _total(counts: Any) -> Size:
    total: Size = 0
    for count in counts:
        total = total + count
    return total


def print_size(size: Size) -> str:
    """Return a number with blanks between thousands, or an expression of sizes."""
    if isinstance(size, int):
        return f"{size:,}".replace(",", " ")
    return re.sub(r"\s*\*\s*", "*", str(size))
