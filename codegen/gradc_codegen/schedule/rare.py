"""Rare sums in loops of their own: among others they would be made in every case."""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.nest.loop_nest import Statement
from gradc_codegen.nest.rare_sums import RARE_SUM


def mark_rare(statements: Sequence[Statement]) -> None:
    """Mark rare sums, and what is read by nothing else."""
    if all(one.node.op is not RARE_SUM for one in statements):
        return
    read_by_rare: set[Statement] = set()
    read_by_others: set[Statement] = set()
    for one in reversed(statements):
        serves = one in read_by_rare and one not in read_by_others and not one.outputs
        one.is_rare = one.node.op is RARE_SUM or serves
        producers = [producer for producer, _, _ in one.inputs]
        (read_by_rare if one.is_rare else read_by_others).update(producers)


def rare_apart(statements: list[Statement]) -> list[list[Statement]]:
    """Return the statements of a loop, the rare ones for a second loop if it ends their sums."""
    if not any(one.is_rare and one.sequential == one.choice for one in statements):
        return [statements]
    usual = [one for one in statements if not one.is_rare]
    rare = [one for one in statements if one.is_rare]
    return [usual, rare] if usual else [rare]
