"""PyTorch: eager, and compiled by its own compiler, on tensors that share NumPy's memory."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.missing import Missing, installed
from benchmarks.rows.row import Case
from benchmarks.turns import Contestant, called


def torch(case: Case) -> Contestant | None:
    """Return eager PyTorch as a contestant, where the row is written for it."""
    return _contestant(case, "torch", compiled=False)


def torch_compiled(case: Case) -> Contestant | None:
    """Return ``torch.compile`` of the same."""
    return _contestant(case, "torch.compile", compiled=True)


def _contestant(case: Case, tool: str, compiled: bool) -> Contestant | None:
    row = case.row
    if row.torch is None or row.wrt is None:
        return None
    torch = installed("torch")
    torch.set_num_threads(1)
    function = row.torch(torch)
    if compiled:
        function = torch.compile(function)
    tensors = [torch.from_numpy(array) for array in case.arguments]
    leaves = [tensors[position].requires_grad_() for position in row.wrt]

    def call() -> Any:
        value = function(*tensors)
        return value, *torch.autograd.grad(value, leaves)

    try:
        results = [result.detach().numpy() for result in call()]
    except Exception as error:
        if not compiled:
            raise
        reason = str(error).strip().partition("\n")[0]
        raise Missing(f"{tool}: {type(error).__name__}: {reason}") from None
    return Contestant(tool, called(call), results)
