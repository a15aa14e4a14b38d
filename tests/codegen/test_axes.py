"""Index maps against NumPy, and which axes share a label."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gradc_codegen.nest.index_maps import (
    Fixed,
    IndexMap,
    Lookup,
    Regrouped,
    Shifted,
    Windowed,
    index_maps,
    own_dims,
    regroup,
    scatter_dims,
)
from gradc_codegen.schedule.labels import Labels
from gradc_ir import build
from gradc_ir.core import sizes
from gradc_ir.core.types import DType, Type
from tests.codegen.compiled import function_of

N, M = sizes.symbol("n"), sizes.symbol("m")
F64, I64 = DType.F64, DType.I64


def only_node(types, body):
    return function_of(types, body).results[0].node


def evaluate(map_: IndexMap, at: tuple[int, ...]) -> tuple[int, ...]:
    """Return the index an index map of static sizes stands for."""
    result = []
    for index in map_:
        if isinstance(index, Regrouped):
            position = np.ravel_multi_index([at[dim] for dim in index.dims], index.dim_sizes)
            position //= index.divisor
            result.append(int(position if index.modulus is None else position % index.modulus))
        else:
            result.append(0 if isinstance(index, Fixed) else at[index])
    return tuple(result)


SHAPES_OF_TWELVE = [(12,), (3, 4), (4, 3), (2, 6), (2, 2, 3), (3, 1, 4), (1, 12, 1), (6, 2, 1)]


@pytest.mark.parametrize(
    ("outer", "inner"), list(itertools.product(SHAPES_OF_TWELVE, repeat=2)), ids=str
)
def test_reshape_reads_in_row_major_order(outer: tuple[int, ...], inner: tuple[int, ...]) -> None:
    x = np.arange(12).reshape(inner)
    found = [x[evaluate(regroup(outer, inner), at)] for at in np.ndindex(outer)]
    assert found == list(range(12))


def test_reshape_matches_the_smallest_groups() -> None:
    assert regroup((N, 3, 4), (N, 12)) == (0, Regrouped((1, 2), (3, 4), 1, None))
    assert regroup((N, 12), (N, 3, 4)) == (
        0,
        Regrouped((1,), (12,), 4, None),
        Regrouped((1,), (12,), 1, 4),
    )
    assert regroup((N, 1, M), (N, M, 1)) == (0, 2, Fixed())
    assert regroup((N * M,), (N, M)) == (
        Regrouped((0,), (N * M,), M, None),
        Regrouped((0,), (N * M,), 1, M),
    )
    assert regroup((3, N * M), (3 * N, M)) == (
        Regrouped((0, 1), (3, N * M), M, None),
        Regrouped((0, 1), (3, N * M), 1, M),
    )


def test_reductions_and_contractions_read_their_last_dim() -> None:
    node = only_node([Type(F64, (N, M))], lambda x: build.reduce_sum(x, [0]))
    assert own_dims(node) == (M, N)
    assert index_maps(node) == ((1, 0),)
    node = only_node(
        [Type(F64, (N, M)), Type(F64, (M, 3))], lambda x, y: build.contract(x, y, "ij,jk->ki")
    )
    assert own_dims(node) == (3, N, M)
    assert index_maps(node) == ((1, 2), (2, 0))


def test_windows() -> None:
    x = Type(F64, (10, N))
    node = only_node([x], lambda x: build.slice(x, (8, 0), (3, N), (-2, 1)))
    assert index_maps(node) == ((Shifted(8, ((0, -2),)), 1),)
    node = only_node([x], lambda x: build.pad(x, (1, 0), (21, N), (2, 1)))
    assert index_maps(node) == ((Windowed(0, 1, 2, 10), 1),)
    node = only_node([x, x], lambda x, y: build.concatenate([x, y], 1))
    assert index_maps(node) == ((0, Windowed(1, 0, 1, N)), (0, Windowed(1, N, 1, N)))


def test_gather_and_scatter() -> None:
    types = [Type(F64, (N, 4, M)), Type(I64, (3,))]
    node = only_node(types, lambda x, i: build.gather(x, [i], (1,)))
    assert index_maps(node) == ((1, Lookup(1), 2), (0,))
    types.insert(1, Type(F64, (3, N, M)))
    node = only_node(types, lambda x, part, i: build.scatter_add(x, part, [i], (1,)))
    assert scatter_dims(node) == (1, -1, 2)


def test_axes_that_run_together_share_a_label() -> None:
    def body(x, w):
        z = build.contract(x, w, "ij,j->i")
        p = build.tanh(z)
        return build.contract(x, p, "ij,i->j")

    f = function_of([Type(F64, (N, M)), Type(F64, (M,))], body)
    labels = Labels(f.nodes)
    x, w = f.params
    (g,) = f.results
    p = g.operands[1]
    assert labels.of(x, 0) == labels.of(p, 0) == labels.of_dims(g.node)[1]
    assert labels.of(x, 1) == labels.of(w, 0) == labels.of(g, 0)
    assert labels.of(x, 0) != labels.of(x, 1)


def test_a_shifted_axis_has_a_label_of_its_own() -> None:
    f = function_of([Type(F64, (10, N))], lambda x: build.slice(x, (1, 0), (9, N), (1, 1)))
    labels = Labels(f.nodes)
    assert labels.of(f.params[0], 0) != labels.of(f.results[0], 0)
    assert labels.of(f.params[0], 1) == labels.of(f.results[0], 1)
