"""gradc: a symbolic graph compiler that emits gradient code for functions written in plain NumPy.

Nothing is imported until it is used: ``import gradc`` costs little more than ``import numpy``.
"""

from __future__ import annotations

# not used here: its lock is to be taken after those below when a process forks, and what is to be
# called before a fork is called in the reverse of the order in which it was registered
import logging  # noqa: F401
import os
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradc import on_need
from gradc.scipy.libraries import announce

announce()
on_need.announce(on_need.CAPTURE, "gradc.capture.runtime")
del announce

if TYPE_CHECKING:
    from gradc import compat as compat
    from gradc import distributed as distributed
    from gradc import rules as rules
    from gradc import special as special
    from gradc import testing as testing
    from gradc.api.compile import compile as compile
    from gradc.api.compiled import Compiled as Compiled
    from gradc.api.export import export as export
    from gradc.api.sparse_transforms import sparse_hessian as sparse_hessian
    from gradc.api.sparse_transforms import sparse_jacobian as sparse_jacobian
    from gradc.api.transforms import grad as grad
    from gradc.api.transforms import hessian as hessian
    from gradc.api.transforms import hvp as hvp
    from gradc.api.transforms import jacobian as jacobian
    from gradc.api.transforms import jvp as jvp
    from gradc.api.transforms import linearize as linearize
    from gradc.api.transforms import value_and_grad as value_and_grad
    from gradc.api.transforms import vjp as vjp
    from gradc.api.transpose import transpose as transpose
    from gradc.api.vmap import vmap as vmap
    from gradc.calls.variable import Variable as Variable
    from gradc.capture.decide import rolled as rolled
    from gradc.capture.decide import unroll as unroll
    from gradc.control.branches import cond as cond
    from gradc.control.branches import switch as switch
    from gradc.control.checkpoint import checkpoint as checkpoint
    from gradc.control.checkpointing import checkpointing as checkpointing
    from gradc.control.loops import fori_loop as fori_loop
    from gradc.control.loops import while_loop as while_loop
    from gradc.control.scan import map as map
    from gradc.control.scan import scan as scan
    from gradc.custom.custom_gradient import custom_gradient as custom_gradient
    from gradc.custom.custom_op import custom_op as custom_op
    from gradc.custom.external import external as external
    from gradc.custom.gradient_fences import clip_gradient as clip_gradient
    from gradc.custom.gradient_fences import disconnected as disconnected
    from gradc.custom.gradient_fences import reverse_gradient as reverse_gradient
    from gradc.custom.gradient_fences import scale_gradient as scale_gradient
    from gradc.custom.numpy_gradients import overrides as overrides
    from gradc.custom.numpy_gradients import register_gradient as register_gradient
    from gradc.interop.casadi_function import casadi_external as casadi_external
    from gradc.interop.jax_function import jax_function as jax_function
    from gradc.interop.pytensor_op import pytensor_op as pytensor_op
    from gradc.interop.torch_function import torch_function as torch_function
    from gradc.requests.threads import set_threads as set_threads
    from gradc.row_sums.sums import sums as sums
    from gradc.rules.user.register import rule as rule
    from gradc.solving.fixed_point import fixed_point as fixed_point
    from gradc.solving.implicit import implicit as implicit
    from gradc.solving.linear_solve import linear_solve as linear_solve
    from gradc.solving.minimize import minimize as minimize
    from gradc.solving.root import root as root
    from gradc.solving.solution import Solution as Solution
    from gradc.sympy.from_sympy import from_sympy as from_sympy
    from gradc.sympy.to_sympy import to_sympy as to_sympy
    from gradc.tracing.core.opaque import opaque as opaque
    from gradc.tracing.record.debug_print import debug_print as debug_print
    from gradc.tracing.record.primitives import exactly as exactly
    from gradc.tracing.record.primitives import stop_gradient as stop_gradient
    from gradc_ir import __version__ as __version__
    from gradc_ir.errors import DTypeError as DTypeError
    from gradc_ir.errors import ExportError as ExportError
    from gradc_ir.errors import GradcError as GradcError
    from gradc_ir.errors import GradientArityError as GradientArityError
    from gradc_ir.errors import IndexError as IndexError
    from gradc_ir.errors import LoopError as LoopError
    from gradc_ir.errors import MissingLibraryError as MissingLibraryError
    from gradc_ir.errors import NoGradientError as NoGradientError
    from gradc_ir.errors import NonFiniteError as NonFiniteError
    from gradc_ir.errors import ParseError as ParseError
    from gradc_ir.errors import PickleError as PickleError
    from gradc_ir.errors import PolicyError as PolicyError
    from gradc_ir.errors import RuleError as RuleError
    from gradc_ir.errors import ShapeError as ShapeError
    from gradc_ir.errors import TraceError as TraceError
    from gradc_ir.errors import UnboundError as UnboundError
    from gradc_ir.errors import UnconnectedGradientError as UnconnectedGradientError

_PLACES = {
    "gradc.capture.decide": ("rolled", "unroll"),
    "gradc.control.checkpoint": ("checkpoint",),
    "gradc.control.checkpointing": ("checkpointing",),
    "gradc.api.compiled": ("Compiled",),
    "gradc.control.branches": ("cond", "switch"),
    "gradc.control.loops": ("fori_loop", "while_loop"),
    "gradc.control.scan": ("map", "scan"),
    "gradc.custom.custom_gradient": ("custom_gradient",),
    "gradc.custom.custom_op": ("custom_op",),
    "gradc.custom.external": ("external",),
    "gradc.custom.numpy_gradients": ("overrides", "register_gradient"),
    "gradc.api.compile": ("compile",),
    "gradc.api.export": ("export",),
    "gradc.solving.fixed_point": ("fixed_point",),
    "gradc.solving.implicit": ("implicit",),
    "gradc.solving.linear_solve": ("linear_solve",),
    "gradc.solving.minimize": ("minimize",),
    "gradc.solving.root": ("root",),
    "gradc.solving.solution": ("Solution",),
    "gradc.interop.casadi_function": ("casadi_external",),
    "gradc.interop.jax_function": ("jax_function",),
    "gradc.interop.pytensor_op": ("pytensor_op",),
    "gradc.interop.torch_function": ("torch_function",),
    "gradc.requests.threads": ("set_threads",),
    "gradc.rules.user.register": ("rule",),
    "gradc.sympy.from_sympy": ("from_sympy",),
    "gradc.sympy.to_sympy": ("to_sympy",),
    "gradc.custom.gradient_fences": (
        "clip_gradient",
        "disconnected",
        "reverse_gradient",
        "scale_gradient",
    ),
    "gradc.tracing.core.opaque": ("opaque",),
    "gradc.tracing.record.primitives": ("exactly", "stop_gradient"),
    "gradc.tracing.record.debug_print": ("debug_print",),
    "gradc.api.sparse_transforms": ("sparse_hessian", "sparse_jacobian"),
    "gradc.row_sums.sums": ("sums",),
    "gradc.api.transforms": (
        "grad",
        "hessian",
        "hvp",
        "jacobian",
        "jvp",
        "linearize",
        "value_and_grad",
        "vjp",
    ),
    "gradc.calls.variable": ("Variable",),
    "gradc.api.transpose": ("transpose",),
    "gradc.api.vmap": ("vmap",),
    "gradc_ir": ("__version__",),
    "gradc_ir.errors": (
        "DTypeError",
        "ExportError",
        "GradcError",
        "GradientArityError",
        "IndexError",
        "LoopError",
        "MissingLibraryError",
        "NoGradientError",
        "NonFiniteError",
        "ParseError",
        "PickleError",
        "PolicyError",
        "RuleError",
        "ShapeError",
        "TraceError",
        "UnboundError",
        "UnconnectedGradientError",
    ),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}
_SUBMODULES = ("compat", "distributed", "rules", "special", "testing")

__all__ = [*_MODULE_OF, *_SUBMODULES]


# A fork waits for what is being loaded: in the child no thread would ever finish it. It takes this
# after the locks of gradc_ir.forks, since a function that is traced may be the first to use a name.
_loading = threading.RLock()
_no_fork = threading.Event()
_no_fork.set()


def _before_fork() -> None:
    _no_fork.clear()
    _loading.acquire()


def _in_parent() -> None:
    _loading.release()
    _no_fork.set()


def _in_child() -> None:
    global _no_fork
    _no_fork = threading.Event()  # a thread that is gone may have been about to wait for it
    _in_parent()


if "gradc_ir.forks" in sys.modules:
    from gradc_ir.forks import Depth, hold_across_forks

    hold_across_forks(_loading, Depth.LOADING)
elif hasattr(os, "register_at_fork"):  # what is registered first is called last before a fork
    os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)


def __getattr__(name: str) -> Any:
    module = f"gradc.{name}" if name in _SUBMODULES else _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'gradc' has no attribute {name!r}")
    with _loading:
        from gradc.runtime.collector import collector_paused  # "import gradc" does without

        with collector_paused():
            loaded = import_module(module)
    if not _no_fork.is_set():
        _no_fork.wait()  # the fork knows nothing of the locks that were just loaded
    if name in _SUBMODULES:
        return loaded
    found = getattr(loaded, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
