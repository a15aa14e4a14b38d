"""The pattern of a derivative: which of its elements may be other than zero, read off its graph."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gradc.sparsity import loops, moves, sums
from gradc.sparsity.flow import RULES, Flow, Given
from gradc.sparsity.relation import Relation, identity, nothing
from gradc.sparsity.zeros import Matrices
from gradc_ir.core.graph import Function
from gradc_ir.interpreter import tape

__all__ = ["RULES", "pattern"]

# the rooms' files enter their rules when they are imported
_RULES_OF = (loops, moves, sums)


def pattern(
    function: Function,
    tangent: int,
    given: Given,
    sizes: Mapping[str, int] | None = None,
    matrices: Matrices | None = None,
) -> list[Relation]:
    """Return for each result which of its elements depend on which elements of a parameter.

    The function is a tangent's, and ``sizes`` are the numbers of its symbolic sizes. It is linear
    in its parameter ``tangent``, so what a result does not depend on is a zero of the derivative,
    at any point.
    ``given`` reads the parameters whose numbers may be looked at, integers by which elements are
    picked, by their places; ``matrices`` tells of others where they are not zero. The results are
    csr_arrays of bool, in canonical form: a row for each element of a result, a column for each of
    the parameter, in row-major order.
    """
    flow = Flow(function, given, {**(sizes or {}), tape.NAME: 1}, matrices=matrices)
    width = flow.count(function.params[tangent])
    operands = [identity(width) if i == tangent else None for i in range(len(function.params))]
    found = []
    for result, relation in zip(function.results, flow.run(operands)):
        made = nothing(flow.count(result), width) if relation is None else relation
        made.sum_duplicates()
        made.indices, made.indptr = made.indices.astype(np.int32), made.indptr.astype(np.int32)
        found.append(made)
    return found
