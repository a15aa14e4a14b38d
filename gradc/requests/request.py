"""What is made of a traced function: a kind of derivative, and what it is with respect to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Protocol

from gradc.requests.options import Options
from gradc_ir.classes.quick import dataclass

if TYPE_CHECKING:
    from gradc.sparsity.seeds import Seeds, Terms
    from gradc_ir.core.graph import Function

KINDS = ("value", "grad", "value_and_grad", "jvp", "vjp", "hvp", "jacobian", "hessian")


class PolicyPass(Protocol):
    """What a user chose for derivatives that are no plain numbers, done right after them."""

    def __call__(self, function: Function) -> Function:
        """Return the derivative as it is meant; it may have results more at its end."""

    def unpacked(self, results: Sequence[Any]) -> tuple[list[Any], Any]:
        """Return the results of the function as they are meant, and a count beside them."""


@dataclass(frozen=True)
class Request:
    """What to make of a function: one of ``KINDS``, with respect to which flat parameters.

    ``mode`` is of a Jacobian or a Hessian; with seeds or terms it has these, or
    where their coefficients are, as parameters at its end.
    ``policies`` is a pass for the derivative itself, which may add results at its end.
    ``checked`` is the function with results that nobody differentiates after its own: they are the
    last ones of what is made, or of its first half.
    """

    of: str = "value"
    wrt: tuple[int, ...] = ()
    mode: str | Seeds | Terms = "auto"
    options: Options = field(default_factory=Options)
    policies: PolicyPass | None = None
    checked: Function | None = None

    def forward(self) -> Request:
        """Return it with forward mode."""
        return replace(self, mode="forward")
