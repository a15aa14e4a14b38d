"""The schedule: from a prepared function to a loop nest, by one recursion.

Pick the label with the largest total volume; choose for each statement which of its dims is the
loop; split into phases; one loop a phase; recurse on its body without that label. What lacks the
label runs between the loops. Where several labels, choices or phases will do, the one that moves
least is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gradc_codegen import phases
from gradc_codegen.bodies import Draft, draft
from gradc_codegen.loops import Item, Kernel, Kind, Loop, Statement
from gradc_codegen.overwriting import overwriting
from gradc_codegen.parts import cut
from gradc_codegen.statements import StatementBuilder
from gradc_ir.graph import Function

_NAMES = "ijklmnopqrstuvwxyz"
# After this many labels side by side, the rest are scheduled together, so that time stays linear.
_MOST_PEELED = 8
# Alternatives are weighed for labels with at least this share of the largest volume …
_WORTH_WEIGHING = 0.4
_MOST_LABELS_WEIGHED = 3
# … and only in bodies of at most this many statements.
_LARGE_BODY = 2000


def schedule(function: Function, blas: bool = False) -> Kernel:
    """Return the loop nest of a function; composite ops are expanded first.

    ``blas``: whether contractions that are bound by arithmetic go to BLAS, see
    :func:`gradc_codegen.blas.choose`.
    """
    return _scheduled(draft(function, blas), {}, is_body=False)


def _scheduled(made: Draft, granted: Mapping[int, int], is_body: bool) -> Kernel:
    """Return the loop nest of a function and of the bodies in it.

    ``granted``: the parameters that results overwrite.
    """
    function = made.function
    bodies = {
        node: tuple(
            _scheduled(body, overwrites, is_body=True)
            for body, overwrites in zip(made.bodies[node], made.granted[node], strict=True)
        )
        for node in made.bodies
    }
    order = overwriting(function, granted, made.links)
    statements = StatementBuilder(function, order).statements
    body = _Scheduler().arrange(statements, 0, 0)
    return Kernel(function, cut(body), statements, bodies, order.params, order.shares, is_body)


class _Scheduler:
    def __init__(self) -> None:
        self._scope = 0

    def arrange(self, statements: list[Statement], depth: int, peeled: int) -> list[Item]:
        """Return the nest of statements inside ``depth`` loops, ``peeled`` labels aside."""
        if not any(statement.remaining for statement in statements):
            return list(statements)
        if peeled >= _MOST_PEELED:
            return self._arrange_together(statements, depth)
        self._scope += 1
        for statement in statements:
            statement.scope = self._scope
        count = self._decide(statements)
        slots: list[list[Statement]] = [[] for _ in range(count + 1)]
        loops: list[list[Statement]] = [[] for _ in range(count)]
        for statement in statements:
            (slots if statement.choice < 0 else loops)[statement.phase].append(statement)
        items: list[Item] = []
        for phase, slot in enumerate(slots):
            if slot:
                items += self.arrange(slot, depth, peeled + 1)
            if phase < count and loops[phase]:
                items.append(self._loop(loops[phase], depth))
        return items

    def _loop(self, statements: list[Statement], depth: int) -> Loop:
        """Return a loop over each statement's chosen dim, with its body arranged."""
        first = statements[0]
        name = _NAMES[depth] if depth < len(_NAMES) else f"i{depth}"
        loop = Loop(name, first.dims[first.choice])
        for statement in statements:
            choice = statement.choice
            statement.loops += ((loop, choice),)
            statement.remaining = tuple(dim for dim in statement.remaining if dim != choice)
            if statement.sequential == choice and statement.kind is Kind.REDUCE:
                loop.reductions.append(statement)
        loop.body = self.arrange(statements, depth + 1, 0)
        return loop

    def _decide(self, statements: Sequence[Statement]) -> int:
        """Pick a label, choose each statement's dim and phase; returns the number of phases."""
        labels = _labels_by_volume(statements)
        weigh = len(statements) <= _LARGE_BODY
        if weigh and len(labels) > 1:
            least = _WORTH_WEIGHING * labels[0][1]
            labels = [pair for pair in labels if pair[1] >= least][:_MOST_LABELS_WEIGHED]
        else:
            labels = labels[:1]
        best: tuple[float, int, bool, bool] | None = None
        for label, _ in labels:
            for follow in (False, True):
                free = phases.choose(statements, label, self._scope, follow)
                if follow and not free:
                    break
                count = phases.assign_earliest(statements, self._scope)
                for late in (False, True) if count > 1 else (False,):
                    if late:
                        phases.assign_latest(statements, self._scope)
                    moved = phases.traffic(statements, self._scope)
                    if best is None or moved < best[0]:
                        best = (moved, label, follow, late)
        assert best is not None
        _, label, follow, late = best
        phases.choose(statements, label, self._scope, follow)
        count = phases.assign_earliest(statements, self._scope)
        if late:
            phases.assign_latest(statements, self._scope)
        # what lacks the label may come after the last loop
        return max(count, max(s.phase for s in statements))

    def _arrange_together(self, statements: list[Statement], depth: int) -> list[Item]:
        """Arrange all labels at once: each statement in a loop over its own largest label."""
        volume = dict(_labels_by_volume(statements))
        self._scope += 1
        groups: dict[tuple[int, int], list[Statement]] = {}
        for statement in statements:
            statement.scope = self._scope
            statement.choice = max(
                statement.remaining,
                key=lambda dim: (volume[statement.labels[dim]], -dim),
                default=-1,
            )
            label = statement.labels[statement.choice] if statement.choice >= 0 else -1
            phase = 0
            for producer, reading in statement.inputs:
                if producer.scope == self._scope:
                    same = producer.latest == label and (
                        label < 0 or phases.is_aligned(producer, statement, reading)
                    )
                    phase = max(phase, producer.phase + (not same))
            for reader in statement.after:
                if reader.scope == self._scope:
                    phase = max(phase, reader.phase + 1)
            statement.phase = phase
            statement.latest = label  # which group of the phase it is in
            groups.setdefault((phase, label), []).append(statement)
        items: list[Item] = []
        for (_, label), group in sorted(groups.items(), key=lambda pair: pair[0]):
            if label < 0:
                items += group
            else:
                items.append(self._loop(group, depth))
        return items


def _labels_by_volume(statements: Sequence[Statement]) -> list[tuple[int, float]]:
    """Return the remaining labels with their total volume, the largest first.

    Among equals, what is reduced least comes first, then what was seen first: reductions are
    innermost when nothing else decides.
    """
    total: dict[int, float] = {}
    reduced: dict[int, float] = {}
    for statement in statements:
        if not statement.remaining:
            continue
        volume = 1.0
        for dim in statement.remaining:
            volume *= statement.volumes[dim]
        for label in dict.fromkeys(statement.labels[dim] for dim in statement.remaining):
            total[label] = total.get(label, 0.0) + volume
        if statement.sequential in statement.remaining:
            label = statement.labels[statement.sequential]
            reduced[label] = reduced.get(label, 0.0) + volume
    order = {label: i for i, label in enumerate(total)}
    return sorted(
        total.items(), key=lambda pair: (-pair[1], reduced.get(pair[0], 0.0), order[pair[0]])
    )
