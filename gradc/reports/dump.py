"""Text of a function at any stage of its way, for ``f.dump`` and ``gradc dump``."""

from __future__ import annotations

from gradc.pipeline import Request, after, before, derive
from gradc.tracing import Traced
from gradc.tracing.core.source import definition
from gradc.tracing.rewriting.rewrite import rewritten_text
from gradc_ir.core.graph import Function
from gradc_ir.core.walk import nested
from gradc_ir.errors import TraceError
from gradc_ir.text.printer import print_function

STAGES = ("traced", "stable", "derivative", "final", "loops", "llvm", "asm")


def dump(
    traced: Function,
    request: Request,
    *,
    stage: str = "final",
    after_pass: str | None = None,
    locations: bool = True,
    cpu: str = "native",
) -> str:
    """Return the text of a traced function on its way to what ``request`` names.

    ``stage`` is one of ``STAGES``. ``after_pass`` instead names a pass (``fold``, ``after.fold``),
    or ``all`` for every step with its number of nodes; a pass that runs more than once shows each
    time.
    """
    steps = walk(traced, request)
    if after_pass is not None:
        return _after([*steps, *_prepare(steps[-1][1], request)], after_pass, locations)
    if stage not in STAGES:
        raise TraceError(f"no stage called {stage!r}", found=f"stages: {', '.join(STAGES)}")
    final = steps[-1][1]
    if stage in ("loops", "llvm", "asm"):
        from gradc_codegen.compile_function import Compilation

        made = Compilation(final, final.name, request.options.blas, cpu)
        if stage == "loops":
            return str(made.nest)
        return made.llvm if stage == "llvm" else made.assembly
    chosen = {
        "traced": "traced",
        "stable": f"before.{before(request.options).passes[-1].name}",
        "derivative": "derivative",
        "final": f"after.{after(request.options).passes[-1].name}",
    }[stage]
    function = next(step for name, step in reversed(steps) if name == chosen)
    return print_function(function, locations=locations)


def dump_capture(traced: Traced) -> str:
    """Return the rewritten code of the functions that were traced, and what became of each loop."""
    parts = [f"# {note}" for note in traced.loops]
    for function in traced.rewritten:
        parts += ["", f"# {definition(function.__code__)}", rewritten_text(function)]
    return "\n".join(parts).strip() or "# no loop or branch was rewritten"


def walk(traced: Function, request: Request) -> list[tuple[str, Function]]:
    """Return every step of a request: the name of the pass and the function after it."""
    steps: list[tuple[str, Function]] = []
    derive(traced, request, lambda name, function: steps.append((name, function)))
    return steps


def _prepare(final: Function, request: Request) -> list[tuple[str, Function]]:
    """Return the steps that come before the schedule; bodies of control flow have their own."""
    from gradc_codegen.schedule.passes.prepare import preparation

    steps: list[tuple[str, Function]] = []
    preparation(request.options.blas)(final, lambda *step: steps.append(step))
    return steps


def _after(steps: list[tuple[str, Function]], name: str, locations: bool) -> str:
    chosen = [
        (step, function)
        for step, function in steps
        if name == "all" or name in (step, step.rpartition(".")[2])
    ]
    if not chosen:
        raise TraceError(
            f"no pass called {name!r} runs here",
            found=f"passes: {', '.join(dict.fromkeys(step for step, _ in steps))}",
        )
    return "\n".join(
        f"## {step}: {_count(function)} nodes\n{print_function(function, locations=locations)}"
        for step, function in chosen
    )


def _count(function: Function) -> int:
    """Return the number of nodes, those of bodies included."""
    return sum(1 for _ in nested(function))
