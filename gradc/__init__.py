"""gradc: a symbolic graph compiler that emits gradient code for functions written in plain NumPy.

Nothing is imported until it is used: ``import gradc`` costs little more than ``import numpy``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from gradc import compat as compat
    from gradc import rules as rules
    from gradc import special as special
    from gradc import testing as testing
    from gradc.checkpointing import checkpoint as checkpoint
    from gradc.compiled import Compiled as Compiled
    from gradc.control.branches import cond as cond
    from gradc.control.branches import switch as switch
    from gradc.control.loops import fori_loop as fori_loop
    from gradc.control.loops import while_loop as while_loop
    from gradc.control.scan import map as map
    from gradc.control.scan import scan as scan
    from gradc.custom import custom_gradient as custom_gradient
    from gradc.decorator import compile as compile
    from gradc.elementwise_ops import custom_op as custom_op
    from gradc.external_functions import external as external
    from gradc.overriding import overrides as overrides
    from gradc.overriding import register_gradient as register_gradient
    from gradc.rules.user import rule as rule
    from gradc.tracing.gradient_fences import clip_gradient as clip_gradient
    from gradc.tracing.gradient_fences import disconnected as disconnected
    from gradc.tracing.gradient_fences import reverse_gradient as reverse_gradient
    from gradc.tracing.gradient_fences import scale_gradient as scale_gradient
    from gradc.tracing.primitives import exactly as exactly
    from gradc.tracing.primitives import stop_gradient as stop_gradient
    from gradc.tracing.printing import debug_print as debug_print
    from gradc.transforms import grad as grad
    from gradc.transforms import hessian as hessian
    from gradc.transforms import hvp as hvp
    from gradc.transforms import jacobian as jacobian
    from gradc.transforms import jvp as jvp
    from gradc.transforms import linearize as linearize
    from gradc.transforms import value_and_grad as value_and_grad
    from gradc.transforms import vjp as vjp
    from gradc.transposing import transpose as transpose
    from gradc.variable import Variable as Variable
    from gradc.vmapping import vmap as vmap
    from gradc_ir.errors import DTypeError as DTypeError
    from gradc_ir.errors import ExportError as ExportError
    from gradc_ir.errors import GradcError as GradcError
    from gradc_ir.errors import GradientArityError as GradientArityError
    from gradc_ir.errors import IndexError as IndexError
    from gradc_ir.errors import LoopError as LoopError
    from gradc_ir.errors import NoGradientError as NoGradientError
    from gradc_ir.errors import NonFiniteError as NonFiniteError
    from gradc_ir.errors import ParseError as ParseError
    from gradc_ir.errors import PolicyError as PolicyError
    from gradc_ir.errors import RuleError as RuleError
    from gradc_ir.errors import ShapeError as ShapeError
    from gradc_ir.errors import TraceError as TraceError
    from gradc_ir.errors import UnconnectedGradientError as UnconnectedGradientError

_PLACES = {
    "gradc.checkpointing": ("checkpoint",),
    "gradc.compiled": ("Compiled",),
    "gradc.control.branches": ("cond", "switch"),
    "gradc.control.loops": ("fori_loop", "while_loop"),
    "gradc.control.scan": ("map", "scan"),
    "gradc.custom": ("custom_gradient",),
    "gradc.elementwise_ops": ("custom_op",),
    "gradc.external_functions": ("external",),
    "gradc.overriding": ("overrides", "register_gradient"),
    "gradc.decorator": ("compile",),
    "gradc.rules.user": ("rule",),
    "gradc.tracing.gradient_fences": (
        "clip_gradient",
        "disconnected",
        "reverse_gradient",
        "scale_gradient",
    ),
    "gradc.tracing.primitives": ("exactly", "stop_gradient"),
    "gradc.tracing.printing": ("debug_print",),
    "gradc.transforms": (
        "grad",
        "hessian",
        "hvp",
        "jacobian",
        "jvp",
        "linearize",
        "value_and_grad",
        "vjp",
    ),
    "gradc.variable": ("Variable",),
    "gradc.transposing": ("transpose",),
    "gradc.vmapping": ("vmap",),
    "gradc_ir.errors": (
        "DTypeError",
        "ExportError",
        "GradcError",
        "GradientArityError",
        "IndexError",
        "LoopError",
        "NoGradientError",
        "NonFiniteError",
        "ParseError",
        "PolicyError",
        "RuleError",
        "ShapeError",
        "TraceError",
        "UnconnectedGradientError",
    ),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}
_SUBMODULES = ("compat", "rules", "special", "testing")

__all__ = [*_MODULE_OF, *_SUBMODULES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"gradc.{name}")
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'gradc' has no attribute {name!r}")
    found = getattr(importlib.import_module(module), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
