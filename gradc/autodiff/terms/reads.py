"""Terms of what reads a value, some elements of it, perhaps several times: slices, repetitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gradc.autodiff.terms.term import Placing, Term
from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Shape, Size


class Reading(NamedTuple):
    """What an op reads: ``slice``, ``broadcast``, ``element`` or ``gather``, at indices."""

    name: str
    attributes: Mapping[str, Any]
    indices: tuple[Value, ...] = ()

    def of(self, x: Value) -> Value:
        """Return what it reads of an array."""
        attributes = self.attributes
        match self.name:
            case "slice":
                starts, shape, steps = (attributes[name] for name in ("starts", "shape", "steps"))
                return build.slice(x, starts, shape, steps)
            case "broadcast":
                return build.broadcast(x, attributes["shape"], attributes["axes"])
            case "element":
                return build.element(x, attributes["at"])
        return build.gather(x, self.indices, attributes["axes"])

    def beside(self, sizes: Shape) -> Reading:
        """Return what reads the same of an array with more axes at its end, these as they are."""
        attributes, count = dict(self.attributes), len(sizes)
        if self.name == "element":
            attributes["at"] = (*attributes["at"], *(None,) * count)
        if self.name == "broadcast":
            rank = len(attributes["shape"])
            attributes["axes"] = (*attributes["axes"], *range(rank, rank + count))
        if self.name == "slice":
            attributes["starts"] = (*attributes["starts"], *(0,) * count)
            attributes["steps"] = (*attributes["steps"], *(1,) * count)
        if "shape" in attributes:
            attributes["shape"] = (*attributes["shape"], *sizes)
        return self._replace(attributes=attributes)


def read(term: Term, reading: Reading) -> Term | None:
    """Return the term of what is read of its value; None where nothing of the term is.

    Raises Unsupported where it was added up on the way, and no sum of what is read.
    """
    if not term.placings:
        return term.moved(reading.of)
    *first, last = term.placings
    before = term._replace(placings=tuple(first))
    name = last.node.op.name
    if name == "reduce_sum":
        return _of_sums(before, last, reading)
    if reading.name == "slice" and name in ("pad", "concatenate", "set_slice"):
        starts = _inside(last, reading)
        if starts is None:
            return term.moved(reading.of)
        if not starts:
            return None
        attributes = {**reading.attributes, "starts": starts}
        return read(before, reading._replace(attributes=attributes))
    return term.moved(reading.of)


def _of_sums(before: Term, sums: Placing, reading: Reading) -> Term:
    """Return the sums of what is read, along axes that come last."""
    axes, rank = sums.node.attributes["axes"], sums.type.rank
    kept = [axis for axis in range(rank) if axis not in axes]
    order = (*kept, *axes)
    whole = before.aligned().moved(lambda x: build.transpose(x, order))
    more = reading.beside(tuple(sums.type.shape[axis] for axis in axes))
    found = whole.moved(more.of)
    products = build.full(found.shape, 0, sums.type.dtype)
    end = len(found.shape)
    node = build.reduce_sum(products, range(end - len(axes), end)).node
    return found.placed(Placing(node, 0, products.type))


def _inside(placing: Placing, reading: Reading) -> Sequence[Size] | None:
    """Return where a slice begins in a piece that it lies in; nothing where it meets none of it.

    None where it goes beyond, and where sizes that are not known decide.
    """
    found: list[Size] = []
    starts, shape, steps = (reading.attributes[name] for name in ("starts", "shape", "steps"))
    parts = zip(placing.starts, placing.type.shape, placing.shape, starts, shape, steps)
    if any(step != 1 for step in placing.steps):
        return None
    for first, size, whole, start, count, step in parts:
        if first == 0 and size == whole:
            found.append(start)
            continue
        if not all(isinstance(number, int) for number in (first, size, start, count)):
            return None
        meets = [first <= start + i * step < first + size for i in range(count)]
        if not any(meets):
            return ()
        if not all(meets):
            return None
        found.append(start - first)
    return tuple(found)
