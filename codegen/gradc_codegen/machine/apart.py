"""Trying LLVM in a process of its own, which it may end instead of raising an error."""

from __future__ import annotations

import json
import subprocess
import sys

from gradc_codegen.target.target import ABI_NAMES, Target
from gradc_ir.errors import ExportError

_EMIT = """
import json, sys, llvmlite.binding as llvm
llvm.initialize_all_targets()
llvm.initialize_all_asmprinters()
triple, options, text = json.load(sys.stdin)
machine = llvm.Target.from_triple(triple).create_target_machine(**options)
machine.emit_object(llvm.parse_assembly(text))
"""


def try_apart(text: str, target: Target, level: int) -> None:
    """Make an object file of a module and throw it away; ExportError if LLVM fails to."""
    options = {
        "cpu": target.cpu,
        "features": target.features,
        "opt": level,
        "reloc": "pic",
        "codemodel": "small",
        "abiname": ABI_NAMES.get(target.architecture, ""),
    }
    done = subprocess.run(
        [sys.executable, "-c", _EMIT],
        input=json.dumps([target.triple, options, text]),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        told = [line for line in done.stderr.splitlines() if line.strip()]
        raise ExportError(
            f"LLVM cannot write this kernel for {target.triple} / {target.cpu}",
            found=told[-1][:300] if told else f"it ended with {done.returncode}",
            help="name another CPU; all kernels are known to compile for x86_64, aarch64, riscv64 "
            "and wasm32",
        )
