"""Colours of sparse matrices beside the counts that are published.

    python -m benchmarks.colours FOLDER

The folder has linear programs of Netlib as MPS files, ``cre-a.mps``, perhaps with something before
the name and compressed: they are not part of the project. The counts are those that the tests of
SparseMatrixColorings.jl hold: of A. Gebremedhin, F. Manne, A. Pothen, What color is your Jacobian?
(SIAM Review 47, 2005, table 3.2), and of A. Gebremedhin, D. Nguyen, M. Patwary, A. Pothen, ColPack
(ACM TOMS 40, 2013, tables VI and VII), there the least of five orders; and those of bands and
figures. It fails where one of ours is larger.
"""

from __future__ import annotations

import bz2
import gzip
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array, csr_array, diags_array

from gradc.sparsity import colouring
from gradc.sparsity.compression import compress

Pattern = Any  # csr_array of truth values


class Published(NamedTuple):
    """Elements of a program's matrix with its slacks, and the least counts; 0 where none is."""

    elements: int
    columns: int
    rows: int = 0


PUBLISHED = {
    "cre-a": Published(18168, 360, 14),
    "dfl001": Published(35632, 228),
    "ken-11": Published(49058, 122, 4),
    "ken-13": Published(97246, 170, 4),
    "pds-10": Published(107605, 96),
    "maros-r7": Published(144848, 70, 72),
    "pds-20": Published(232647, 96),
    "cre-d": Published(246614, 808, 13),
    "cre-b": Published(260785, 845),
    "ken-18": Published(358171, 325, 4),
    "osa-07": Published(144812, 17613),
    "fit2d": Published(129042, 10501),
}

# Figure 4.1 of the survey, and figure 1 of A. Gebremedhin, A. Pothen, A. Tarafdar, A. Walther,
# Efficient computation of sparse Hessians using coloring and automatic differentiation (2009)
FIGURES = {
    "figure 4.1": (3, ["11", "111.11", ".111", "..11.1", ".1..1", ".1.1.1"]),
    "figure 1": (
        5,
        [
            "11....1", "111.1", ".111.1", "..11.....1", ".1..11.1",
            "..1.11..1", "1.....11", "....1.111", ".....1.111", "...1....11",
        ],
    ),
}  # fmt: skip


def program(path: Path) -> Pattern:
    """Return the pattern of a linear program's matrix, with a slack for each inequality."""
    openers: dict[str, Any] = {".bz2": bz2.open, ".gz": gzip.open}
    rows: dict[str, int] = {}
    columns: dict[str, int] = {}
    unequal, places, section = [], [], ""
    with openers.get(path.suffix, open)(path, "rt") as file:
        for line in file:
            words = line.split()
            if not line.startswith(" ") or not words:
                section = words[0] if words else section
            elif section == "ROWS" and words[0] != "N":
                rows[words[1]] = len(rows)
                if words[0] != "E":
                    unequal.append(rows[words[1]])
            elif section == "COLUMNS":
                column = columns.setdefault(words[0], len(columns))
                places += [
                    (rows[row], column)
                    for row, number in zip(words[1::2], words[2::2])
                    if row in rows and float(number)
                ]
    places += [(row, len(columns) + i) for i, row in enumerate(unequal)]
    i, j = np.array(places).T
    shape = (len(rows), len(columns) + len(unequal))
    return coo_array((np.ones(len(places), np.bool_), (i, j)), shape=shape).tocsr()


def counted(colours: Any) -> int:
    """Return how many colours there are."""
    return int(colours.max(initial=-1)) + 1


class Row(NamedTuple):
    """What was coloured, how many colours it took, and how many are published."""

    name: str
    shape: tuple[int, ...]
    elements: int
    what: str
    ours: int
    published: int
    seconds: float


def of_programs(folder: Path) -> Iterator[Row]:
    """Yield the colours of columns and rows of each program that is there."""
    for name, published in PUBLISHED.items():
        for path in sorted(folder.glob(f"*{name}.mps*")):
            pattern = program(path)
            if pattern.nnz != published.elements:
                print(f"{name}: {pattern.nnz} elements, {published.elements} are published")
            for what, colour, count in (
                ("columns", colouring.columns, published.columns),
                ("rows", colouring.rows, published.rows),
            ):
                if count:
                    start = time.process_time()
                    ours = counted(colour(pattern))
                    seconds = time.process_time() - start
                    yield Row(name, pattern.shape, pattern.nnz, what, ours, count, seconds)


def of_small_ones() -> Iterator[Row]:
    """Yield the colours of bands, and of what is drawn in papers."""
    symmetric: dict[str, tuple[int, Pattern]] = {}
    for half in (5, 10):
        offsets = range(-half, half + 1)
        for n in (5000, 20_000):
            whole = [np.ones(n - abs(offset), np.bool_) for offset in offsets]
            band = csr_array(diags_array(whole, offsets=list(offsets), dtype=np.bool_))
            symmetric[f"band {2 * half + 1}, {n}"] = 2 * half + 1, band
    for name, (count, lines) in FIGURES.items():
        size = len(lines)
        full = [[one == "1" for one in line.ljust(size, ".")] for line in lines]
        symmetric[name] = count, csr_array(np.array(full))
    for name, (count, pattern) in symmetric.items():
        start = time.process_time()
        ours = counted(colouring.symmetric(pattern))
        seconds = time.process_time() - start
        yield Row(name, pattern.shape, pattern.nnz, "stars", ours, count, seconds)
    frame = np.zeros((10, 20), np.bool_)
    frame[[0, -1]] = frame[:, [0, -1]] = True
    turned = np.eye(4, dtype=np.bool_)[::-1]
    triangle = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], np.bool_)
    for name, count, dense in (("frame", 4, frame), ("turned", 1, turned), ("ring", 3, triangle)):
        start = time.process_time()
        made = compress(csr_array(dense), "auto")
        seconds = time.process_time() - start
        ours = made.forward_passes + made.reverse_passes
        yield Row(name, dense.shape, int(dense.sum()), "both", ours, count, seconds)


def main(folder: str) -> int:
    """Print a table; return how many counts are larger than what is published."""
    print(f"{'':12} {'rows':>7} {'columns':>7} {'elements':>8} {'':8} ours published seconds")
    worse = 0
    for rows in (of_small_ones(), of_programs(Path(folder))):
        for row in rows:
            worse += row.ours > row.published
            print(
                f"{row.name:12} {row.shape[0]:7} {row.shape[1]:7} {row.elements:8} {row.what:8} "
                f"{row.ours:5} {row.published:5} {row.seconds:9.2f}"
                + ("  more" if row.ours > row.published else ""),
                flush=True,
            )
    return worse


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
