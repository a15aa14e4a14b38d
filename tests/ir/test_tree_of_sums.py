"""The tree of sums: the nodes of some rows are those of the whole, and join to its bits."""

from __future__ import annotations

import numpy as np
import pytest

from gradc_ir.meaning.reduction import CHUNK, reduce_in_order
from gradc_ir.meaning.tree import Place, cover, enter, joined


def total(x):
    return reduce_in_order(x, (0,), np.add, -0.0, 0.0)


@pytest.mark.parametrize("chunks", [1, 2, 3, 5, 6, 7, 8, 13])
def test_shards_join_to_the_sum(chunks: int) -> None:
    x = np.random.default_rng(chunks).normal(size=chunks * CHUNK - 7)
    for cut in range(chunks):
        nodes: dict[Place, np.ndarray] = {}
        for place in [*cover(cut, chunks), *cover(0, cut, most=1)]:
            enter(nodes, place, total(x[place.start : place.stop]), np.add)
        assert joined(nodes, np.add) == total(x)


@pytest.mark.parametrize(("first", "last"), [(0, 1), (3, 3), (3, 29), (8, 16), (1, 2**40)])
def test_a_shard_is_few_nodes(first: int, last: int) -> None:
    places = list(cover(first, last))
    borders = [place.start // CHUNK for place in places] + [last]
    assert borders[0] == first
    assert [place.stop // CHUNK for place in places] == borders[1:]
    assert len(places) <= 2 * (last - first).bit_length()
    assert all(place.sibling.parent == place.parent for place in places)
