"""Random graphs under random schedules: the interpreter's bits, inside the buffers."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import numpy as np
import pytest

from gradc_codegen.abi import Status
from gradc_codegen.lower.lower import lower_nest
from gradc_codegen.nest.loop_nest import Item, Loop, LoopNest, Statement
from gradc_codegen.schedule import barriers, cost, phases
from gradc_codegen.schedule.choices import Choices
from gradc_codegen.schedule.schedule import schedule
from gradc_ir.core import sizes
from gradc_ir.core.graph import Function, Node
from gradc_ir.errors import IndexError
from gradc_ir.interpreter.interpret import interpret
from tests.carried_arrays import carried_program
from tests.codegen import test_random_control as control
from tests.codegen.guarded import Guarded
from tests.comparing import assert_same_bits
from tests.random_graphs import random_arguments, random_graph, random_sizes

pytestmark = pytest.mark.slow

EXAMPLES = int(os.environ.get("GRADC_EXAMPLES", "40"))


class RandomChoices(Choices):
    """Whatever is legal, by chance."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        self.most_peeled = int(self._random.choice((0, 1, 2, 8)))
        self._share_stored, self._share_delayed, self._share_apart = self._random.choice(
            (0.0, 0.0, 0.1, 0.5, 1.0), 3
        )

    def _chance(self, share: float) -> bool:
        return bool(self._random.random() < share)

    def recompute(self, node: Node, operations: int, readings: int, kept: int) -> bool:
        return operations <= 12 and readings <= 12 and not self._chance(self._share_stored)

    def divide(self, statements: Sequence[Statement], scope: int) -> None:
        labels = [label for label, _ in cost.labels_by_volume(statements)]
        barriers.choose(statements, int(self._random.choice(labels)), self._pick)
        for statement in statements:
            late = int(self._random.integers(3)) if self._chance(self._share_delayed) else 0
            statement.phase = phases.earliest(statement, scope) + late
        if self._chance(0.4):
            phases.assign_latest(statements, scope)

    def lanes(self, loop: Loop, block: int) -> bool:
        return self._chance(0.5)

    def _pick(self, statement: Statement, dims: Sequence[int]) -> int:
        return barriers.APART if self._chance(self._share_apart) else int(self._random.choice(dims))

    def separate(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            dims = statement.remaining or (barriers.NONE,)
            statement.choice = int(self._random.choice(dims))


def check(seed: int) -> None:
    """Compare a random kernel with the interpreter, also where some outputs are not wanted."""
    function = random_graph(seed)
    kernel = schedule(function, choices=RandomChoices(seed) if seed % 8 else None)
    assert_in_order(kernel)
    compiled = control.Compiled(function, None if seed % 16 == 1 else 0, lower_nest(kernel, "test"))
    random = np.random.default_rng(seed)
    for _ in range(2):
        assert_runs_as_meant(function, compiled, random)


def assert_runs_as_meant(
    function: Function, compiled: control.Compiled, random: np.random.Generator
) -> None:
    """Compare at random sizes."""
    values = random_sizes(random)
    arrays = random_arguments(function, random, values)
    with np.errstate(all="ignore"):
        try:
            wanted = interpret(function, arrays)
        except IndexError:
            wanted = []
    shapes = [
        tuple(sizes.evaluate(size, values) for size in type_.shape)
        for type_ in function.result_types
    ]
    for mask in (np.ones(len(shapes), bool), random.random(len(shapes)) < 0.5):
        at_end = bool(random.random() < 0.6)
        outputs = [
            Guarded(int(np.prod(shape)) * type_.dtype.bytes, at_end, 0x7F + 0x80 * at_end)
            if is_wanted
            else None
            for shape, type_, is_wanted in zip(shapes, function.result_types, mask)
        ]
        status = compiled(values, arrays, outputs, at_end)
        if not wanted:
            # what nobody wants need not fail, nor what reads no element
            may_pass = not mask.all() or control.has_empty_arrays(function, values)
            assert status is Status.INDEX or may_pass
            continue
        assert status is Status.OK
        for output, want in zip(outputs, wanted, strict=True):
            if output is not None:
                assert_same_bits(output.bytes.view(want.dtype).reshape(want.shape), want)


def assert_in_order(kernel: LoopNest) -> None:
    """Each statement is in the nest once, behind all whose elements it reads."""
    order: list[Statement] = []

    def visit(body: Sequence[Item]) -> None:
        for item in body:
            if isinstance(item, Statement):
                order.append(item)
            else:
                if isinstance(item, Loop):
                    assert all(statement in _statements(item) for statement in item.reductions)
                visit(item.body)

    visit(kernel.body)
    place = {statement: i for i, statement in enumerate(order)}
    assert len(order) == len(place) == len(kernel.statements)
    for statement in order:
        assert not statement.remaining
        before = (*(producer for producer, _, _ in statement.inputs), *statement.after)
        assert all(place[other] < place[statement] for other in before)


def _statements(item: Item) -> list[Statement]:
    if isinstance(item, Statement):
        return [item]
    return [statement for inner in item.body for statement in _statements(inner)]


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected in another way there")
# the last one: a read that is the same in all lanes, outside of its window for all of them
@pytest.mark.parametrize("seed", [*range(EXAMPLES), 20890])
def test_random_schedules(seed: int) -> None:
    check(seed)


def check_overwriting(seed: int) -> None:
    """Loops and branches that overwrite what they carry, with random nests in them."""
    function = carried_program(seed, depth=1 + seed % 2, steps=3 + seed % 4, alike=seed % 2 == 0)
    kernel = schedule(function, choices=RandomChoices(seed))
    compiled = control.Compiled(function, 0, lower_nest(kernel, "test"))
    n, m = map(int, np.random.default_rng(seed).choice((0, 1, 2, 5, 33), 2))
    control.assert_runs_as_meant(function, {"n": n, "m": m}, seed, None, compiled)


@pytest.mark.skipif(sys.platform == "win32", reason="pages are protected in another way there")
@pytest.mark.parametrize("seed", range(EXAMPLES // 3))
def test_random_schedules_of_what_overwrites(seed: int) -> None:
    check_overwriting(seed)
