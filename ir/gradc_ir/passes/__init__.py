"""The passes of the language: each a frozen dataclass, called with a function, returning one."""

from gradc_ir.passes.canonicalize import Canonicalize
from gradc_ir.passes.cse import MergeCommonSubexpressions
from gradc_ir.passes.dce import RemoveDeadNodes
from gradc_ir.passes.fold import FoldConstants

__all__ = ["Canonicalize", "FoldConstants", "MergeCommonSubexpressions", "RemoveDeadNodes"]
