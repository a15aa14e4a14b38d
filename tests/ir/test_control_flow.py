"""The roles of operands and results of control flow, and flags that settle over the steps."""

from __future__ import annotations

import pytest

from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.graph import Function, Node
from gradc_ir.core.types import DType, Type
from gradc_ir.graphs.control_flow import Roles, settled

NUMBER, ROWS, FLAG = Type(DType.F64), Type(DType.F64, (5,)), Type(DType.BOOL)


def body(takes: int, gives: int) -> Function:
    with Builder() as builder:
        params = [builder.param(i, NUMBER) for i in range(takes)]
        return builder.function("body", params, [params[-1 - i % takes] for i in range(gives)])


def goes_on(takes: int) -> Function:
    with Builder() as builder:
        params = [builder.param(i, NUMBER) for i in range(takes)]
        return builder.function("condition", params, [build.lt(params[0], params[-1])])


def nodes() -> dict[str, Node]:
    with Builder() as builder:
        p = builder.param(0, FLAG)
        n = builder.param(1, Type(DType.I64))
        x, rows = builder.param(2, NUMBER), builder.param(3, ROWS)
        scan = build.scan(body(4, 4), [x], [x, x], [rows], length=5)
        counted = build.scan(body(3, 2), [x], [x], [rows], length=5, count=n)
        found = {
            "scan": scan,
            "counted scan": counted,
            "while": build.while_loop(goes_on(4), body(3, 2), [x, x], [x], [x, x]),
            "cond": build.cond(p, body(2, 3), body(2, 3), [x, x]),
            "checkpoint": build.checkpoint(body(1, 2), [x]),
            "exp": [build.exp(x)],
        }
    return {name: results[0].node for name, results in found.items()}


@pytest.mark.parametrize(
    ("name", "first", "consts", "carries"),
    [
        ("scan", 0, 1, 2),
        ("counted scan", 1, 1, 1),
        ("while", 2, 1, 2),
        ("cond", 1, 2, 0),
        ("checkpoint", 0, 1, 0),
    ],
)
def test_roles(name: str, first: int, consts: int, carries: int) -> None:
    node = nodes()[name]
    roles = Roles.of(node)
    assert roles is not None
    assert roles[1:] == (first, consts, carries)
    for each in roles.bodies:
        assert len(each.params) == len(node.operands) - first
        assert [x.type for x in node.operands[first:][: roles.end]] == [
            x.type for x in each.params[: roles.end]
        ]
        assert len(each.results) <= len(node.results)


def test_what_has_no_body_has_no_roles() -> None:
    assert Roles.of(nodes()["exp"]) is None


def test_flags_of_carries_settle() -> None:
    """A carry that takes the next one's place: what holds of the last holds of all, at last."""
    calls = []

    def step(flags: list[bool]) -> tuple[list[bool], int]:
        calls.append(tuple(flags))
        return [*flags[2:], flags[-1]], len(calls)

    flags, after, found = settled([False, False, False, True], range(1, 4), step)
    assert flags == [False, True, True, True]
    assert after == [True, True, True]
    assert found == len(calls) == 3


def test_a_body_that_runs_once_is_asked_once() -> None:
    assert settled([True], range(0), lambda flags: ([False], "found")) == (
        [True],
        [False],
        "found",
    )
