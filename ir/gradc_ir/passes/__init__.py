"""The passes of the language, one file each: a frozen dataclass, called with a function, that
returns an equal one. Each is loaded when it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradc_ir.pipeline import OnNeed

if TYPE_CHECKING:
    from gradc_ir.core.graph import Function
    from gradc_ir.passes.canonicalize import Canonicalize
    from gradc_ir.passes.control import SimplifyControl
    from gradc_ir.passes.cse import MergeCommonSubexpressions
    from gradc_ir.passes.dce import RemoveDeadNodes
    from gradc_ir.passes.fold import FoldConstants
    from gradc_ir.passes.hoist import HoistInvariants
    from gradc_ir.passes.narrow import NarrowAxes
    from gradc_ir.passes.recover import RecoverFinite
    from gradc_ir.passes.relayout import RelayoutInvariants
    from gradc_ir.passes.unbound import UnboundExponents

__all__ = [
    "Canonicalize",
    "FoldConstants",
    "HoistInvariants",
    "MergeCommonSubexpressions",
    "NarrowAxes",
    "RecoverFinite",
    "RelayoutInvariants",
    "RemoveDeadNodes",
    "SimplifyControl",
    "UnboundExponents",
]

_MODULES = {
    "Canonicalize": "gradc_ir.passes.canonicalize",
    "FoldConstants": "gradc_ir.passes.fold",
    "HoistInvariants": "gradc_ir.passes.hoist",
    "MergeCommonSubexpressions": "gradc_ir.passes.cse",
    "NarrowAxes": "gradc_ir.passes.narrow",
    "RecoverFinite": "gradc_ir.passes.recover",
    "RelayoutInvariants": "gradc_ir.passes.relayout",
    "RemoveDeadNodes": "gradc_ir.passes.dce",
    "SimplifyControl": "gradc_ir.passes.control",
    "UnboundExponents": "gradc_ir.passes.unbound",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"there is no pass {name}")
    return getattr(import_module(_MODULES[name]), name)


def has_control(function: Function) -> bool:
    """Whether a function has loops, branches or other ops with bodies."""
    return any(node.op.family == "control" for node in function.nodes)


def _reads_parts(function: Function) -> bool:
    """Whether a function has loops, or reads parts of what is computed."""
    return any(
        node.op.family == "control"
        or (node.op.name in ("slice", "gather") and not node.operands[0].op.is_leaf)
        for node in function.nodes
    )


def on_need(name: str) -> OnNeed:
    """Return a pass that few functions have something for."""
    return OnNeed(_MODULES[name], name, _NEEDED[name])


_NEEDED = {
    "HoistInvariants": has_control,
    "NarrowAxes": _reads_parts,
    "RelayoutInvariants": has_control,
    "RemoveDeadNodes": has_control,
    "SimplifyControl": has_control,
}
