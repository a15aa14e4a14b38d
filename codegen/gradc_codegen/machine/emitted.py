"""The text of modules made machine code for this process; what is kept needs none of this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from gradc_codegen.cache.objects import Object
from gradc_codegen.machine.large_arrays import set_aside
from gradc_codegen.machine.optimize import LONG, effort, optimize, parse
from gradc_codegen.math.emulation import provided
from gradc_codegen.math.shared import without_shared
from gradc_codegen.math.whole import without_whole
from gradc_codegen.target.bindings import llvm
from gradc_codegen.target.llvm_lock import uses_llvm
from gradc_codegen.target.target import machine_of, target


@uses_llvm
def emitted(
    text: str | Sequence[str], cpu: str, level: Literal[0, 1, 2, "long", "size", "math"] | None
) -> Object:
    """Return the object file of a module, and the names of the functions it defines for others.

    Parameters
    ----------
    text: LLVM text of a whole module, or several that become one.
    cpu: ``native``, or LLVM's name of a CPU.
    level: how hard LLVM tries; None chooses by how long the text is.

    Raises
    ------
    VerifyError: LLVM refuses the text.
    """
    machine_ = target(cpu)
    given, aside = set_aside([text] if isinstance(text, str) else text)
    texts = [provided(each, machine_) for each in given]
    how = LONG if level == "long" else effort(texts, level)
    if cpu == "native":
        used = machine_of(machine_)
        texts = [without_shared(without_whole(each, used), used) for each in texts]
    module = parse(texts, machine_, how, aside=aside)
    names = tuple(
        function.name
        for function in module.functions
        if not function.is_declaration and function.linkage is not llvm.Linkage.internal
    )
    return Object(optimize(module, machine_, how).object(), names)
