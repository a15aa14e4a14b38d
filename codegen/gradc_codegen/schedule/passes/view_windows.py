"""Reads at indices that grow by equal steps, as views: no index is computed, none is checked.

Windows that slide over an array are such, and what is picked by ``np.arange``. An element is then
where the indices of the loops around it say, so that neighbours are read as neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.nest.views import VIEW
from gradc_ir.core.builder import active, rebuilt
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.sizes import Size
from gradc_ir.graphs.affine import Affine, reads_of
from gradc_ir.pipeline import PlainPass


class ViewWindows(PlainPass):
    """The function is equal to the bit."""

    name = "view-windows"
    summary = "read at indices that grow by equal steps as at those of loops"

    def __call__(self, function: Function) -> Function:
        """Return the function with views in place of such reads."""
        found = {
            node: reads
            for node in function.nodes
            if node.op.name == "gather" and (reads := reads_of(node)) is not None
        }
        if not found:
            return function
        return rebuilt(
            function,
            found.__contains__,
            lambda node, operands: _viewed(node, operands[0], found[node]),
        )


def _viewed(gather: Node, x: Value, reads: list[Affine]) -> Sequence[Value]:
    shape = gather.results[0].type.shape
    axes: tuple[int, ...] = gather.attributes["axes"]
    along = dict(zip(axes, reads))
    # the axes of the index come first, then those of x that are not indexed
    others = iter(range(len(reads[0].steps), len(shape)))
    starts: list[Size] = []
    steps: list[int] = []
    for axis in range(x.type.rank):
        read = along.get(axis)
        of_dims = dict(enumerate(read.steps)) if read else {next(others): 1}
        starts.append(read.start if read else 0)
        steps += [of_dims.get(dim, 0) for dim in range(len(shape))]
    attributes = {"starts": tuple(starts), "steps": tuple(steps), "shape": shape}
    return active().apply(VIEW, (x,), attributes).results
