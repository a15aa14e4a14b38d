"""What a user asks of a function: one description, from the transform to the graph's request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.calls.policies import Policies, groups_of
from gradc.calls.preconditions import TracedLike, check_value
from gradc.calls.signature import Wrt
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.sparsity.seeds import Seeds, Terms
from gradc.tracing.captured.top import is_tracing
from gradc_ir.classes.named import NamedTuple
from gradc_ir.errors import UnconnectedGradientError

OF_A_SCALAR = ("grad", "value_and_grad", "hvp", "hessian")
# Along arguments that are no floats these have nothing, where the others refuse them.
OF_FLOATS = ("jvp", "vjp", "linearize")


class Derivation(NamedTuple):
    """What to make of a function; a tuple, whose hash is quick, since every call looks it up.

    Parameters
    ----------
    of: ``"value"``, ``"linearize"`` or another of ``gradc.requests.request.KINDS``.
    wrt: with respect to which arguments; a tuple for several. None: all of them (vjp), or those
        that have a tangent (jvp).
    mode: of a Jacobian, or of a Hessian that is made by seeds or terms.
    has_aux: whether the function returns ``(value, aux)``.
    policies: what is done about derivatives that are no plain numbers; None: nothing.
    groups: which of the differentiated arguments' leaves are one array, as of
        :func:`~gradc.calls.policies.groups_of`; empty where that does not matter.
    """

    of: str
    wrt: Wrt | None = 0
    mode: str | Seeds | Terms = "auto"
    has_aux: bool = False
    policies: Policies | None = None
    groups: tuple[int, ...] = ()

    @property
    def several(self) -> bool:
        """Whether there is one derivative for each of some arguments, in a tuple."""
        return self.wrt is None or isinstance(self.wrt, tuple | list)

    @property
    def casts_integers(self) -> bool:
        """Whether integers that are differentiated by count as floats."""
        return self.policies is not None and self.policies.int_args == "float"

    @property
    def joins_aliases(self) -> bool:
        """Whether one array that is given twice is one argument."""
        return self.policies is not None and self.policies.aliases == "same"

    def grouped(self, leaves: Sequence[Any]) -> Derivation:
        """Return the derivation by these leaves, of which the same ones may belong together."""
        return self._replace(groups=groups_of(leaves, array_classes()))

    def request(
        self,
        traced: TracedLike,
        leaves: Sequence[int],
        options: Options,
        path_of: Callable[[int], str],
    ) -> Request:
        """Return what this asks of the graph of a traced function, with respect to some leaves.

        Raises ShapeError when a gradient is asked of more than one value, and
        UnconnectedGradientError, which names a leaf by its path, when the policies say so.
        """
        if self.of in OF_A_SCALAR:
            check_value(traced, self.has_aux)
        types = traced.function.param_types
        floats = [leaf for leaf in leaves if types[leaf].dtype.is_float]
        wrt = tuple(floats if self.of in OF_FLOATS else leaves)
        checks = getattr(traced, "checks", None)
        checked = None if checks is None else checks.function
        if self.policies is None:
            return Request(self.of, wrt, self.mode, options, checked=checked)
        is_joined = self._joined(traced, leaves, path_of)
        groups = self.groups
        if self.of != "jvp":
            kept = [i for i, leaf in enumerate(leaves) if leaf in floats]
            is_joined = tuple(is_joined[i] for i in kept)
            groups = groups and tuple(groups[i] for i in kept)
        from gradc.calls.apply_policies import ApplyPolicies  # few have any

        policed = ApplyPolicies(traced.function.name, self.policies, is_joined, groups)
        return Request(self.of, wrt, self.mode, options, policed, checked)

    def _joined(
        self, traced: TracedLike, leaves: Sequence[int], path_of: Callable[[int], str]
    ) -> tuple[bool, ...]:
        """Return whether each derivative is one of something that its value depends on."""
        from gradc.autodiff.connected import connected, reached  # few ask for these

        function = traced.function
        refused = self.policies is not None and self.policies.unconnected == "raise"
        if self.of == "jvp":
            found = zip(reached(function, leaves), function.result_types)
            leads = tuple(is_reached for is_reached, type_ in found if type_.dtype.is_float)
            if refused and not all(leads):
                raise UnconnectedGradientError(
                    f"a result of {function.name} depends on no argument that has a tangent",
                    help='choose unconnected="zero" or "none"',
                )
            return leads
        results = range(len(function.results)) if self.of == "vjp" else [0]
        joined = tuple(connected(function, leaves, results))
        if refused and not all(joined):
            raise UnconnectedGradientError(
                f"{function.name} does not depend on {path_of(leaves[joined.index(False)])}",
                help='leave it out of wrt, or choose unconnected="zero" or "none"',
            )
        return joined


VALUE = Derivation("value", ())


def array_classes() -> tuple[type, ...]:
    """Return the classes of what is one array when it is one object."""
    if not is_tracing():
        return (np.ndarray,)
    from gradc.tracing.core.tracer import Tracer  # which a trace has loaded

    return (Tracer,)
