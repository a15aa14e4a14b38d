"""Printing what was measured, and writing it as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.side_by_side import Measured


def print_peaks(peaks: Mapping[str, float]) -> None:
    """Print what the core can do."""
    for name, rate in peaks.items():
        print(f"  {name:16}{rate:9.1f} {'GFLOP/s' if name.startswith('fma') else 'GB/s'}")


def print_case(found: Measured) -> None:
    """Print the tools of a case, the fastest first."""
    case = found.case
    passed = case.read + case.written
    print(
        f"\n{case.name}   (reads {case.read / 1e6:.3g} MB, writes {case.written / 1e6:.3g} MB, "
        f"{case.flops / 1e6:.3g} Mflop)"
    )
    for tool, times in sorted(found.times.items(), key=lambda item: item[1].median):
        ratio = found.ahead_of(tool)
        beside = "" if ratio is None or tool == "gradc" else f"{ratio:7.2f}x gradc"
        compiling = found.compiling.get(tool)
        print(
            f"  {tool:14}{seconds(times.median):>10}"
            f"{passed / times.median / 1e9:8.1f} GB/s{case.flops / times.median / 1e9:8.1f} "
            f"GFLOP/s{beside:>15}"
            + ("" if compiling is None else f"   compiled in {compiling:.2f} s")
        )
    rate = passed / found.passing / 1e9
    print(f"  {'(memory)':14}{seconds(found.passing):>10}{rate:8.1f} GB/s")
    print(f"  {'(fma)':14}{'':31}{found.fma:8.1f} GFLOP/s")
    print(f"  gradc's scratch: {found.scratch / 1e6:.3g} MB")
    for failure in found.failures:
        print(f"  FAILED {failure}")


def print_summary(all_found: Sequence[Measured]) -> None:
    """Print a line for each case, then the means and the compile times."""
    print(
        f"\n{'':46}{'gradc':>10}{'fastest peer':>18}{'':8}{'jax':>11}{'c++':>9}"
        f"{'of memory':>12}{'of fma':>8}{'compile':>9}{'jax':>7}"
    )
    for found in all_found:
        ours = "failed" if found.ours is None else seconds(found.ours)
        print(
            f"{found.case.name:46}{ours:>10}{found.fastest or '':>18}"
            f"{times(found.ahead_of(found.fastest))}{times(found.ahead_of('jax'), 11)}"
            f"{times(found.ahead_of('c++'), 9)}"
            f"{percent(found.of_memory):>12}{percent(found.of_fma):>8}"
            f"{compiled(found.compiling, 'gradc'):>9}{compiled(found.compiling, 'jax'):>7}"
        )
    ratios = [found.ahead_of(found.fastest) for found in all_found]
    jax = geometric_mean(found.ahead_of("jax") for found in all_found)
    print(f"{'geometric mean':74}{times(geometric_mean(ratios))}{times(jax, 11)}")
    ahead = sum(ratio is not None and ratio > 1 for ratio in ratios)
    print(f"ahead of every peer in {ahead} of {len(ratios)}")
    sums = {
        tool: sum(found.compiling.get(tool, 0.0) for found in all_found)
        for tool in ("gradc", "jax")
    }
    print(
        f"{'processor seconds of compiling':114}"
        f"{compiled(sums, 'gradc'):>9}{compiled(sums, 'jax'):>7}"
    )


def write_json(
    path: Path, peaks: Mapping[str, float], all_found: Sequence[Measured], missing: Iterable[str]
) -> None:
    """Write everything that was measured."""
    path.write_text(
        json.dumps(
            {
                "peaks": dict(peaks),
                "missing": sorted(missing),
                "cases": [as_data(found) for found in all_found],
            },
            indent=1,
        )
        + "\n"
    )


def as_data(found: Measured) -> dict[str, Any]:
    """Return the figures of a case as plain data; times are seconds."""
    case = found.case
    return {
        "row": case.row.name,
        "sizes": dict(case.sizes),
        "dtype": case.dtype,
        "read": case.read,
        "written": case.written,
        "flops": case.flops,
        "times": {
            tool: {"median": times.median, "least": times.least}
            for tool, times in found.times.items()
        },
        "compiling": found.compiling,
        "scratch": found.scratch,
        "passing": found.passing,
        "fma": found.fma,
        "fastest": found.fastest,
        "ahead": found.ahead_of(found.fastest),
        "ahead_of_jax": found.ahead_of("jax"),
        "failures": found.failures,
    }


def geometric_mean(ratios: Iterable[float | None]) -> float | None:
    """Return the mean of the ratios there are."""
    logarithms = [math.log(ratio) for ratio in ratios if ratio is not None]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else None


def seconds(time: float) -> str:
    """Return a time in a fitting unit, three digits."""
    for unit, scale in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if time * scale < 1000:
            return f"{time * scale:.3g} {unit}"
    return f"{time:.3g} s"


def times(ratio: float | None, width: int = 8) -> str:
    """Return a ratio, or as many blanks."""
    return " " * width if ratio is None else f"{ratio:{width - 1}.2f}x"


def compiled(compiling: Mapping[str, float], tool: str) -> str:
    """Return the seconds that a tool compiled, blank where it did not."""
    return f"{compiling[tool]:.2f}" if tool in compiling else ""


def percent(share: float | None) -> str:
    """Return a share in per cent."""
    return "" if share is None else f"{100 * share:.0f} %"
