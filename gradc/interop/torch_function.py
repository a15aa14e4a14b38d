"""Kernels inside of PyTorch: an autograd function on the memory of tensors, and its gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.interop.flat import Flat, flat_of
from gradc.native.needs import needed
from gradc_ir.errors import DTypeError


def torch_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for PyTorch that calls gradc's kernels.

    Parameters
    ----------
    function: of NumPy, or a compiled one. Its arguments are nests of tensors and numbers.

    Tensors are read where they are, and results are tensors of the memory the kernel wrote to. They
    go through autograd, ``torch.func.grad``, ``vjp``, ``jvp``, ``vmap`` and what is made of them,
    to any order; all derivatives are gradc's. Tensors must be on the CPU. Raises
    MissingLibraryError without PyTorch, DTypeError for tensors elsewhere.
    """
    torch = needed("torch", "gradc.torch_function")
    node = _node()
    flats: dict[Any, tuple[Flat, Callable[..., Any]]] = {}
    pytree = torch.utils._pytree
    apply, with_gradient, tensor = node.apply, _node_with_gradient().apply, torch.Tensor
    is_watched = _watcher(torch)

    def any_needs(tensors: Sequence[Any]) -> bool:
        return any(each.requires_grad for each in tensors)

    def call_in_torch(*args: Any, **kwargs: Any) -> Any:
        leaves: Sequence[Any] = args
        key: Any = len(args)
        # most calls have tensors alone, and no nest to be looked through
        if kwargs or not all(isinstance(each, tensor) for each in args):
            leaves, key = pytree.tree_flatten((args, kwargs))
            leaves = [
                each if isinstance(each, tensor) else torch.as_tensor(each) for each in leaves
            ]
        found = flats.get(key)
        if found is None:
            structure = pytree.tree_flatten((args, kwargs))[1]

            def rebuild(given: Sequence[Any]) -> Any:
                return pytree.tree_unflatten(list(given), structure)

            found = flats[key] = flat_of(function, rebuild)
        flat, nest = found
        if is_watched():
            return nest(apply(flat, *leaves))
        if torch.is_grad_enabled() and any_needs(leaves):
            return nest(with_gradient(flat, *leaves))
        return nest(_run(torch, flat, leaves))  # no derivative is taken of it

    functools.update_wrapper(call_in_torch, function, updated=())
    return call_in_torch


def _watcher(torch: Any) -> Callable[[], bool]:
    """Return what tells whether transforms of ``torch.func``, or forward mode, are under way.

    PyTorch has no public name for either; where it has others than these, the answer is yes.
    """
    transforms = getattr(torch._C, "_are_functorch_transforms_active", None)
    forward = torch.autograd.forward_ad
    if transforms is None or not hasattr(forward, "_current_level"):
        return lambda: True
    return lambda: transforms() or forward._current_level >= 0


@functools.cache
def _node() -> Any:
    """Return the autograd function of all flat functions."""
    torch = needed("torch", "gradc.torch_function")

    class Kernel(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """Calls a flat function; its derivatives are calls of others."""

        @staticmethod
        def forward(flat: Flat, *tensors: Any) -> Any:
            return _run(torch, flat, tensors)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.flat = inputs[0]
            ctx.save_for_backward(*inputs[1:])
            ctx.save_for_forward(*inputs[1:])
            ctx.floats = [True]
            if len(output) > 1 or not output[0].is_floating_point():
                ctx.floats = [each.is_floating_point() for each in output]
                whole = [each for each in output if not each.is_floating_point()]
                ctx.mark_non_differentiable(*whole)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            tensors = ctx.saved_tensors
            needs = ctx.needs_input_grad[1:]
            moved = [i for i, each in enumerate(tensors) if needs[i] and each.is_floating_point()]
            found: list[Any] = [None] * len(tensors)
            # PyTorch makes zeros for results that nothing depends on
            given = [each for each, is_float in zip(cotangents, ctx.floats) if is_float]
            if moved and given:
                pulled = ctx.flat.pulled(moved, len(tensors))
                for i, cotangent in zip(moved, Kernel.apply(pulled, *tensors, *given)):
                    found[i] = cotangent
            return (None, *found)

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
            tensors = ctx.saved_tensors
            moved = [i for i, each in enumerate(tangents) if each is not None]
            pushed = ctx.flat.pushed(moved, len(tensors))
            found = iter(Kernel.apply(pushed, *tensors, *(tangents[i] for i in moved)))
            return tuple(next(found) if is_float else None for is_float in ctx.floats)

        @staticmethod
        def vmap(info: Any, in_dims: Any, flat: Flat, *tensors: Any) -> Any:
            flags = [axis is not None for axis in in_dims[1:]]
            moved = [
                each if axis is None else each.movedim(axis, 0)
                for each, axis in zip(tensors, in_dims[1:])
            ]
            found = Kernel.apply(flat.mapped(flags), *moved)
            return found, (0,) * len(found)

    return Kernel


@functools.cache
def _node_with_gradient() -> Any:
    """Return the autograd function that computes the gradient of a number along with it.

    It is for calls outside of transforms, which say beforehand whether a gradient may be asked for.
    """
    torch = needed("torch", "gradc.torch_function")
    of_transforms = _node()

    def gradients_of(flat: Flat, moved: Sequence[int], tensors: Sequence[Any]) -> Any:
        arrays = _arrays(flat, tensors)
        return _tensors(torch, arrays, flat.paired(moved)(*arrays))[1]

    class WithGradient(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """Calls a flat function, and keeps the gradient if it returns one number."""

        @staticmethod
        def forward(ctx: Any, flat: Flat, *tensors: Any) -> Any:
            ctx.flat = flat
            ctx.save_for_backward(*tensors)
            ctx.moved = [
                i
                for i, needs in enumerate(ctx.needs_input_grad[1:])
                if needs and tensors[i].is_floating_point()
            ]
            arrays = _arrays(flat, tensors)
            values, gradients = _tensors(torch, arrays, flat.paired(ctx.moved)(*arrays))
            ctx.is_number, ctx.gradients = bool(gradients), gradients
            ctx.floats = [each.is_floating_point() for each in values]
            ctx.mark_non_differentiable(*(v for v in values if not v.is_floating_point()))
            return values

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            tensors, flat, moved = ctx.saved_tensors, ctx.flat, ctx.moved
            found: list[Any] = [None] * len(tensors)
            given = [each for each, is_float in zip(cotangents, ctx.floats) if is_float]
            if not given:
                return (None, *found)
            if not ctx.is_number or torch.is_grad_enabled():
                pulled = flat.pulled(moved, len(tensors))
                gradients = of_transforms.apply(pulled, *tensors, *given)
            else:
                # They are handed out once, and may be overwritten then: a second backward, of a
                # graph that was retained, has others.
                gradients = ctx.gradients or gradients_of(flat, moved, tensors)
                ctx.gradients = None
                if given[0].item() != 1:
                    gradients = [each.mul_(given[0]) for each in gradients]
            for i, gradient in zip(moved, gradients):
                found[i] = gradient
            return (None, *found)

    return WithGradient


def _run(torch: Any, flat: Flat, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Return what a flat function makes of tensors, as tensors."""
    arrays = _arrays(flat, tensors)
    return _tensors(torch, arrays, (flat.compiled(*arrays),))[0]


def _arrays(flat: Flat, tensors: Sequence[Any]) -> list[Any]:
    """Return the memory of tensors as arrays."""
    arrays = []
    for i, tensor in enumerate(tensors):
        if not tensor.is_cpu:
            raise DTypeError(
                f"{flat.name}: tensor {i} is on {tensor.device}, and kernels run on the CPU",
                help="pass tensor.cpu()",
            )
        # one of PyTorch's tensors may be another one's negative
        arrays.append((tensor.resolve_neg() if tensor.is_neg() else tensor).detach().numpy())
    return arrays


def _tensors(
    torch: Any, arrays: Sequence[Any], results: Sequence[Sequence[Any]]
) -> list[tuple[Any, ...]]:
    """Return the tuples of results of arrays as tensors, each of memory of its own."""
    taken = {id(array) for array in arrays}
    made = []
    for group in results:
        tensors: list[Any] = []
        for found in group:
            # the interpreter returns arguments and views as they are
            array = np.asarray(found)
            if id(array) in taken or not array.flags.owndata:
                array = array.copy()
            taken.add(id(array))
            tensors.append(torch.from_numpy(array))
        made.append(tuple(tensors))
    return made
