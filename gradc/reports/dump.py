"""Text of a function at any stage of its way, for ``f.dump`` and ``gradc dump``."""

from __future__ import annotations

from gradc.pipeline import after, before, derive
from gradc.reading.python_text import python_text
from gradc.reading.simple import simple
from gradc.reports.steps import changed, count, print_steps
from gradc.requests.request import Request
from gradc.tracing import Traced
from gradc.tracing.core.source import definition
from gradc.tracing.rewriting.rewrite import rewritten_text
from gradc_ir.core.graph import Function
from gradc_ir.errors import TraceError
from gradc_ir.text.printer import print_function, print_module

GRAPHS = ("traced", "stable", "derivative", "final")
STAGES = (*GRAPHS, "loops", "llvm", "asm")


def dump(
    traced: Function,
    request: Request,
    *,
    stage: str = "final",
    after_pass: str | None = None,
    locations: bool = True,
    cpu: str = "native",
    triple: str | None = None,
    plainly: bool = False,
) -> str:
    """Return the text of a traced function on its way to what ``request`` names.

    ``stage`` is one of ``STAGES``. ``after_pass`` instead names a pass (``fold``, ``after.fold``),
    which shows each time that it runs; or ``all`` for what each of them changed. ``plainly`` is
    its mathematics, as Python.
    """
    if plainly:
        return python_text(simple(traced, request), heading(traced, request))
    if after_pass is not None:
        steps = every_step(traced, request)
        if after_pass == "all":
            return print_steps(changed(steps))
        return _after(steps, after_pass, locations)
    if stage in GRAPHS:
        return print_module(graph(traced, request, stage), locations)
    if stage not in STAGES:
        raise TraceError(f"no stage called {stage!r}", found=f"stages: {', '.join(STAGES)}")
    from gradc_codegen.compile_function import Compilation

    final = derive(traced, request)
    cpu_ = None if triple is not None and cpu == "native" else cpu
    made = Compilation(final, final.name, request.options.blas, cpu_, triple)
    if stage == "loops":
        return "\n".join(map(str, filter(None, (made.nest, made.long_rows))))
    return made.llvm if stage == "llvm" else made.assembly


def graph(traced: Function, request: Request, stage: str = "final") -> Function:
    """Return the graph of a request at one of ``GRAPHS``."""
    chosen = {
        "traced": "traced",
        "stable": f"before.{before(request.options).passes[-1].name}",
        "derivative": "derivative",
        "final": f"after.{after(request.options).passes[-1].name}",
    }[stage]
    return next(step for name, step in reversed(walk(traced, request)) if name == chosen)


_WORDS = {
    "value": "the value", "grad": "the gradient", "value_and_grad": "value and gradient",
    "jvp": "value and tangent", "vjp": "value and cotangents", "hvp": "the Hessian times a vector",
    "jacobian": "the Jacobian", "hessian": "the Hessian",
}  # fmt: skip


def heading(traced: Function, request: Request) -> str:
    """Return what a function is that is shown without its numerics."""
    by = ", ".join(traced.names[i] for i in request.wrt)
    at = f", {traced.location.short}" if traced.location else ""
    what = f"{_WORDS[request.of]} of {traced.name}{f' by {by}' if by else ''}{at}"
    return f"{what}: what is computed, over the reals"


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


def every_step(traced: Function, request: Request) -> list[tuple[str, Function]]:
    """Return the steps of a request, and those that come before the schedule."""
    from gradc_codegen.schedule.passes.prepare import preparation

    steps = walk(traced, request)
    # bodies of control flow have their own
    preparation(request.options.blas)(steps[-1][1], lambda *step: steps.append(step))
    return steps


def steps_called(steps: list[tuple[str, Function]], name: str) -> list[tuple[str, Function]]:
    """Return the steps that a pass is known by, in full or by its own name, in their order."""
    found = [step for step in steps if name in (step[0], step[0].rpartition(".")[2])]
    if not found:
        raise TraceError(
            f"no pass called {name!r} runs here",
            found=f"passes: {', '.join(dict.fromkeys(step for step, _ in steps))}",
        )
    return found


def _after(steps: list[tuple[str, Function]], name: str, locations: bool) -> str:
    return "\n".join(
        f"## {step}: {count(function)} nodes\n{print_function(function, locations=locations)}"
        for step, function in steps_called(steps, name)
    )
