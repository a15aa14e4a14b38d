"""Programs with control flow for the tests of batching, and arguments for each of their points.

Indices are in range only where the program says that it goes on, or takes that branch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Draw = Callable[[np.random.Generator], list[Any]]


class Program(NamedTuple):
    """The text of a function, and what draws its arguments."""

    text: str
    draw: Draw


def _floats(rng: np.random.Generator, *shape: int) -> Any:
    return rng.normal(size=shape)


def _integer(rng: np.random.Generator, low: int, high: int) -> Any:
    return np.asarray(rng.integers(low, high))


_STEP = """
func @step(%a: f64, %h: f64, %x: f64) -> (f64, f64) {
  %0: f64 = mul %a, %h
  %1: f64 = add %0, %x
  %2: f64 = tanh %1
  return %1, %2
}
"""
_SCAN = """
func @f(COUNT%a: f64, %h: f64, %x: f64[5]) -> (f64, f64[5]) {
  %0, %1: f64, f64[5] = scan USED%a, %h, %x {body = @step, consts = 1, carries = 1, length = 5,
    reverse = REVERSE, counted = COUNTED, checkpoint = none}
  return %0, %1
}
"""


def _scan(reverse: str, counted: bool) -> str:
    text = _SCAN.replace("REVERSE", reverse).replace("COUNTED", str(counted).lower())
    text = text.replace("COUNT", "%n: i64, " if counted else "")
    return text.replace("USED", "%n, " if counted else "") + _STEP


def _scan_arguments(rng: np.random.Generator) -> list[Any]:
    return [_floats(rng), _floats(rng), _floats(rng, 5)]


def _counted_arguments(rng: np.random.Generator) -> list[Any]:
    return [_integer(rng, -1, 6), *_scan_arguments(rng)]


# each step reads and writes the array that it carries, at an index that is outside after the end
_FILL = """
func @f(%n: i64, %x: f64[4], %v: f64[3]) -> (f64[4], i64) {
  %i: i64 = constant 0
  %0, %1: f64[4], i64 = scan %n, %v, %x, %i {body = @step, consts = 1, carries = 2,
    length = none, reverse = false, counted = true, checkpoint = none}
  return %0, %1
}
func @step(%v: f64[3], %x: f64[4], %i: i64) -> (f64[4], i64) {
  %0: f64 = gather %v, %i {axes = [0]}
  %1: f64 = gather %x, %i {axes = [0]}
  %2: f64 = mul %0, %1
  %j: i64 = add %i, 1
  %3: f64[4] = scatter_KIND %x, %2, %j {axes = [0]}
  %4: f64[2] = slice %3 {starts = [0], steps = [2]}
  %5: f64[2] = sin %4
  %6: f64[4] = set_slice %3, %5 {starts = [0], steps = [2]}
  return %6, %j
}
"""
_SUM_UNTIL = """
func @f(%n: i64, %limit: f64, %x: f64[6]) -> (i64, f64, f64[6], i64) {
  %i: i64 = constant 0
  %s: f64 = constant 0.0
  %0, %1, %2, %3: i64, f64, f64[6], i64 = while %n, %limit, %x, %i, %s {condition = @go,
    body = @step, condition_consts = 2, body_consts = 1, length = 6}
  return %0, %1, %2, %3
}
func @go(%n: i64, %limit: f64, %i: i64, %s: f64) -> bool {
  %0: bool = lt %i, %n
  %1: bool = lt %s, %limit
  %2: bool = logical_and %0, %1
  return %2
}
func @step(%x: f64[6], %i: i64, %s: f64) -> (i64, f64, f64) {
  %0: f64 = gather %x, %i {axes = [0]}
  %1: f64 = add %s, %0
  %2: i64 = add %i, 1
  %3: f64 = mul %1, %0
  return %2, %1, %3
}
"""
# the condition reads the array, and the array is written
_ZEROS = """
func @f(%x: f64[6], %d: f64) -> (f64[6], i64, i64) {
  %i: i64 = constant 0
  %0, %1, %2: f64[6], i64, i64 = while %d, %x, %i {condition = @go, body = @step,
    condition_consts = 0, body_consts = 1, length = none}
  return %0, %1, %2
}
func @go(%x: f64[6], %i: i64) -> bool {
  %0: f64 = gather %x, %i {axes = [0]}
  %1: f64 = constant 0.0
  %2: bool = lt %1, %0
  return %2
}
func @step(%d: f64, %x: f64[6], %i: i64) -> (f64[6], i64) {
  %0: f64 = gather %x, %i {axes = [0]}
  %1: f64 = mul %0, %d
  %2: f64[6] = scatter_set %x, %1, %i {axes = [0]}
  %3: i64 = add %i, 1
  return %2, %3
}
"""


def _ending_arguments(rng: np.random.Generator) -> list[Any]:
    x = np.abs(_floats(rng, 6))
    x[rng.integers(0, 6)] = -1.0
    return [x, _floats(rng)]


_COND = """
func @f(%p: bool, %i: i64, %x: f64[4], %y: f64) -> (f64, f64[4]) {
  %0, %1: f64, f64[4] = cond %p, %i, %x, %y {then = @then, otherwise = @otherwise}
  return %0, %1
}
func @then(%i: i64, %x: f64[4], %y: f64) -> (f64, f64[4]) {
  %0: f64 = gather %x, %i {axes = [0]}
  %1: f64 = mul %0, %y
  %2: f64[4] = scatter_add %x, %1, %i {axes = [0]}
  return %1, %2
}
func @otherwise(%i: i64, %x: f64[4], %y: f64) -> (f64, f64[4]) {
  %0: f64 = exp %y
  return %0, %x
}
"""
_COND_PLAIN = """
func @f(%p: bool, %x: f64[4], %y: f64) -> (f64, f64[4]) {
  %0, %1: f64, f64[4] = cond %p, %x, %y {then = @then, otherwise = @otherwise}
  return %0, %1
}
func @then(%x: f64[4], %y: f64) -> (f64, f64[4]) {
  %0: f64[2] = broadcast %y {axes = []}
  %1: f64[4] = set_slice %x, %0 {starts = [1], steps = [1]}
  %2: f64 = log %y
  return %2, %1
}
func @otherwise(%x: f64[4], %y: f64) -> (f64, f64[4]) {
  %0: f64 = reduce_sum %x {axes = [0]}
  return %0, %x
}
"""


def _cond_arguments(rng: np.random.Generator) -> list[Any]:
    taken = bool(rng.integers(0, 2))
    index = np.asarray(rng.integers(-4, 4) if taken else 99)
    return [np.asarray(taken), index, _floats(rng, 4), _floats(rng)]


# a branch in a loop: only even steps read; and a loop in a branch, which would never end elsewhere
_COND_IN_WHILE = """
func @f(%n: i64, %x: f64[3]) -> (i64, f64, i64) {
  %i: i64 = constant 0
  %s: f64 = constant 1.0
  %0, %1, %2: i64, f64, i64 = while %n, %x, %i, %s {condition = @go, body = @step,
    condition_consts = 1, body_consts = 1, length = none}
  return %0, %1, %2
}
func @go(%n: i64, %i: i64, %s: f64) -> bool { %0: bool = lt %i, %n return %0 }
func @step(%x: f64[3], %i: i64, %s: f64) -> (i64, f64) {
  %half: i64 = floor_divide %i, 2
  %odd: i64 = remainder %i, 2
  %0: i64 = constant 0
  %even: bool = eq %odd, %0
  %h: i64 = mul %odd, 100
  %place: i64 = add %half, %h
  %1: f64 = cond %even, %x, %place, %s {then = @then, otherwise = @otherwise}
  %2: i64 = add %i, 1
  return %2, %1
}
func @then(%x: f64[3], %i: i64, %s: f64) -> f64 {
  %0: f64 = gather %x, %i {axes = [0]}
  %1: f64 = mul %s, %0
  return %1
}
func @otherwise(%x: f64[3], %i: i64, %s: f64) -> f64 { %0: f64 = sin %s return %0 }
"""
_WHILE_IN_COND = """
func @f(%x: f64, %y: f64) -> f64 {
  %0: f64 = constant 0.0
  %p: bool = lt %0, %x
  %1: f64 = cond %p, %x, %y {then = @then, otherwise = @otherwise}
  return %1
}
func @then(%x: f64, %y: f64) -> f64 {
  %0, %1: f64, i64 = while %x, %y {condition = @go, body = @step, condition_consts = 0,
    body_consts = 1, length = none}
  return %0
}
func @go(%y: f64) -> bool { %0: f64 = constant 10.0 %1: bool = lt %y, %0 return %1 }
func @step(%x: f64, %y: f64) -> f64 { %0: f64 = add %x, %y return %0 }
func @otherwise(%x: f64, %y: f64) -> f64 { %0: f64 = mul %x, %y return %0 }
"""
_SCAN_IN_WHILE = """
func @f(%n: i64, %x: f64[4], %w: f64[3]) -> (f64[4], i64) {
  %i: i64 = constant 0
  %0, %1, %2: f64[4], i64, i64 = while %n, %w, %x, %i {condition = @go, body = @step,
    condition_consts = 1, body_consts = 1, length = 4}
  return %0, %2
}
func @go(%n: i64, %x: f64[4], %i: i64) -> bool { %0: bool = lt %i, %n return %0 }
func @step(%w: f64[3], %x: f64[4], %i: i64) -> (f64[4], i64) {
  %0, %1: f64[4], f64[3] = scan %i, %x, %w {body = @inner, consts = 1, carries = 1, length = 3,
    reverse = true, counted = false, checkpoint = none}
  %2: i64 = add %i, 1
  return %0, %2
}
func @inner(%i: i64, %x: f64[4], %w: f64) -> (f64[4], f64) {
  %0: f64 = gather %x, %i {axes = [0]}
  %1: f64 = mul %0, %w
  %2: f64[4] = scatter_add %x, %1, %i {axes = [0]}
  return %2, %0
}
"""
_WHILE_IN_SCAN = """
func @f(%x: f64[3], %y: f64) -> (f64, i64[3]) {
  %0, %1: f64, i64[3] = scan %y, %x {body = @step, consts = 0, carries = 1, length = 3,
    reverse = false, counted = false, checkpoint = none}
  return %0, %1
}
func @step(%y: f64, %x: f64) -> (f64, i64) {
  %0: f64 = abs %x
  %1: f64 = add %0, 0.125
  %2, %3: f64, i64 = while %1, %y {condition = @go, body = @inner, condition_consts = 0,
    body_consts = 1, length = none}
  %4: f64 = sub %2, 1.0
  return %4, %3
}
func @go(%y: f64) -> bool { %0: f64 = constant 1.0 %1: bool = lt %y, %0 return %1 }
func @inner(%x: f64, %y: f64) -> f64 { %0: f64 = add %x, %y return %0 }
"""
# inside of a branch, so that what is kept apart is told which points are at work
_CALL = """
func @f(%p: bool, %i: i64, %x: f64[3], %y: f64) -> f64 {
  %0: f64 = cond %p, %i, %x, %y {then = @then, otherwise = @otherwise}
  return %0
}
func @then(%i: i64, %x: f64[3], %y: f64) -> f64 {
  %0: f64 = call %i, %x, %y {name = "pick", body = @pick, vjp = @vjp, jvp = none, constants = []}
  %1: f64 = checkpoint %i, %x, %0 {body = @pick}
  return %1
}
func @pick(%i: i64, %x: f64[3], %y: f64) -> f64 {
  %0: f64 = gather %x, %i {axes = [0]}
  %1: f64 = mul %0, %y
  return %1
}
func @vjp(%i: i64, %x: f64[3], %y: f64, %up: f64) -> (i64, f64[3], f64) {
  %0: i64 = constant 0
  %1: f64 = constant 0.0
  %2: f64[3] = broadcast %1 {axes = []}
  %3: f64[3] = scatter_add %2, %up, %i {axes = [0]}
  %4: f64 = mul %up, 3.0
  return %0, %3, %4
}
func @otherwise(%i: i64, %x: f64[3], %y: f64) -> f64 { %0: f64 = sin %y return %0 }
"""

PROGRAMS: dict[str, Program] = {
    "scan": Program(_scan("false", False), _scan_arguments),
    "scan, reverse": Program(_scan("true", False), _scan_arguments),
    "scan, counted": Program(_scan("false", True), _counted_arguments),
    "scan, counted, reverse": Program(_scan("true", True), _counted_arguments),
    "scan, counted, scatter_set": Program(
        _FILL.replace("KIND", "set"),
        lambda rng: [_integer(rng, 0, 4), _floats(rng, 4), _floats(rng, 3)],
    ),
    "scan, counted, scatter_add": Program(
        _FILL.replace("KIND", "add"),
        lambda rng: [_integer(rng, 0, 4), _floats(rng, 4), _floats(rng, 3)],
    ),
    "while, rows": Program(
        _SUM_UNTIL, lambda rng: [_integer(rng, -1, 7), np.abs(_floats(rng)) * 2, _floats(rng, 6)]
    ),
    "while, condition reads": Program(_ZEROS, _ending_arguments),
    "cond, index": Program(_COND, _cond_arguments),
    "cond, plain": Program(
        _COND_PLAIN,
        lambda rng: [np.asarray(bool(rng.integers(0, 2))), _floats(rng, 4), _floats(rng)],
    ),
    "cond in while": Program(_COND_IN_WHILE, lambda rng: [_integer(rng, 0, 7), _floats(rng, 3)]),
    "while in cond": Program(_WHILE_IN_COND, lambda rng: [_floats(rng), _floats(rng)]),
    "scan in while": Program(
        _SCAN_IN_WHILE, lambda rng: [_integer(rng, 0, 5), _floats(rng, 4), _floats(rng, 3)]
    ),
    "while in scan": Program(_WHILE_IN_SCAN, lambda rng: [_floats(rng, 3), _floats(rng)]),
    "call and checkpoint": Program(
        _CALL,
        lambda rng: [*_cond_arguments(rng)[:1], _integer(rng, 0, 3), _floats(rng, 3), _floats(rng)],
    ),
}
