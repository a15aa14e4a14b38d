"""Machine code of whole modules, for any target LLVM knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from gradc_codegen.machine.common import with_common
from gradc_codegen.machine.large_arrays import set_aside
from gradc_codegen.machine.optimize import SMALL_ATTRIBUTES, Optimized, effort, optimize, parse
from gradc_codegen.math.emulation import provided
from gradc_codegen.math.formulas import contained
from gradc_codegen.target.llvm_lock import uses_llvm
from gradc_codegen.target.target import target


@uses_llvm
def machine_code(
    text: str | Sequence[str],
    cpu: str | None = None,
    triple: str | None = None,
    *,
    level: int | Literal["size"] | None = None,
    exported: Iterable[str] | None = None,
    emulate: bool = False,
) -> Optimized:
    """Return a module after the optimiser: its text, assembly and object file are to be had of it.

    The same text and target give the same bytes.

    Parameters
    ----------
    text: LLVM text of a whole module, or several that become one object file.
    cpu: LLVM's name of a CPU, ``native``, or None for the architecture's baseline (``x86-64-v3``).
    triple: LLVM's name of the target; None for this machine's.
    level: 0, 1, 2 or ``"size"``, for short code; None chooses by how long the text is.
    exported: the functions other objects may see; None for all that are not internal in the text.
    emulate: whether functions of the module's own take the place of an fma that the CPU lacks.

    Raises
    ------
    ExportError: no such target or CPU, or the code needs fma, and the CPU has none.
    VerifyError: LLVM refuses the text.
    """
    machine_of = target(cpu, triple)
    texts, aside = set_aside([text] if isinstance(text, str) else text)
    told = SMALL_ATTRIBUTES if level == "size" else ""
    texts = [provided(contained(text), machine_of, emulate, told) for text in texts]
    how = effort(texts, level)
    if exported is not None:
        texts = with_common(texts)
    # the C functions in front of kernels have looked for the stack on Windows
    attributes = '"no-stack-arg-probe"' if machine_of.format == "coff" else ""
    module = parse(texts, machine_of, how, attributes, aside)
    if exported is not None:
        seen = set(exported)
        for function in module.functions:
            if not function.is_declaration and function.name not in seen:
                function.linkage = "internal"
    return optimize(module, machine_of, how)


@uses_llvm
def assembly_of(text: str, cpu: str | None = None, triple: str | None = None) -> str:
    """Return the assembly of a module; parameters and errors are those of :func:`machine_code`."""
    return machine_code(text, cpu, triple).assembly()
