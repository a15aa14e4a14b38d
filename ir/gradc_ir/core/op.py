"""What an op is: its name, its type rule, its meaning in NumPy, and facts other rooms read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeAlias

from gradc_ir.classes.named import NamedTuple
from gradc_ir.classes.quick import dataclass
from gradc_ir.core.types import Types

Attributes: TypeAlias = Mapping[str, Any]
_Facts = ParamSpec("_Facts")
TypeRule: TypeAlias = Callable[..., Types]


class Domain(NamedTuple):
    """An open interval of the real line on which an op is defined and smooth, for tests."""

    low: float = float("-inf")
    high: float = float("inf")


REALS = Domain()
POSITIVE = Domain(low=0.0)


def greater_than(low: float) -> Domain:
    """Return the domain of numbers above ``low``."""
    return Domain(low=low)


class Work(NamedTuple):
    """How many cheap operations an op takes for each element it makes, and for each it reads."""

    made: int = 0
    read: int = 0


@dataclass(frozen=True, eq=False)
class Op:
    """One op of the language. Ops are compared by identity; :data:`TABLE` has them by name.

    Parameters
    ----------
    name: how it is written in text.
    family: the file under ``ops/`` it stands in; its derivative stands in the file of that name.
    operands: how many operands, or None for any number.
    attributes: names of its attributes, in the order in which they are printed.
    options: names of attributes that say more and may be left out; patterns and rules look past
        them, and what a rule builds is without.
    infer: the type rule: operand types, and attributes by name, to result types; raises
        ShapeError or DTypeError.
    reference: the meaning: operand arrays and attributes (sizes as numbers) to a result array, or
        a tuple of them. None for ops that are made of others: those that hold bodies, and composed
        ones; the interpreter runs these, and has the meaning of any op.
    scalar: for elementwise ops, the word codegen lowers (``"add"``, ``"math.exp"``).
    domain: per operand, where it is defined and smooth; nothing for all numbers.
    commutative: operands may be exchanged without changing a bit.
    linear: positions of operands in which it is linear, the others held fixed.
    multilinear: it is linear in each operand, not in all together: a literal zero makes it zero.
    updates: the result is the first operand with a part of it written.
    work: what it costs to run; None for more than arithmetic, which is not to be run twice.
    finite: what keeps a result from being infinite or nan, for who looks where one began.
    """

    name: str
    family: str
    operands: int | None
    infer: TypeRule
    reference: Callable[..., Any] | None
    summary: str
    attributes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    scalar: str | None = None
    domain: tuple[Domain, ...] = ()
    commutative: bool = False
    linear: tuple[int, ...] = ()
    multilinear: bool = False
    updates: bool = False
    work: Work | None = None
    finite: str | None = None

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    @property
    def is_elementwise(self) -> bool:
        """Whether every result element depends on the operands' elements at its own index."""
        return self.family in _ELEMENTWISE

    @property
    def is_fence(self) -> bool:
        """Whether the result is the operand: it keeps rules or differentiation from looking in."""
        return self.scalar == "identity"

    @property
    def is_leaf(self) -> bool:
        """Whether it takes no operands: a parameter, or what only its attributes say."""
        return self.operands == 0

    @property
    def moves(self) -> bool:
        """Whether every element of the result is one of an operand, or the zero of a pad."""
        return self.family == "shape" and not self.is_leaf

    @property
    def joins(self) -> bool:
        """Whether the result has all elements of any number of operands, each at its place."""
        return self.family == "shape" and self.operands is None


_ELEMENTWISE = frozenset({"elementwise", "composed", "special", "unbounded"})

TABLE: dict[str, Op] = {}


def _entering(make: Callable[_Facts, Op]) -> Callable[_Facts, Op]:
    def declare(*args: _Facts.args, **kwargs: _Facts.kwargs) -> Op:
        op = make(*args, **kwargs)
        if TABLE.setdefault(op.name, op) is not op:
            raise ValueError(f"op {op.name} is declared twice")
        return op

    return declare


# Declares an op by its facts, those of `Op`, and enters it into the table; its name must be new.
declare = _entering(Op)
