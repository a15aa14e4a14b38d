"""Sums of products over the steps of a loop backward, as one product of what all steps multiply.

The gradient of a weight matrix gets an outer product from every step. To add each to a sum of the
matrix's size goes through that much memory a step; the vectors of all steps, kept as rows, are two
matrices, and the sum is their product.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

from gradc_ir import build
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.walk import users
from gradc_ir.graphs import cost
from gradc_ir.graphs.subgraph import closed
from gradc_ir.ops.linalg import condition_of, parse_spec, print_spec

# Rows are written and read once more: the sum must be this many times as large.
_MUCH_LARGER = 2


class Product(NamedTuple):
    """A product that is summed: its spec, and each factor's row.

    A row is a place among the loop's rows or, less than 0, one that the loop makes: ``~row``.
    """

    spec: str
    left: int
    right: int


class SumsOfProducts(NamedTuple):
    """The body of a loop backward without the sums that are products of rows.

    ``body`` has neither their parameters nor their results, and ``rows`` more rows at its end.
    ``products`` has what each is the sum of, by its number.
    """

    body: Function
    rows: int
    products: dict[int, list[Product]]

    @classmethod
    def find(
        cls, body: Function, invariants: int, sums: range, results: range, rows: range
    ) -> SumsOfProducts:
        """Return a body without such sums.

        Parameters
        ----------
        invariants: how many of its parameters are the same in every step, the first ones.
        sums, results: where it has the parameters and the results of sums.
        rows: where it has rows among its parameters.
        """
        readers = users(body)
        places = {body.params[i]: place for place, i in enumerate(rows)}
        steady = {*body.params[:invariants]}
        made: dict[Value, int] = {}
        products: dict[int, list[Product]] = {}
        for number, (first, last) in enumerate(zip(sums, results)):
            terms = _terms(body.params[first], body.results[last], readers)
            read = dict.fromkeys(x for term in terms for x in term.factors)
            more = [x for x in read if x not in places and x not in made]
            size = cost.elements(body.params[first])
            if (
                not terms
                or not steady.isdisjoint(read)
                or size < _MUCH_LARGER * sum(map(cost.elements, more))
            ):
                continue
            for x in more:
                made[x] = len(made)
            products[number] = [
                Product(spec, *(places[x] if x in places else ~made[x] for x in factors))
                for spec, factors in terms
            ]
        if not products:
            return cls(body, 0, products)
        gone = {body.params[sums[number]] for number in products}
        ended = {results[number] for number in products}
        params = [x for x in body.params if x not in gone]
        ends = [x for i, x in enumerate(body.results) if i not in ended]
        return cls(closed(body, body.name, params, [*ends, *made]), len(made), products)

    def others(self, sums: Sequence[Value]) -> list[Value]:
        """Return of all sums, as they begin, those that stay in the loop."""
        return [x for number, x in enumerate(sums) if number not in self.products]

    def with_totals(
        self, found: Sequence[Value], first: int, sums: Sequence[Value], rows: Sequence[Value]
    ) -> list[Value]:
        """Return what the loop made with all sums at ``first``, and without the rows for them.

        ``sums`` are what they begin with, ``rows`` those of the loop.
        """
        end = len(found) - self.rows
        made = found[end:]
        others = iter(found[first:end])
        totals = []
        for number, start in enumerate(sums):
            if number not in self.products:
                totals.append(next(others))
                continue
            total = start
            for spec, *places in self.products[number]:
                x, y = (rows[i] if i >= 0 else made[~i] for i in places)
                total = build.add(total, build.contract(x, y, _over_all_steps(spec)))
            totals.append(total)
        return [*found[:first], *totals, *others]


class _Term(NamedTuple):
    spec: str
    factors: tuple[Value, ...]


def _terms(first: Value, last: Value, readers: dict[Value, list[Node]]) -> list[_Term]:
    """Return the products a step adds to a sum; none where it does anything else with it."""
    terms: list[_Term] = []
    value, reads = last, 0
    while value is not first and value.op.name == "add" and len(readers[value]) == reads:
        left, right = value.operands
        term = _product(right)
        if term is None:
            left, term = right, _product(left)
        if term is None:
            return []
        terms.append(term)
        value, reads = left, 1
    return terms[::-1] if value is first and len(readers[first]) == 1 else []


def _product(value: Value) -> _Term | None:
    """Return a value as a product, transposed or not."""
    order = tuple(range(value.type.rank))
    if value.op.name == "transpose":
        order = value.node.attributes["permutation"]
        (value,) = value.operands
    if value.op.name != "contract" or condition_of(value.node.attributes["spec"]) is not None:
        return None
    left, right, result = parse_spec(value.node.attributes["spec"])
    return _Term(print_spec(left, right, "".join(result[i] for i in order)), value.operands)


def _over_all_steps(spec: str) -> str:
    """Return the spec of a product that is summed over a first axis of both factors, too."""
    left, right, result = parse_spec(spec)
    step = next(label for label in ascii_lowercase if label not in left + right)
    return print_spec(step + left, step + right, result)
