"""Checks that a function keeps the rules of the language; run after every pass."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gradc_ir.core import sizes
from gradc_ir.core.attributes import check_attributes
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.op import TABLE, Op
from gradc_ir.core.sizes import Expr
from gradc_ir.core.types import Type, Types
from gradc_ir.errors import GradcError, VerifyError


def verify(
    function: Function, more: Mapping[str, Op] | None = None, symbols: Iterable[str] = ()
) -> None:
    """Raise VerifyError, naming the node and the user's line, unless the function is well-formed.

    Checked: the parameters are those of the function; every op is in the table and has its operands
    and attributes; every type is what the op's type rule says; every size is made of symbols that
    the parameters bind; bodies are well-formed, too.

    Parameters
    ----------
    more: ops by name that may be there besides those of the language.
    symbols: sizes that the functions around a body bind.
    """
    _Verifier(function, frozenset(symbols), more or {}, set()).run()


class _Verifier:
    """The checks of one function; ``outer`` are the symbols bound by functions around it.

    ``seen`` are the bodies that were found right, with the symbols bound there.
    """

    def __init__(
        self,
        function: Function,
        outer: frozenset[str],
        more: Mapping[str, Op],
        seen: set[tuple[int, frozenset[str]]],
    ) -> None:
        self.function = function
        self.more = more
        self.seen = seen
        # what was found right of ops without attributes, by the types they are on and make
        self.right: set[tuple[Op, Types, Type]] = set()
        self.symbols = outer | frozenset(function.size_symbols)

    def run(self) -> None:
        self._params()
        symbols = self.symbols
        for node in self.function.nodes:
            if node.right_where is not None and node.right_where <= symbols:
                continue
            if node.attributes or len(node.results) != 1:
                if node.op.name != "param":
                    self._node(node)
            else:
                types = tuple([operand.type for operand in node.operands])
                looks = (node.op, types, node.results[0].type)
                if looks not in self.right:
                    self._node(node)
                    self.right.add(looks)
            if not self.more:  # which another time may not be there, nor in bodies
                node.right_where = symbols

    def _params(self) -> None:
        function = self.function
        if len(function.names) != len(function.params):
            raise self._failure(
                f"{len(function.params)} parameters have {len(function.names)} names"
            )
        for position, param in enumerate(function.params):
            if param.op.name != "param":
                raise self._failure(f"parameter {position} is made by {param.op.name}", param.node)
            if param.node.attributes["index"] != position:
                index = param.node.attributes["index"]
                what = f"parameter {position} says it is parameter {index}"
                raise self._failure(what, param.node)
        own = set(function.params)
        for node in function.nodes:
            if node.op.name == "param" and node.results[0] not in own:
                index = node.attributes["index"]
                raise self._failure(
                    f"parameter {index} of another function is used",
                    self._reader(node.results[0]),
                    help="pass it as an operand: functions are closed",
                )

    def _node(self, node: Node) -> None:
        op = node.op
        if self.more.get(op.name, TABLE.get(op.name)) is not op:
            raise self._failure(f"{op.name} is not in the op table", node)
        if op.operands is not None and len(node.operands) != op.operands:
            what = f"{op.name} has {len(node.operands)} operands, not {op.operands}"
            raise self._failure(what, node)
        required = tuple([name for name in node.attributes if name not in op.options])
        if required != op.attributes:
            found = ", ".join(node.attributes) or "none"
            wanted = ", ".join(op.attributes) or "none"
            raise self._failure(f"{op.name} has the attributes {found}, not {wanted}", node)
        for name, attribute in node.attributes.items():
            self._attribute(node, name, attribute)
        try:
            check_attributes(op, node.attributes)
            wanted_types = op.infer(*[operand.type for operand in node.operands], **node.attributes)
        except GradcError as error:
            raise self._failure(error.what, node, *error.found) from error
        types = tuple(value.type for value in node.results)
        if types != tuple(wanted_types):
            found, wanted = (", ".join(map(str, group)) for group in (types, wanted_types))
            raise self._failure(f"{op.name} makes {wanted}, not {found}", node)
        for type_ in types:
            self._sizes(node, type_.shape)

    def _attribute(self, node: Node, name: str, attribute: object) -> None:
        if isinstance(attribute, Function):
            symbols = self.symbols.union(node.attributes.get("binds", ()))
            body = id(attribute), symbols
            if body not in self.seen:
                _Verifier(attribute, symbols, self.more, self.seen).run()
                self.seen.add(body)
        elif isinstance(attribute, tuple | Expr):
            self._sizes(node, attribute if isinstance(attribute, tuple) else (attribute,))
        try:
            hash(attribute)
        except TypeError:
            raise self._failure(f"attribute {name} of {node.op.name} can change", node) from None

    def _sizes(self, node: Node, shape: tuple[object, ...]) -> None:
        for size in shape:
            if not isinstance(size, Expr):
                continue
            unbound = [name for name in sizes.symbols(size) if name not in self.symbols]
            if unbound:
                raise self._failure(f"no parameter binds the size {', '.join(unbound)}", node)

    def _reader(self, value: Value) -> Node | None:
        return next((node for node in self.function.nodes if value in node.operands), None)

    def _failure(
        self, what: str, node: Node | None = None, *found: str, help: str | None = None
    ) -> VerifyError:
        function = self.function
        at = function.location
        lines = [f"in @{function.name}"]
        if node is not None:
            where = function.locations.get(node)
            at = where[0] if where else at
            if TABLE.get(node.op.name) is node.op and node in function.nodes:
                lines.append(f"    {_text(function, node)}")
        return VerifyError(what, at=at, found=[*lines, *found], help=help)


def _text(function: Function, node: Node) -> str:
    """Return the node's line of text; a broken node may have none."""
    from gradc_ir.text.printer import print_node  # only an error needs it

    try:
        return print_node(function, node)
    except (KeyError, TypeError, IndexError, AttributeError):
        types: Types = tuple(value.type for value in node.results)
        return f"{node.op.name}: {', '.join(map(str, types))}"
