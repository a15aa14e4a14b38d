"""Loops and branches in machine code: the interpreter's bits, in place where that can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from gradc_codegen.interface.python_kernel import Kernel, KernelStatus
from gradc_codegen.lower.lower import lower
from gradc_codegen.nest.carry_storage import left_open
from gradc_codegen.schedule.schedule import schedule
from gradc_ir.core.graph import Function
from gradc_ir.interpreter.interpret import interpret
from gradc_ir.text.parser import parse_function
from tests.comparing import assert_same_bits

SCAN = "consts = {}, carries = {}, length = n, reverse = {}, counted = false, checkpoint = none"

PROGRAMS = {
    "numbers": (
        """
        func @f(%x: f64, %k: i64, %p: bool, %rows: f64[n]) -> (f64, i64, bool, f64[n], bool[n]) {
          %0, %1, %2, %3, %4: f64, i64, bool, f64[n], bool[n] = scan %x, %x, %k, %p, %rows
            {body = @body, consts = 1, carries = 3, length = n, reverse = REVERSE, counted = false,
             checkpoint = none}
          return %0, %1, %2, %3, %4
        }
        func @body(%c: f64, %s: f64, %k: i64, %p: bool, %row: f64)
            -> (f64, i64, bool, f64, bool) {
          %0: f64 = mul %s, %c
          %1: f64 = add %0, %row
          %2: i64 = add %k, 1
          %3: bool = logical_not %p
          return %1, %2, %3, %0, %p
        }
        """,
        [(1.5, 3, True, np.arange(float(n))) for n in (0, 1, 7)],
    ),
    "few elements, swapped": (
        """
        func @f(%a: f64[3], %b: f64[3], %rows: f64[n,3]) -> (f64[3], f64[3], f64[n,3]) {
          %0, %1, %2: f64[3], f64[3], f64[n,3] = scan %a, %b, %rows
            {body = @body, consts = 0, carries = 2, length = n, reverse = REVERSE, counted = false,
             checkpoint = none}
          return %0, %1, %2
        }
        func @body(%a: f64[3], %b: f64[3], %row: f64[3]) -> (f64[3], f64[3], f64[3]) {
          %0: f64[3] = mul %a, %row
          %1: f64[3] = add %0, %b
          return %b, %1, %0
        }
        """,
        [(np.ones(3), np.arange(3.0), np.arange(3.0 * n).reshape(n, 3)) for n in (0, 1, 4)],
    ),
    "large, taking turns": (
        """
        func @f(%a: f64[m], %rows: f64[n]) -> (f64[m], f64[n]) {
          %0, %1: f64[m], f64[n] = scan %a, %rows
            {body = @body, consts = 0, carries = 1, length = n, reverse = REVERSE, counted = false,
             checkpoint = none}
          return %0, %1
        }
        func @body(%a: f64[m], %row: f64) -> (f64[m], f64) {
          %0: f64[m] = broadcast %row {axes = []}
          %1: f64[m] = add %a, %0
          %2: f64 = reduce_sum %1 {axes = [0]}
          %3: f64[m] = mul %1, 0.5
          return %3, %2
        }
        """,
        [(np.arange(40.0), np.arange(float(n))) for n in (0, 1, 2, 5)],
    ),
    "updates in place": (
        """
        func @f(%x: f64[m], %at: i64[n]) -> (f64[m], f64[n]) {
          %0, %1: f64[m], f64[n] = scan %x, %at
            {body = @body, consts = 0, carries = 1, length = n, reverse = REVERSE, counted = false,
             checkpoint = none}
          return %0, %1
        }
        func @body(%x: f64[m], %i: i64) -> (f64[m], f64) {
          %0: f64 = gather %x, %i {axes = [0]}
          %1: i64 = sub %i, 1
          %2: f64 = gather %x, %1 {axes = [0]}
          %3: f64 = mul %2, 2.0
          %4: f64[m] = scatter_add %x, %3, %i {axes = [0]}
          %5: f64[m] = scatter_set %4, %0, %1 {axes = [0]}
          return %5, %2
        }
        """,
        [(np.arange(40.0), np.arange(n) * 3) for n in (0, 1, 9)],
    ),
    "a loop in a loop in place": (
        """
        func @f(%x: f64[m], %at: i64[n]) -> f64[m] {
          %0: f64[m] = scan %x, %at
            {body = @outer, consts = 0, carries = 1, length = n, reverse = REVERSE, counted = false,
             checkpoint = none}
          return %0
        }
        func @outer(%x: f64[m], %i: i64) -> f64[m] {
          %0, %1, %2: f64[m], i64, i64 = while %i, %x, %i {condition = @more, body = @inner,
            condition_consts = 0, body_consts = 1, length = none}
          return %0
        }
        func @more(%x: f64[m], %j: i64) -> bool { %0: bool = lt 0, %j return %0 }
        func @inner(%i: i64, %x: f64[m], %j: i64) -> (f64[m], i64) {
          %0: f64 = gather %x, %j {axes = [0]}
          %1: i64 = sub %j, 1
          %2: f64[m] = scatter_add %x, %0, %1 {axes = [0]}
          return %2, %1
        }
        """,
        [(np.arange(40.0), np.arange(n) * 3) for n in (0, 1, 9)],
    ),
    "one element of an array": (
        """
        func @f(%x: f64[2], %rows: f64[n]) -> f64 {
          %0: f64[1] = slice %x {starts = [1], steps = [1]}
          %1: f64 = reshape %0
          %2: f64 = scan %1, %1, %rows {body = @body, consts = 1, carries = 1, length = n,
            reverse = REVERSE, counted = false, checkpoint = none}
          return %2
        }
        func @body(%c: f64, %s: f64, %row: f64) -> f64 {
          %0: f64 = mul %c, %s
          %1: f64 = add %0, %row
          return %1
        }
        """,
        [(np.array([0.25, 0.5]), np.arange(float(n))) for n in (0, 3)],
    ),
    "while": (
        """
        func @f(%x: f64, %limit: f64) -> (f64, f64[50,2], i64) {
          %0, %1, %2: f64, f64[50,2], i64 = while %limit, %x, %x {condition = @less, body = @double,
            condition_consts = 1, body_consts = 1, length = 50}
          return %0, %1, %2
        }
        func @less(%limit: f64, %x: f64) -> bool { %0: bool = lt %x, %limit return %0 }
        func @double(%c: f64, %x: f64) -> (f64, f64[2]) {
          %0: f64 = add %x, %c
          %1: f64[2] = broadcast %x {axes = []}
          return %0, %1
        }
        """,
        [(1.5, limit) for limit in (0.0, 2.0, 10.0, np.nan)],
    ),
    "counted": (
        """
        func @f(%count: i64, %x: f64[m], %rows: f64[n]) -> (f64[m], f64[n]) {
          %0, %1: f64[m], f64[n] = scan %count, %x, %rows {body = @body, consts = 0, carries = 1,
            length = n, reverse = REVERSE, counted = true, checkpoint = none}
          return %0, %1
        }
        func @body(%x: f64[m], %row: f64) -> (f64[m], f64) {
          %0: f64[m] = broadcast %row {axes = []}
          %1: f64[m] = mul %x, %0
          %2: f64 = add %row, 1.0
          return %1, %2
        }
        """,
        [(count, np.arange(20.0), np.arange(1.0, 6.0)) for count in (-1, 0, 1, 3, 4, 5)],
    ),
    "branches": (
        """
        func @f(%p: bool, %x: f64[m], %y: f64, %i: i64) -> (f64[m], f64, bool) {
          %0, %1, %2: f64[m], f64, bool = cond %p, %x, %y, %i {then = @then, otherwise = @otherwise}
          return %0, %1, %2
        }
        func @then(%x: f64[m], %y: f64, %i: i64) -> (f64[m], f64, bool) {
          %0: f64[m] = scatter_set %x, %y, %i {axes = [0]}
          %1: f64 = gather %x, %i {axes = [0]}
          %2: bool = lt %1, %y
          return %0, %1, %2
        }
        func @otherwise(%x: f64[m], %y: f64, %i: i64) -> (f64[m], f64, bool) {
          %0: f64 = reduce_sum %x {axes = [0]}
          %1: bool = constant true
          return %x, %0, %1
        }
        """,
        [(p, np.arange(40.0), 2.5, 7) for p in (True, False)],
    ),
    "checkpoint": (
        """
        func @f(%x: f64[m], %y: f64) -> (f64[m], f64) {
          %0, %1: f64[m], f64 = checkpoint %x, %y {body = @body}
          return %0, %1
        }
        func @body(%x: f64[m], %y: f64) -> (f64[m], f64) {
          %0: f64[m] = broadcast %y {axes = []}
          %1: f64[m] = add %x, %0
          %2: f64 = reduce_max %1 {axes = [0]}
          return %1, %2
        }
        """,
        [(np.arange(40.0), 2.5)],
    ),
}


def kernel(function: Function) -> Kernel:
    return Kernel(function, lower(function, "test"), "test")


def arrays(arguments: Sequence[Any]) -> list[Any]:
    return [np.asarray(x) for x in arguments]


@pytest.mark.parametrize("reverse", ["false", "true"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_interpreters_bits(name: str, reverse: str) -> None:
    text, calls = PROGRAMS[name]
    function = parse_function(text.replace("REVERSE", reverse))
    made = kernel(function)
    for arguments in calls:
        given = arrays(arguments)
        for found, wanted in zip(made(given), interpret(function, given), strict=True):
            assert_same_bits(found, wanted)


# -- in place --------------------------------------------------------------------------------------


def body_of(lines: str, returned: str = "%r") -> Function:
    """Return a loop over i64 rows whose body updates the one array it carries."""
    return parse_function(f"""
        func @f(%x: f64[m], %at: i64[n]) -> f64[m] {{
          %0: f64[m] = scan %x, %at {{body = @body, consts = 0, carries = 1, length = n,
            reverse = false, counted = false, checkpoint = none}}
          return %0
        }}
        func @body(%x: f64[m], %i: i64) -> f64[m] {{
          {lines}
          return {returned}
        }}
        func @set(%x: f64[m], %v: f64, %i: i64) -> f64[m] {{
          %0: f64[m] = scatter_set %x, %v, %i {{axes = [0]}}
          return %0
        }}
        func @keep(%x: f64[m], %v: f64, %i: i64) -> f64[m] {{ return %x }}
    """)


READ = "%v: f64 = gather %x, %i {axes = [0]}\n"
IN_PLACE = {
    "an element": READ + "%r: f64[m] = scatter_add %x, %v, %i {axes = [0]}",
    "read elsewhere first": """
        %v: f64 = reduce_sum %x {axes = [0]}
        %w: f64[m] = sin %x
        %u: f64 = reduce_max %w {axes = [0]}
        %a: f64 = add %v, %u
        %r: f64[m] = scatter_set %x, %a, %i {axes = [0]}
    """,
    "two updates, a reading between": READ
    + """
        %s: f64[m] = scatter_add %x, %v, %i {axes = [0]}
        %w: f64 = gather %s, %i {axes = [0]}
        %r: f64[m] = scatter_add %s, %w, %i {axes = [0]}
    """,
    "a window": """
        %v: f64[2] = slice %x {starts = [1], steps = [1]}
        %w: f64[2] = add %v, 1.0
        %r: f64[m] = set_slice %x, %w {starts = [0], steps = [1]}
    """,
    "a branch": READ
    + """
        %p: bool = lt 0.5, %v
        %r: f64[m] = cond %p, %x, %v, %i {then = @set, otherwise = @keep}
    """,
    "every element": """
        %a: f64 = cast %i
        %b: f64[m] = broadcast %a {axes = []}
        %c: f64[m] = mul %x, 0.5
        %d: f64[m] = sin %b
        %r: f64[m] = add %d, %c
    """,
    "every element, then one": """
        %a: f64[m] = mul %x, 0.5
        %v: f64 = gather %a, %i {axes = [0]}
        %r: f64[m] = scatter_add %a, %v, %i {axes = [0]}
    """,
    "in a function": READ + "%r: f64[m] = checkpoint %x, %v, %i {body = @set}",
}
COPIED = {
    "the older one is read again": READ
    + """
        %s: f64[m] = scatter_add %x, %v, %i {axes = [0]}
        %w: f64 = gather %s, %i {axes = [0]}
        %u: f64[m] = broadcast %w {axes = []}
        %y: f64[m] = mul %x, %u
        %t: f64 = reduce_sum %y {axes = [0]}
        %r: f64[m] = scatter_add %s, %t, %i {axes = [0]}
    """,
    "it is read shifted": """
        %a: f64[2] = slice %x {starts = [1], steps = [1]}
        %b: f64 = reduce_sum %a {axes = [0]}
        %c: f64[m] = broadcast %b {axes = []}
        %r: f64[m] = mul %x, %c
    """,
    "of something else": READ
    + """
        %y: f64[m] = broadcast %v {axes = []}
        %r: f64[m] = scatter_add %y, %v, %i {axes = [0]}
    """,
}


@pytest.mark.parametrize("name", [*IN_PLACE, *COPIED])
def test_updates_of_a_carry(name: str) -> None:
    function = body_of({**IN_PLACE, **COPIED}[name])
    assert ("overwrites x" in str(schedule(function))) == (name in IN_PLACE)
    given = arrays([np.linspace(0, 1, 40), np.array([3, 39, 0, 3, 17])])
    (found,), (wanted,) = kernel(function)(given), interpret(function, given)
    assert_same_bits(found, wanted)


def test_the_argument_is_left_alone() -> None:
    x = np.arange(5.0)
    kernel(body_of(IN_PLACE["an element"]))([x, np.array([1, 2])])
    assert x.tolist() == [0, 1, 2, 3, 4]


def test_carries_that_change_places_are_not_overwritten() -> None:
    function = parse_function("""
        func @f(%x: f64[m], %y: f64[m], %at: i64[n]) -> (f64[m], f64[m]) {
          %0, %1: f64[m], f64[m] = scan %x, %y, %at {body = @body, consts = 0, carries = 2,
            length = n, reverse = false, counted = false, checkpoint = none}
          return %0, %1
        }
        func @body(%x: f64[m], %y: f64[m], %i: i64) -> (f64[m], f64[m]) {
          %0: f64 = gather %x, %i {axes = [0]}
          %1: f64[m] = scatter_add %x, %0, %i {axes = [0]}
          return %y, %1
        }
    """)
    assert "overwrites" not in str(schedule(function))
    given = arrays([np.arange(30.0), -np.arange(30.0), np.array([1, 2, 5])])
    for found, wanted in zip(kernel(function)(given), interpret(function, given), strict=True):
        assert_same_bits(found, wanted)


def test_places_that_are_swapped_are_not_taken_apart() -> None:
    """LLVM unrolls the loop; what one step writes to is what the next one reads from."""
    function = parse_function("""
        func @f(%p0: f64[17], %p1: f64, %p2: i64) -> (f64[17], f64[16,17]) {
          %0: i64[16] = iota
          %1, %2: f64[17], f64[16,17] = scan %p2, %p1, %p0, %0
            {body = @body, consts = 2, carries = 1, length = 16, reverse = false, counted = false,
             checkpoint = none}
          return %1, %2
        }
        func @body(%p0: i64, %p1: f64, %p2: f64[17], %p3: i64) -> (f64[17], f64[17]) {
          %0: i64 = sub 16, %p3
          %1: bool = le %p0, %0
          %2: f64[17] = cond %1, %0, %p0, %p1, %p2 {then = @then, otherwise = @otherwise}
          return %2, %p2
        }
        func @then(%p0: i64, %p1: i64, %p2: f64, %p3: f64[17]) -> f64[17] {
          %0: i64 = sub %p0, %p1
          %1: f64 = gather %p3, %0 {axes = [0]}
          %2: f64 = add %p2, %1
          %3: f64[17] = scatter_set %p3, %2, %p0 {axes = [0]}
          return %3
        }
        func @otherwise(%p0: i64, %p1: i64, %p2: f64, %p3: f64[17]) -> f64[17] {
          return %p3
        }
        """)
    given = arrays([np.arange(17.0) ** 2, 2.0, 3])
    for found, wanted in zip(kernel(function)(given), interpret(function, given), strict=True):
        assert_same_bits(found, wanted)


# -- failures --------------------------------------------------------------------------------------


def status(function: Function, *arguments: Any) -> str:
    with pytest.raises(KernelStatus) as error:
        kernel(function)(arrays(arguments))
    return error.value.status.name


def test_an_index_outside_fails_from_any_depth() -> None:
    for name in ("an element", "a branch", "in a function"):
        assert status(body_of(IN_PLACE[name]), np.ones(4), np.array([1, 4])) == "INDEX"


def test_too_many_steps() -> None:
    text = PROGRAMS["while"][0]
    assert status(parse_function(text), 1e-30, 1.0) == "LIMIT"
    text = PROGRAMS["counted"][0].replace("REVERSE", "true")
    assert status(parse_function(text), 6, np.ones(20), np.ones(5)) == "LIMIT"


# -- tapes -----------------------------------------------------------------------------------------


def test_a_tape_that_only_the_way_back_reads_is_not_cleared() -> None:
    text = """
        func @f(%x: f64) -> RETURNED {
          %0, %1, %2: f64, f64[9], i64 = while %x {condition = @less, body = @double,
            condition_consts = 0, body_consts = 0, length = 9}
          %3: f64 = scan COUNT, %x, %1 {body = @add, consts = 0, carries = 1, length = 9,
            reverse = true, counted = COUNTED, checkpoint = none}
          return RESULT
        }
        func @less(%x: f64) -> bool { %0: bool = lt %x, 10.0 return %0 }
        func @double(%x: f64) -> (f64, f64) { %0: f64 = add %x, %x return %0, %x }
        func @add(%s: f64, %row: f64) -> f64 {
          %0: f64 = mul %s, 0.5
          %1: f64 = add %0, %row
          return %1
        }
    """
    for count, result, open_ in (("%2", "%3", 1), ("%2", "%3, %1", 0), ("", "%3", 0)):
        types = "f64" if result == "%3" else "(f64, f64[9])"
        given = text.replace("COUNT, ", f"{count}, " if count else "")
        given = given.replace("COUNTED", "true" if count else "false")
        function = parse_function(given.replace("RETURNED", types).replace("RESULT", result))
        assert len(left_open(function)) == open_
        for found, wanted in zip(kernel(function)(arrays([1.5])), interpret(function, [1.5])):
            assert_same_bits(found, wanted)
