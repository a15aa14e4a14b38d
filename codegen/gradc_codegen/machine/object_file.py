"""Object files, assembly and optimised LLVM text of a module, for any target LLVM knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradc_codegen.machine.optimize import Optimized, effort, optimize, parse
from gradc_codegen.math.emulation import provided
from gradc_codegen.math.formulas import contained
from gradc_codegen.target.target import LOCK, Target, target


def emit_object(
    text: str | Sequence[str],
    cpu: str | None = None,
    triple: str | None = None,
    *,
    level: int | None = None,
    exported: Iterable[str] | None = None,
    emulate: bool = False,
) -> bytes:
    """Return the object file of a module; the same text and target give the same bytes.

    Parameters
    ----------
    text: LLVM text of a whole module, or several that become one object file.
    cpu: LLVM's name of a CPU, ``native``, or None for the architecture's baseline (``x86-64-v3``).
    triple: LLVM's name of the target; None for this machine's.
    level: 0, 1 or 2; None chooses by size.
    exported: the functions other objects may see; None for all that are not internal in the text.
    emulate: whether functions of the module's own take the place of an fma that the CPU lacks.

    Raises
    ------
    ExportError: no such target or CPU, or the code needs fma, and the CPU has none.
    """
    with LOCK:
        return _optimized(text, target(cpu, triple), level, exported, emulate).object()


def emit_assembly(
    text: str | Sequence[str],
    cpu: str | None = None,
    triple: str | None = None,
    *,
    level: int | None = None,
    exported: Iterable[str] | None = None,
    emulate: bool = False,
) -> str:
    """Return the assembly of a module; parameters and errors as :func:`emit_object`."""
    with LOCK:
        return _optimized(text, target(cpu, triple), level, exported, emulate).assembly()


def optimized_ir(
    text: str | Sequence[str],
    cpu: str | None = None,
    triple: str | None = None,
    *,
    level: int | None = None,
    exported: Iterable[str] | None = None,
    emulate: bool = False,
) -> str:
    """Return LLVM text after the optimiser; parameters and errors as :func:`emit_object`."""
    with LOCK:
        return str(_optimized(text, target(cpu, triple), level, exported, emulate).module)


def _optimized(
    text: str | Sequence[str],
    machine_of: Target,
    level: int | None,
    exported: Iterable[str] | None,
    emulate: bool,
) -> Optimized:
    texts = [text] if isinstance(text, str) else text
    texts = [contained(provided(text, machine_of, emulate)) for text in texts]
    how = effort(texts, level)
    module = parse(texts, machine_of, how)
    if exported is not None:
        seen = set(exported)
        for function in module.functions:
            if not function.is_declaration and function.name not in seen:
                function.linkage = "internal"
    return optimize(module, machine_of, how)
