"""The passes of the language, one file each: a frozen dataclass, called with a function, that
returns an equal one.
"""

from gradc_ir.passes.canonicalize import Canonicalize
from gradc_ir.passes.control import SimplifyControl
from gradc_ir.passes.cse import MergeCommonSubexpressions
from gradc_ir.passes.dce import RemoveDeadNodes
from gradc_ir.passes.fold import FoldConstants
from gradc_ir.passes.hoist import HoistInvariants
from gradc_ir.passes.narrow import NarrowLoops
from gradc_ir.passes.recover import RecoverFinite
from gradc_ir.passes.relayout import RelayoutInvariants
from gradc_ir.passes.unbound import UnboundExponents

__all__ = [
    "Canonicalize",
    "FoldConstants",
    "HoistInvariants",
    "MergeCommonSubexpressions",
    "NarrowLoops",
    "RecoverFinite",
    "RelayoutInvariants",
    "RemoveDeadNodes",
    "SimplifyControl",
    "UnboundExponents",
]
