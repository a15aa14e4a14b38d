"""Loops whose bodies are Python functions of groups of values, for rules that are made of loops.

A group is a sequence of values: what belongs together, such as all carries of another loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from gradc.autodiff.parameters import parameters
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Value

Group: TypeAlias = Sequence[Value]
Groups: TypeAlias = Sequence[Group]
Step: TypeAlias = Callable[..., Groups]  # takes each group of consts, then of carries


def counted_scan(name: str, count: Value, consts: Groups, carries: Groups, step: Step) -> Groups:
    """Return the groups of carries after ``count`` steps; none where ``count`` is not positive.

    Parameters
    ----------
    name: what the body is called.
    count: an i64 scalar.
    consts: what ``step`` takes first, the same in every step.
    carries: what it takes next, and returns new.
    step: builds one step, in a graph of its own: it may use no other values than it is given.
    """
    body = _closed(name, (*consts, *carries), step)
    return _grouped(
        build.scan(body, _flat(consts), _flat(carries), (), length=None, count=count), carries
    )


def while_loop(
    name: str, consts: Groups, carries: Groups, condition: Callable[..., Value], step: Step
) -> Groups:
    """Return the groups of carries after as many steps as ``condition`` says.

    ``condition`` and ``step`` take each group of consts, then of carries, to a bool scalar and to
    new carries; see :func:`counted_scan`.
    """
    groups = (*consts, *carries)
    test = _closed(f"{name}_condition", groups, lambda *given: ((condition(*given),),))
    body = _closed(name, groups, step)
    flat = _flat(consts)
    return _grouped(build.while_loop(test, body, flat, flat, _flat(carries)), carries)


def _closed(name: str, groups: Groups, made: Step) -> Function:
    here = build.active().here
    with Builder() as builder:
        builder.here = here
        params = parameters(value.type for value in _flat(groups))
        return builder.function(name, params, _flat(made(*_grouped(params, groups))))


def _flat(groups: Groups) -> list[Value]:
    return [value for group in groups for value in group]


def _grouped(values: Sequence[Value], like: Groups) -> Groups:
    rest = iter(values)
    return [[next(rest) for _ in group] for group in like]
