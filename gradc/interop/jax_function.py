"""Kernels inside of JAX: a primitive whose derivatives and batches are kernels again.

The kernel is a handler of XLA's foreign function interface, so that a compiled program calls it
without Python. The derivative is a primitive of its own, linear in the tangents: forward mode is
its kernel, reverse mode transposes it to the kernel of the pullback.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from gradc.exports.plan import Plan
from gradc.interop.flat import Flat, flat_of
from gradc.native.native import Native, capsule_of
from gradc.native.needs import needed
from gradc.runtime.specialize import working
from gradc_codegen.abi import Signature
from gradc_codegen.hosts.xla_handler import handler_name, handler_text
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import Type, dtype_of
from gradc_ir.errors import DTypeError, ExportError

_serial = itertools.count()
# what XLA calls by name it may call as long as the process lives
_registered: list[Any] = []


class _Kernel(NamedTuple):
    """A kernel that XLA can call."""

    target: str
    results: tuple[Type, ...]


class _Call:
    """A flat function at types of arguments: what it returns, and the kernel once it is called."""

    def __init__(self, flat: Flat, types: Sequence[Type]) -> None:
        self.plan: Plan = flat.planned(types)
        self.flat = flat
        (self._entry,) = self.plan.entries
        self.signature = Signature.of(
            self._entry.function, self._entry.outputs, order=self._entry.order
        )
        if self.signature.tape is not None:
            raise ExportError(
                f"{flat.name} has tapes of loops, which JAX does not grow",
                help="give the loops a limit: max_iter=",
            )
        self.types: tuple[Type, ...] = tuple(
            argument.type for argument in self.signature.outputs if argument.type is not None
        )

    @property
    def is_number(self) -> bool:
        """Whether it returns one float alone."""
        return len(self.types) == 1 and not self.types[0].shape and self.types[0].dtype.is_float

    @functools.cached_property
    def kernel(self) -> _Kernel:
        """The kernel, compiled and known to XLA."""
        jax_ffi = needed("jax.ffi", "gradc.jax_function")
        blas = self.flat.owner.options.blas
        with working():
            plain = Native(self._entry, blas=blas)
            text = handler_text(self.flat.name, self.signature, plain.worksize())
            native = Native(self._entry, blas=blas, more=[text])
        address = native.code.address(handler_name(self.flat.name))
        target = f"gradc_{next(_serial)}_{self.flat.name}"
        capsule = capsule_of(address, "xla._CUSTOM_CALL_TARGET", native.code)
        jax_ffi.register_ffi_target(target, capsule, platform="cpu")
        _registered.append((capsule, native))
        return _Kernel(target, self.types)


# -- primitives ------------------------------------------------------------------------------------


class _Linear(NamedTuple):
    """A function that is linear in its last arguments, with its transpose."""

    push: Flat
    pull: Flat
    known: int  # how many arguments come before those that it is linear in

    def mapped(self, flags: Sequence[bool], results: int) -> _Linear:
        """Return it over points; all tangents have the axis, and all cotangents."""
        pulled = [*flags[: self.known], *[True] * results]
        return _Linear(self.push.mapped(flags), self.pull.mapped(pulled), self.known)


@functools.cache
def _primitives() -> tuple[Any, Any]:
    """Return the primitive of a call and the one that is linear in tangents, with their rules."""
    jax = needed("jax", "gradc.jax_function")
    extend = needed("jax.extend.core", "gradc.jax_function")
    ad, batching, mlir = (
        needed(f"jax.interpreters.{name}", "gradc.jax_function")
        for name in ("ad", "batching", "mlir")
    )
    call, linear = extend.Primitive("gradc_call"), extend.Primitive("gradc_linear")
    call.multiple_results = linear.multiple_results = True

    def run(flat: Flat, *operands: Any) -> list[Any]:
        found = _call(flat, [jax.typeof(operand) for operand in operands]).kernel
        results = [jax.ShapeDtypeStruct(type_.shape, type_.dtype.numpy) for type_ in found.results]
        return list(jax.ffi.ffi_call(found.target, results)(*operands))

    def shapes(flat: Flat, *avals: Any) -> list[Any]:
        return [
            jax.core.ShapedArray(type_.shape, type_.dtype.numpy)
            for type_ in _call(flat, avals).types
        ]

    def call_run(*operands: Any, flat: Flat) -> list[Any]:
        return run(flat, *operands)

    def linear_run(*operands: Any, linear: _Linear) -> list[Any]:
        return run(linear.push, *operands)

    for primitive, function, flat_of_params in (
        (call, call_run, lambda params: params["flat"]),
        (linear, linear_run, lambda params: params["linear"].push),
    ):
        primitive.def_impl(_eager(jax, primitive))
        primitive.def_abstract_eval(
            lambda *avals, of=flat_of_params, **params: shapes(of(params), *avals)
        )
        lowering = mlir.lower_fun(function, multiple_results=True)
        mlir.register_lowering(primitive, lowering, platform="cpu")

    def tangents_of(flat: Flat, outs: Sequence[Any], primals: Any, tangents: Any) -> list[Any]:
        moved = tuple(i for i, t in enumerate(tangents) if type(t) is not ad.Zero)
        floats = [_is_float(jax, out) for out in outs]
        pushed: list[Any] = []
        if moved and any(floats):
            pair = _Linear(
                flat.pushed(moved, len(primals)), flat.pulled(moved, len(primals)), len(primals)
            )
            given = [tangents[i] for i in moved]
            pushed = list(linear.bind(*primals, *given, linear=pair))
        rest = iter(pushed)
        return [
            next(rest) if pushed and is_float else ad.Zero(jax.typeof(out).to_tangent_aval())
            for out, is_float in zip(outs, floats)
        ]

    def call_jvp(primals: Any, tangents: Any, *, flat: Flat) -> Any:
        outs = call.bind(*primals, flat=flat)
        return outs, tangents_of(flat, outs, primals, tangents)

    def linear_jvp(primals: Any, tangents: Any, *, linear: _Linear) -> Any:
        outs = primitive_of_linear.bind(*primals, linear=linear)
        return outs, tangents_of(linear.push, outs, primals, tangents)

    primitive_of_linear = linear

    def transposed(cotangents: Any, *operands: Any, linear: _Linear) -> list[Any]:
        known = operands[: linear.known]
        given = [ad.instantiate_zeros(cotangent) for cotangent in cotangents]
        found = call.bind(*known, *given, flat=linear.pull)
        return [*[None] * linear.known, *found]

    def call_batched(operands: Any, axes: Any, *, flat: Flat) -> Any:
        flags, moved = _leading(jax, operands, axes)
        outs = call.bind(*moved, flat=flat.mapped(flags))
        return outs, [0] * len(outs)

    def linear_batched(operands: Any, axes: Any, *, linear: _Linear) -> Any:
        size = next(x.shape[axis] for x, axis in zip(operands, axes) if axis is not None)
        flags, moved = _leading(jax, operands, axes)
        for i in range(linear.known, len(moved)):
            if not flags[i]:
                moved[i] = jax.numpy.broadcast_to(moved[i], (size, *moved[i].shape))
                flags[i] = True
        count = len(_call(linear.push, of_one_point(operands, axes)).types)
        outs = primitive_of_linear.bind(*moved, linear=linear.mapped(flags, count))
        return outs, [0] * len(outs)

    def of_one_point(operands: Any, axes: Any) -> list[Any]:
        return [
            jax.ShapeDtypeStruct(tuple(s for i, s in enumerate(x.shape) if i != axis), x.dtype)
            for x, axis in zip(operands, axes)
        ]

    def call_linearized(*given: Any, flat: Flat) -> Any:
        """Return the value with the linear function that the gradient of a number is.

        JAX says first whether a vector-Jacobian product is wanted, in later versions, and which
        arguments have tangents.
        """
        is_vjp, nonzero, *primals = given if isinstance(given[0], bool) else (True, *given)
        moved = tuple(i for i, is_nonzero in enumerate(nonzero) if is_nonzero)
        if not is_vjp or not _call(flat, [jax.typeof(x) for x in primals]).is_number:
            return linearized_by_jvp(call, *given, flat=flat)
        value, *gradient = call.bind(*primals, flat=flat.with_gradient(moved))

        def tangent(gradient: Any, *tangents: Any) -> list[Any]:
            parts = [jax.numpy.vdot(g, tangents[i]) for g, i in zip(gradient, moved)]
            return [functools.reduce(jax.numpy.add, parts)]

        return [value], [True], gradient, tangent

    internal = needed("jax._src.interpreters.ad", "gradc.jax_function")
    linearized_by_jvp: Any = getattr(internal, "fallback_linearize_rule", None)
    # JAX has no public name for it; without it the gradient is a kernel of its own
    if linearized_by_jvp is not None and hasattr(internal, "primitive_linearizations"):
        internal.primitive_linearizations[call] = call_linearized
    ad.primitive_jvps[call] = call_jvp
    ad.primitive_jvps[linear] = linear_jvp
    ad.primitive_transposes[linear] = transposed
    batching.primitive_batchers[call] = call_batched
    batching.primitive_batchers[linear] = linear_batched
    return call, linear


def _eager(jax: Any, primitive: Any) -> Callable[..., Any]:
    """Return how a primitive runs outside of a compiled program: as one that is kept."""

    @functools.lru_cache(maxsize=1024)
    def program(params: tuple[tuple[str, Any], ...]) -> Any:
        return jax.jit(lambda *operands: primitive.bind(*operands, **dict(params)))

    return lambda *operands, **params: program(tuple(params.items()))(*operands)


def _leading(jax: Any, operands: Any, axes: Any) -> tuple[list[bool], list[Any]]:
    flags = [axis is not None for axis in axes]
    moved = [
        operand if axis is None else jax.numpy.moveaxis(operand, axis, 0)
        for operand, axis in zip(operands, axes)
    ]
    return flags, moved


def _is_float(jax: Any, value: Any) -> bool:
    return bool(jax.numpy.issubdtype(jax.typeof(value).dtype, jax.numpy.floating))


def _call(flat: Flat, avals: Sequence[Any]) -> _Call:
    """Return a flat function at the types of arguments of JAX, which are looked up in it."""
    types = tuple(Type(dtype_of(aval.dtype), tuple(aval.shape)) for aval in avals)
    known: dict[Any, _Call] = vars(flat).setdefault("_calls", {})
    found = known.get(types)
    if found is None or not found.plan.is_current():
        found = known[types] = _Call(flat, types)
        _check_width(flat, found.types)
    return found


def _check_width(flat: Flat, types: Sequence[Any]) -> None:
    jax = needed("jax", "gradc.jax_function")
    wide = [str(t) for t in types if t.dtype.numpy.itemsize == 8 and t.dtype.numpy.kind in "fi"]
    if wide and not jax.config.jax_enable_x64:
        raise DTypeError(
            f"{flat.name} returns {wide[0]}, and JAX has numbers of 32 bits",
            help='switch on 64 bits with jax.config.update("jax_enable_x64", True), or keep the '
            "function's numbers in float32",
        )


# -- what a user calls -----------------------------------------------------------------------------


def jax_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for JAX that calls gradc's kernels.

    Parameters
    ----------
    function: of NumPy, or a compiled one. Its arguments are nests of JAX arrays.

    What is returned goes through ``jax.jit``, ``grad``, ``jvp``, ``vmap`` and what is made of them,
    to any order; all derivatives are gradc's. Each shape has a kernel, as it has a program in JAX.
    What the function captures is read when JAX traces or calls it. It runs on CPUs. Raises
    MissingLibraryError without JAX, DTypeError where the function returns 64 bits and JAX has 32.
    """
    jax = needed("jax", "gradc.jax_function")
    _primitives()
    flats: dict[Any, tuple[Flat, Callable[..., Any]]] = {}

    def call_in_jax(*args: Any, **kwargs: Any) -> Any:
        leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
        found = flats.get(tree)
        if found is None:

            def rebuild(given: Sequence[Any]) -> Any:
                return jax.tree_util.tree_unflatten(tree, given)

            found = flats[tree] = flat_of(function, rebuild)
        flat, nest = found
        arrays = [jax.numpy.asarray(leaf) for leaf in leaves]
        results = _primitives()[0].bind(*arrays, flat=_current(flat, arrays, jax))
        return nest(results)

    functools.update_wrapper(call_in_jax, function, updated=())
    return call_in_jax


def _current(flat: Flat, arrays: Sequence[Any], jax: Any) -> Flat:
    """Return a flat function that programs compiled before do not know, when it was changed."""
    newest: Flat = vars(flat).get("_newest", flat)
    types = tuple(Type(dtype_of(array.dtype), tuple(array.shape)) for array in arrays)
    found = vars(newest).get("_calls", {}).get(types)
    if found is not None and not found.plan.is_current():
        newest = vars(flat)["_newest"] = Flat(flat.function, flat.name, flat.owner)
    return newest
