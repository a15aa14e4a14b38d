"""Kernels inside of PyTorch: an autograd function on the memory of tensors, and its gradients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gradc.arguments import flags
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
    flats: dict[Any, tuple[Flat, Callable[..., Any]]] = {}
    pytree = torch.utils._pytree
    apply, with_gradient = _node().apply, _node_with_gradient().apply
    tensor, is_watched, is_enabled = torch.Tensor, _watcher(torch), torch.is_grad_enabled

    def flat_for(key: Any, structure: Any, at: Sequence[int], leaves: Sequence[Any]) -> Any:
        """Return the flat function of the leaves at some places, where all others stay."""

        def rebuild(given: Sequence[Any]) -> Any:
            every = list(leaves)
            for i, leaf in zip(at, given):
                every[i] = leaf
            return pytree.tree_unflatten(every, structure)

        flats[key] = flat_of(function, rebuild)
        return flats[key]

    def call_in_torch(*args: Any, **kwargs: Any) -> Any:
        leaves: Sequence[Any] = args
        # most calls have tensors and numbers alone, and no nest to be looked through
        if not kwargs and all(isinstance(each, tensor) or type(each) in _NUMBERS for each in args):
            found = flats.get(len(args))
            if found is None:
                structure = pytree.tree_flatten((args, kwargs))[1]
                found = flat_for(len(args), structure, range(len(args)), args)
        else:
            every, structure = pytree.tree_flatten((args, kwargs))
            static = [_key_of_flag(each) for each in every]
            at = [i for i, key_of in enumerate(static) if key_of is None]
            key = (structure, *static)
            found = flats.get(key) or flat_for(key, structure, at, every)
            leaves = [_leaf(torch, every[i]) for i in at]
        flat, nest = found
        if is_watched():
            return nest(apply(flat, *leaves))
        if is_enabled():
            for each in leaves:
                if type(each) not in _NUMBERS and each.requires_grad:
                    return nest(with_gradient(flat, *leaves))
        return nest(_run(torch, flat, leaves))  # no derivative is taken of it

    functools.update_wrapper(call_in_torch, function, updated=())
    return call_in_torch


# Python's own, which take the dtype of what they meet, as in PyTorch and NumPy
_NUMBERS = (float, int)


def _key_of_flag(leaf: Any) -> Any:
    """Return what is looked up of what a function may choose by; None of a tensor or a number."""
    if leaf is None:
        return "None"
    return flags.exact_key(leaf) if flags.is_flag(leaf) else None


def _leaf(torch: Any, leaf: Any) -> Any:
    """Return a tensor or a number of Python's."""
    if isinstance(leaf, torch.Tensor) or type(leaf) in _NUMBERS:
        return leaf
    return torch.as_tensor(leaf)


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
        """Calls a flat function of tensors and numbers; its derivatives are calls of others."""

        @staticmethod
        def forward(flat: Flat, *leaves: Any) -> Any:
            return _run(torch, flat, leaves)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.flat = inputs[0]
            _save(ctx, inputs[1:])
            ctx.save_for_forward(*(each for each in inputs[1:] if type(each) not in _NUMBERS))
            ctx.floats = [True]
            if len(output) > 1 or not output[0].is_floating_point():
                ctx.floats = [each.is_floating_point() for each in output]
                whole = [each for each in output if not each.is_floating_point()]
                ctx.mark_non_differentiable(*whole)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            leaves = _saved(ctx)
            needs = ctx.needs_input_grad[1:]
            moved = [i for i, each in enumerate(leaves) if needs[i] and each.is_floating_point()]
            found: list[Any] = [None] * len(leaves)
            # PyTorch makes zeros for results that nothing depends on
            given = [each for each, is_float in zip(cotangents, ctx.floats) if is_float]
            if moved and given:
                pulled = ctx.flat.pulled(moved, len(leaves))
                for i, cotangent in zip(moved, Kernel.apply(pulled, *leaves, *given)):
                    found[i] = cotangent
            return (None, *found)

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
            leaves = _saved(ctx)
            moved = [i for i, each in enumerate(tangents) if each is not None]
            pushed = ctx.flat.pushed(moved, len(leaves))
            found = iter(Kernel.apply(pushed, *leaves, *(tangents[i] for i in moved)))
            return tuple(next(found) if is_float else None for is_float in ctx.floats)

        @staticmethod
        def vmap(info: Any, in_dims: Any, flat: Flat, *leaves: Any) -> Any:
            mapped = [axis is not None for axis in in_dims[1:]]
            moved = [
                each if axis is None else each.movedim(axis, 0)
                for each, axis in zip(leaves, in_dims[1:])
            ]
            found = Kernel.apply(flat.mapped(mapped), *moved)
            return found, (0,) * len(found)

    return Kernel


@functools.cache
def _node_with_gradient() -> Any:
    """Return the autograd function that computes the gradient of a number along with it.

    It is for calls outside of transforms, which say beforehand whether a gradient may be asked for.
    """
    torch = needed("torch", "gradc.torch_function")
    of_transforms = _node()

    def gradients_of(flat: Flat, moved: Sequence[int], leaves: Sequence[Any]) -> Any:
        arrays = _arrays(flat, leaves)
        return _tensors(torch, arrays, flat.paired(moved)(*arrays))[1]

    class WithGradient(torch.autograd.Function):  # type: ignore[misc, name-defined]
        """Calls a flat function, and keeps the gradient if it returns one number."""

        @staticmethod
        def forward(ctx: Any, flat: Flat, *leaves: Any) -> Any:
            ctx.flat = flat
            _save(ctx, leaves)
            moved = [i for i, needs in enumerate(ctx.needs_input_grad[1:]) if needs]
            arrays = _arrays(flat, leaves)
            values, gradients = _tensors(torch, arrays, flat.paired(moved)(*arrays))
            ctx.moved, ctx.is_number, ctx.gradients = moved, bool(gradients), gradients
            if not gradients:
                ctx.floats = [each.is_floating_point() for each in values]
                ctx.mark_non_differentiable(*(v for v in values if not v.is_floating_point()))
            return values

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            if ctx.is_number and ctx.gradients and not torch.is_grad_enabled():
                # They are handed out once, and may be overwritten then: a second backward, of a
                # graph that was retained, has others.
                gradients, ctx.gradients = ctx.gradients, None
                return found_at(ctx, scaled(gradients, cotangents[0]))
            leaves, flat, moved = _saved(ctx), ctx.flat, ctx.moved
            if not ctx.is_number:
                given = [each for each, is_float in zip(cotangents, ctx.floats) if is_float]
                if not given:
                    return (None,) * (1 + len(leaves))
            elif torch.is_grad_enabled():
                given = list(cotangents)
            else:
                return found_at(ctx, scaled(gradients_of(flat, moved, leaves), cotangents[0]))
            pulled = flat.pulled(moved, len(leaves))
            return found_at(ctx, of_transforms.apply(pulled, *leaves, *given))

    def scaled(gradients: Any, cotangent: Any) -> Any:
        if cotangent.item() == 1:
            return gradients
        return [each.mul_(cotangent) for each in gradients]

    def found_at(ctx: Any, gradients: Any) -> Any:
        found: list[Any] = [None] * (1 + ctx.count)
        for i, gradient in zip(ctx.moved, gradients):
            found[1 + i] = gradient
        return tuple(found)

    return WithGradient


def _save(ctx: Any, leaves: Sequence[Any]) -> None:
    """Keep tensors as PyTorch has it, and numbers beside them."""
    ctx.count = len(leaves)
    ctx.numbers = [(i, each) for i, each in enumerate(leaves) if type(each) in _NUMBERS]
    tensors = [each for each in leaves if type(each) not in _NUMBERS] if ctx.numbers else leaves
    ctx.save_for_backward(*tensors)


def _saved(ctx: Any) -> list[Any]:
    """Return the leaves that were kept."""
    leaves = list(ctx.saved_tensors)
    for i, number in ctx.numbers:
        leaves.insert(i, number)
    return leaves


def _run(torch: Any, flat: Flat, leaves: Sequence[Any]) -> tuple[Any, ...]:
    """Return what a flat function makes of leaves, as tensors."""
    arrays = _arrays(flat, leaves)
    return _tensors(torch, arrays, (flat.compiled(*arrays),))[0]


def _arrays(flat: Flat, leaves: Sequence[Any]) -> list[Any]:
    """Return the memory of tensors as arrays, and numbers as they are."""
    arrays = []
    for leaf in leaves:
        if type(leaf) in _NUMBERS:
            arrays.append(leaf)
            continue
        try:
            arrays.append(leaf.detach().numpy())
        except (TypeError, RuntimeError):
            if not leaf.is_cpu:
                raise DTypeError(
                    f"{flat.name}: tensor {len(arrays)} is on {leaf.device}, "
                    "and kernels run on the CPU",
                    help="pass tensor.cpu()",
                ) from None
            # one of PyTorch's tensors may be another one's negative
            arrays.append(leaf.resolve_neg().detach().numpy())
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
            if id(array) in taken or array.base is not None:
                array = array.copy()
            taken.add(id(array))
            tensors.append(torch.from_numpy(array))
        made.append(tuple(tensors))
    return made
