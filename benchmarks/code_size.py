"""How many bytes of code and constants exported kernels have: as they are by default, and short.

    python -m benchmarks.code_size [ROW ...]

Printed are the text and the read-only data of the object file, without and with what callers by
name need (tables of arguments and three small functions), and the seconds of processor time of the
export. Equal constants count once, as linkers keep one of them. The bits of both are the same.
Where CasADi is installed, its C of the same stands beside them, by ``cc -O3``: the object file by
itself, and with what the C library's functions of mathematics add to a program.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

import gradc
from benchmarks.peers.missing import Missing
from benchmarks.peers.with_casadi import point_text
from benchmarks.rows.mlp import mlp
from benchmarks.rows.row import make_case
from benchmarks.rows.small import ROWS
from benchmarks.rows.small.arm_of_seven import position, potential
from benchmarks.rows.small.network import loss
from benchmarks.rows.small.pharmacokinetics import likelihood

# what an object file for a Cortex-M4 with its unit for floats is made for
CORTEX_M4 = {"target": "thumbv7em-none-eabihf", "cpu": "cortex-m4"}


def logistic(w: Any, x: Any, y: Any) -> Any:
    """Return the loss of a logistic regression."""
    return np.sum(np.log(1 + np.exp(-y * (x @ w))))


@dataclass(frozen=True)
class Kernel:
    """A function that is exported: its types, which derivative, by what, and for which machine.

    ``row``: the row that has it in CasADi.
    """

    name: str
    function: Callable[..., Any]
    spec: str
    of: str
    wrt: tuple[int, ...] = (0,)
    row: str = ""
    options: dict[str, Any] = field(default_factory=dict)


_MLP = (
    "w: f64[{m},{h}], b: f64[{h}], v: f64[{h},{k}], c: f64[{k}], x: f64[{n},{m}], labels: i64[{n}]"
)
_NETWORK = "w: f64[32,16], a: f64[32], v: f64[4,32], b: f64[4], x: f64[16], y: f64[4]"
KERNELS = (
    Kernel("logistic8", logistic, "w: f64[8], x: f64[n,8], y: f64[n]", "vg"),
    Kernel(
        "logistic8 m4", logistic, "w: f32[8], x: f32[n,8], y: f32[n]", "vg", (0,), "", CORTEX_M4
    ),
    Kernel("mlp 16-32-4", mlp, _MLP.format(m=16, h=32, k=4, n="n"), "vg", (0, 1, 2, 3)),
    Kernel("mlp of 64", mlp, _MLP.format(m=16, h=32, k=4, n=64), "vg", (0, 1, 2, 3)),
    Kernel("mlp symbolic", mlp, _MLP.format(m="m", h="h", k="k", n="n"), "vg", (0, 1, 2, 3)),
    Kernel("net 16-32-4", loss, _NETWORK, "vg", (0, 1, 2, 3), "net_16_32_4"),
    Kernel("arm7", position, "q: f64[7]", "value", row="arm7"),
    Kernel("arm7 jacobian", position, "q: f64[7]", "jac", row="arm7_jacobian"),
    Kernel("arm7 potential", potential, "q: f64[7]", "vg", row="arm7_potential"),
    Kernel(
        "pharmacokinetics",
        likelihood,
        "theta: f64[7], eta: f64[3], patient: f64[6]",
        "vg",
        (0, 1),
        "pharmacokinetics",
    ),
)


class Bytes(NamedTuple):
    """What an object file takes of a machine's memory: of the kernel alone, and in all."""

    kernel: int
    object: int


def bytes_of(path: Path) -> Bytes:
    """Return the bytes of the code and of the constants in an object file of ELF."""
    found = llvm.ObjectFileRef.from_path(str(path))
    sections = [(_text(section.name()), _size(section)) for section in found.sections()]
    code = sum(size for name, size in sections if name.startswith(".text"))
    constants = sum(size for name, size in sections if name.startswith(".rodata"))
    tables = sum(size for name, size in sections if name.startswith(".data.rel.ro"))
    return Bytes(code + constants, code + constants + tables)


def _size(section: Any) -> int:
    """Return the bytes of a section, in which a linker keeps one of equal constants."""
    name, size = _text(section.name()), section.size()
    width = name.removeprefix(".rodata.cst")
    if not (name.startswith(".rodata.cst") and width.isdecimal()):
        return int(size)
    data, each = bytes(section.data()), int(width)
    return each * len({data[at : at + each] for at in range(0, size, each)})


def _text(name: Any) -> str:
    return name.decode() if isinstance(name, bytes) else name or ""


def exported(kernel: Kernel, optimize: Any) -> tuple[Bytes, float]:
    """Return what the object file of a kernel takes, and the seconds of its export."""
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path, *_ = gradc.compile(kernel.function).export(
            "k",
            spec=kernel.spec,
            outputs=kernel.of,
            wrt=kernel.wrt,
            optimize=optimize,
            out=folder,
            **kernel.options,
        )
        return bytes_of(Path(path)), time.process_time() - start


def in_casadi(name: str) -> tuple[int, int] | None:
    """Return the bytes of CasADi's C of a row: of the object file, and of all that it calls, too.

    What it calls is what a program without libraries of its own is longer by. None without CasADi.
    """
    row = next(row for row in ROWS if row.name == name)
    try:
        text, _ = point_text(make_case(row, row.sizes[0], "f64"))
    except Missing:
        return None
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)

        def made(name: str, text: str, *flags: str | Path) -> Path:
            source, target = folder / f"{name}.c", folder / f"{name}.out"
            source.write_text(text)
            options = ["-O3", "-ffp-contract=off", *flags]
            subprocess.run(["cc", source, *options, "-o", target], check=True)
            return target

        code = made("point", text, "-c")
        alone = made("alone", "int main(void) { return 0; }", "-static")
        calling = "int point(); int main(void) { return point(); }"
        whole = made("whole", calling, code, "-static", "-lm")
        return bytes_of(code).kernel, bytes_of(whole).kernel - bytes_of(alone).kernel


def main() -> None:
    """Print a line for each kernel whose name begins with a word that is given; all for none."""
    names = sys.argv[1:]
    print(f"{'':18} {'default':>20} {'s':>5} {'size':>20} {'s':>5} {'CasADi':>20}")
    for kernel in KERNELS:
        if names and not any(kernel.name.startswith(name) for name in names):
            continue
        parts = []
        for optimize in (None, "size"):
            found, seconds = exported(kernel, optimize)
            parts.append(f"{found.kernel:10,}{found.object:10,} {seconds:5.2f}")
        other = in_casadi(kernel.row) if kernel.row else None
        if other is not None:
            parts.append("".join(f"{each:10,}" for each in other))
        print(f"{kernel.name:18} {'  '.join(parts)}", flush=True)


if __name__ == "__main__":
    main()
