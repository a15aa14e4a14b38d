"""Terms of random graphs: coefficients and places make up the tangents of forward mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradc.autodiff.terms.leaves import leaves
from gradc.autodiff.terms.term import Unsupported
from gradc.derivatives import jvp
from gradc.sparsity.known import Known
from gradc_ir.core.types import Array
from gradc_ir.errors import GradcError
from gradc_ir.graphs.subgraph import chosen_results
from gradc_ir.interpreter.interpret import interpret
from tests.random_graphs import LONGEST, random_arguments, random_graph


def _matrix(made: Any, arrays: list[Array], known: Known, shape: tuple[int, int]) -> Array | None:
    """Return the sum of all coefficients in their places; None where an index is not known."""
    if not all(map(known.has, made.indices.results)):
        return None
    coefficients = interpret(made.function, arrays)
    total = np.zeros(shape)
    results = iter(made.indices.results)
    for part in made.parts:
        rows, columns, at = (np.ravel(known.array(next(results))) for _ in range(3))
        there = (rows > 0) & (columns > 0)
        found = coefficients[part.leaf].ravel()[at[there]]
        np.add.at(total, (rows[there] - 1, columns[there] - 1), found)
    return total


def _check_graph(seed: int) -> tuple[int, int]:
    """Compare the terms of a random graph with tangents; how many Jacobians had some, and all."""
    random = np.random.default_rng(seed)
    function = random_graph(seed)
    sizes = {name: int(random.choice((0, 1, 2, 3, 5, 31))) for name in LONGEST}
    arrays = random_arguments(function, random, sizes)
    given = {i: lambda a=a: a for i, a in enumerate(arrays) if a.dtype.kind in "ib"}
    compared = total = 0
    for result, type_ in enumerate(function.result_types):
        for place, array in enumerate(arrays):
            if not type_.dtype.is_float or array.dtype.kind != "f" or not 0 < array.size <= 300:
                continue
            total += 1
            alone = chosen_results(function, [result])
            pushed = jvp(alone, [place], [0], units=True, apart=True)
            try:
                made = leaves(alone, place)
                value = interpret(alone, arrays)[0]
                known = Known(made.indices, given, sizes)
                with np.errstate(all="ignore"):
                    found = _matrix(made, arrays, known, (value.size, array.size))
            except (Unsupported, GradcError):
                continue  # by seeds, or an index outside of its axis
            if found is None:
                continue
            compared += 1
            for column in random.choice(array.size, min(4, array.size), replace=False):
                seed_ = np.zeros(array.size, array.dtype)
                seed_[column] = 1
                tangent = interpret(pushed, [*arrays, seed_.reshape(array.shape)])[-1].ravel()
                finite = np.isfinite(tangent) & np.isfinite(found[:, column])
                scale = 1e-3 if array.dtype == np.float32 or type_.dtype.bytes == 4 else 1e-11
                np.testing.assert_allclose(
                    found[finite, column], tangent[finite], rtol=scale, atol=scale,
                    err_msg=f"{seed} {result} {place} {column}",
                )  # fmt: skip
                # what is zero by its place stays zero, whatever it would be multiplied by
                assert not (np.isfinite(tangent) & (tangent == 0) & ~finite).any(), (seed, result)
    return compared, total


def test_terms_of_random_graphs_are_their_tangents() -> None:
    counts = np.sum([_check_graph(seed) for seed in range(12)], axis=0)
    assert counts[0] > 0.1 * counts[1]


@pytest.mark.slow
def test_terms_of_many_random_graphs_are_their_tangents() -> None:
    counts = np.sum([_check_graph(seed) for seed in range(12, 100)], axis=0)
    assert counts[0] > 0.1 * counts[1]
