"""From a function to the LLVM text of its kernel: the walk over the loop nest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from gradc_codegen.abi import Signature, Status
from gradc_codegen.lower.bundles import Bundles
from gradc_codegen.lower.elements import Elements
from gradc_codegen.lower.lowering import MOST_INLINED, RUNNER, Body, Bounds
from gradc_codegen.lower.outputs import Outputs
from gradc_codegen.lower.prologue import (
    checks_of,
    handing_on,
    own_place,
    symbols_of,
    write_own_bytes,
    write_worksize,
)
from gradc_codegen.lower.row_stores import RowStores
from gradc_codegen.lower.whole_arrays import WholeArrays
from gradc_codegen.nest.carry_storage import Way, ways
from gradc_codegen.nest.loop_nest import (
    Item,
    Items,
    Loop,
    LoopNest,
    Part,
    Statement,
    StatementKind,
    Tasks,
)
from gradc_codegen.nest.strips import bound_by
from gradc_codegen.scalar.lower_scalar import lower_scalar
from gradc_codegen.schedule.lanes import functions_among
from gradc_codegen.schedule.schedule import schedule
from gradc_codegen.storage.buffers import plan
from gradc_codegen.storage.storage import Plan
from gradc_codegen.text.module import ANY_MACHINE, Machine, Module
from gradc_codegen.text.writer import Writer
from gradc_ir.core.graph import Function, Node

if TYPE_CHECKING:
    from gradc_codegen.lower.loops.loop_lowering import LoopLowering
    from gradc_codegen.lower.loops.masked_sums import MaskedSums
    from gradc_codegen.lower.parts import Parts
    from gradc_codegen.lower.reducing.running import Running
    from gradc_codegen.schedule.versions.long_rows import LongRows


def lower(function: Function, name: str, blas: bool = False, machine: Machine = ANY_MACHINE) -> str:
    """Return LLVM text of a module with the kernel ``@name`` and ``@name_worksize``.

    The signature is that of :class:`gradc_codegen.abi.Signature`. The kernel returns a
    :class:`gradc_codegen.abi.Status`; after any but OK its outputs must not be used.
    With ``blas`` contractions that are bound by arithmetic go to BLAS, whose bits are its own.
    """
    return lower_nest(schedule(function, blas), name, machine)


def lower_nest(
    nest: LoopNest,
    name: str,
    machine: Machine = ANY_MACHINE,
    has_runner: bool = False,
    long: LongRows | None = None,
) -> str:
    """Return LLVM text of a module for a loop nest, as :func:`lower` does for a function.

    ``has_runner``: whether one argument more tells what runs tasks; ``long``: a nest for long rows.
    """
    signature, symbols = Signature.of(nest.function), symbols_of(nest)
    module, plans, first = Module(name, machine, has_runner), [plan(nest)], []
    if long is not None:
        other = f"{name}.long"
        first = handing_on(symbols[long.size], long.least, signature, other)
        plans.append(plan(long.nest))
        FunctionLowering(module, other, long.nest, plans[1], signature, symbols).main("internal ")
    FunctionLowering(module, name, nest, plans[0], signature, symbols).main("", first)
    write_worksize(module, nest, plans, signature)
    if has_runner:
        write_own_bytes(module, nest, plans[0], signature)
    return str(module)


class FunctionLowering:
    """Lowers one LLVM function: the kernel, a part of it, or the body of a loop or branch.

    Parameters
    ----------
    symbols: the registers of all sizes.
    indices: for a part the loops it is in.
    """

    def __init__(
        self,
        module: Module,
        name: str,
        nest: LoopNest,
        made: Plan,
        signature: Signature,
        symbols: dict[str, str],
        indices: dict[Loop, str] | None = None,
    ) -> None:
        self._module = module
        self._name = name
        self._nest = nest
        self._plan = made
        self._signature = signature
        self._symbols = symbols
        self.writer = Writer(module, symbols)
        self._is_part = indices is not None
        # without scratch there are at most buffers of no bytes, which nothing touches
        has_work = self._is_part or nest.is_body
        arena = "%work" if has_work else "%arena" if made.needs_work else "null"
        self.elements = Elements(self.writer, made, arena)
        self.elements.own = "%own" if made.own else "null"  # of a part
        self.indices: dict[Loop, str] = dict(indices or {})
        self.running: dict[Statement, Running] = {}
        self._outputs = Outputs(self.elements, made)
        self._whole_arrays = WholeArrays(self, nest, made, self._outputs)
        self.rows = RowStores(self.writer)
        self._refusals: dict[Status, str] = {}
        self._bodies: dict[tuple[Node, int], Body] = {}
        self._bundles = Bundles(self.elements, nest.statements)
        self._in_rest = self.fails = False

    # what straight code does without is loaded by the first function that has some

    @cached_property
    def _loops(self) -> LoopLowering:
        from gradc_codegen.lower.loops.loop_lowering import LoopLowering

        return LoopLowering(self, self._plan)

    @cached_property
    def _masked_sums(self) -> MaskedSums:
        from gradc_codegen.lower.loops.masked_sums import MaskedSums

        return MaskedSums(self, self._nest, self._plan)

    @cached_property
    def _parts(self) -> Parts:
        from gradc_codegen.lower.parts import Parts

        return Parts(self, self._plan, self._begin_part)

    def main(self, linkage: str = "", first: Sequence[str] = ()) -> None:
        """Write the kernel: what comes first, checks, the aligned arena, the nest."""
        writer = self.writer
        writer.checks = [*first, *checks_of(writer, self._nest, self._plan)]
        self.elements.own = own_place(writer, self._plan, self.elements.arena)
        self.body_of(self._nest.body)
        self._finish()
        parameters = ", ".join([self._signature.llvm_parameters, *self.runner])
        self._module.functions.append(
            writer.text(f"define {linkage}i32 @{self._name}({parameters})")
        )

    # -- bodies of loops and branches --------------------------------------------------------------

    @property
    def sizes(self) -> str:
        """The sizes as arguments of a call."""
        return ", ".join(f"i64 {size}" for size in self._symbols.values())

    @property
    def runner(self) -> list[str]:
        """What runs tasks, as an argument of all functions of a module that has it."""
        return [f"ptr {RUNNER}"] if self._module.has_runner else []

    def body(self, node: Node, position: int) -> Body:
        """Return a body of a node of control flow as a function of the module."""
        found = self._bodies.get((node, position))
        if found is None:
            found = self._bodies[node, position] = self._write_body(node, position)
        return found

    def _write_body(self, node: Node, position: int) -> Body:
        nests = self._nest.bodies[node]
        nest, made = nests[position], self._plan.bodies[node][position]
        name = self._module.fresh(f"{self._module.name}.body")
        names = (*self._symbols, *bound_by(node))
        symbols = {symbol: f"%size{i}" for i, symbol in enumerate(names)}
        signature = Signature.of(nest.function, symbols=names)
        inner = FunctionLowering(self._module, name, nest, made, signature, symbols)
        repeats = self.writer.runs_often or node.op.name in ("scan", "while", "strips")
        inner.writer.runs_often = repeats and functions_among(nest.statements) <= MOST_INLINED
        inner.elements.own = own_place(inner.writer, made, inner.elements.arena)
        inner.elements.enter(self.elements, node, nest.function)
        given = signature.llvm_parameters_of_body(nest.overwrites)
        parameters = ", ".join([given, *self.runner])
        inner.body_of(nest.body)
        # the places of some carries change at each step
        swaps = Way.DOUBLE_BUFFERED in ways(node, nests) and position == len(nests) - 1
        # once it is inlined, LLVM takes two places for apart in all steps that are in one
        self._define(inner, f"@{name}({parameters}){' noinline' if swaps else ''}")
        return Body(f"@{name}", inner.fails, inner.writer.guarded_reads)

    def _define(self, inner: FunctionLowering, head: str) -> None:
        """End an internal function, which fails where this one does."""
        inner._finish()
        self.fails = self.fails or inner.fails
        self._module.functions.append(inner.writer.text(f"define internal i32 {head}"))

    def _finish(self) -> None:
        """Write the ends of the function, one for each status it can return."""
        writer = self.writer
        writer.do(f"ret i32 {int(Status.OK)}")
        if self.elements.may_fail:
            writer.start("outside")
            writer.do(f"ret i32 {int(Status.INDEX)}")
        for status, label in self._refusals.items():
            writer.start(label)
            writer.do(f"ret i32 {int(status)}")
        self.fails = self.fails or self.elements.may_fail or bool(self._refusals)
        if not self._is_part and not self._nest.is_body:
            if self._nest.function.size_symbols:
                writer.start("size")
                writer.do(f"ret i32 {int(Status.SIZE)}")
            if self._plan.needs_work:
                writer.start("work.missing")
                writer.do(f"ret i32 {int(Status.WORK)}")

    # -- the walk ----------------------------------------------------------------------------------

    def body_of(self, body: Sequence[Item]) -> None:
        """Write the items of a loop's body, or of the whole nest."""
        if any(made.skipped for made in self.running.values()):
            self._masked_sums.write(body, self._items)
        else:
            self._items(body)

    def _items(self, body: Sequence[Item]) -> None:
        for item in body:
            if isinstance(item, Statement):
                self._statement(item)
            elif isinstance(item, Loop):
                self._loop(item)
            else:
                self._part(item)

    def _part(self, part: Part) -> None:
        """Write a part as a function of its own, and its call, or those of tasks."""
        self.rows.flush()
        arguments = [
            f"{argument.llvm} {value}"
            for argument, value in zip(self._signature.arguments, self._signature.llvm_names)
        ]
        arguments[-1] = f"ptr {self.elements.arena}"
        name = f"{self._name}.part{part.number}"
        if isinstance(part, Tasks):
            from gradc_codegen.lower.loops.tasks import write_tasks

            function = self._begin_part(name, {}, False)
            write_tasks(self, part, self._plan, name, arguments, function)
            return
        own = [f"ptr {self.elements.own}"] if self._plan.own else []
        self._parts.call(part, name, [*arguments, *own, *self.runner])

    def _begin_part(
        self, name: str, indices: dict[Loop, str], in_rest: bool
    ) -> tuple[FunctionLowering, Callable[[list[str], str], None]]:
        """Return the function of a part, and what ends it, see :class:`Parts`."""
        inner = FunctionLowering(
            self._module, name, self._nest, self._plan, self._signature, self._symbols, indices
        )
        inner._in_rest = in_rest
        inner._bundles.widths = self._bundles.widths

        def end(parameters: list[str], attributes: str) -> None:
            given = self._signature.llvm_parameters_of_body(self._nest.overwrites)
            own = ["ptr noalias %own"] if self._plan.own else []
            every = ", ".join([given, *own, *self.runner, *parameters])
            self._define(inner, f"@{name}({every}) {attributes}")

        return inner, end

    def begin(
        self, loop: Loop, chunk_at: str | None = None, is_fresh: str | None = None
    ) -> list[Running]:
        """Write the starts of a loop's reductions."""
        return self._loops.begin(loop, chunk_at, is_fresh)

    def end(self, running: list[Running]) -> None:
        """Put the totals of a loop's reductions where they live."""
        self._loops.end(running)

    def finished(self, statement: Statement, register: str) -> None:
        """Put the total of a reduction where it lives."""
        self._finished(statement, register, self.own(statement))

    def _loop(self, loop: Loop) -> None:
        self.rows.flush()
        if isinstance(loop, Items):
            self.body_of(loop.body)
        else:
            self._loops.write(loop)

    def turns(self, loop: Loop, running: list[Running], bounds: Bounds | None = None) -> None:
        """Write a loop whose reductions have begun; ``bounds``: one chunk, or a range, of it."""
        if isinstance(loop, Items):
            self._whole_arrays.write(loop.statement, bounds)
        else:
            self._loops.turns(loop, running, bounds)

    def own(self, statement: Statement) -> list[str]:
        """Return the index of each of a statement's dims; 0 for those no open loop runs over."""
        own = ["0"] * len(statement.dims)
        for loop, dim in statement.loops:
            index = self.indices.get(loop)
            if index is not None:
                own[dim] = index
        return own

    # -- statements --------------------------------------------------------------------------------

    def _statement(self, statement: Statement) -> None:
        node = statement.node
        if not statement.dims and statement.kind is StatementKind.MAP and _is_plain(node):
            elements = self.elements
            known = elements.registers
            if (bundle := self._bundles.write(statement)) is not None:
                for member, register in bundle.items():
                    self._finished(member, register, [])
                return
            operands = [known.get(x) or elements.element(x, ()) for x in node.operands]
            self._finished(statement, lower_scalar(self.writer, node, operands), [])
            return
        if statement.kind is StatementKind.WHOLE:
            self._whole_arrays.write(statement, None)
            return
        own = self.own(statement)
        if statement.kind in (StatementKind.SCATTER, StatementKind.PIECE):
            from gradc_codegen.lower.pieces import write_piece, write_scattered

            if statement.kind is StatementKind.SCATTER:
                write_scattered(self, statement, own)
            else:
                write_piece(self, statement, own, self._plan.storage[statement.value])
        elif statement.kind is StatementKind.COPY:
            value = self.elements.element(statement.value, tuple(own))
            self._outputs.write(statement, own, value)
        elif statement.kind is StatementKind.REDUCE:
            self._reduce(statement, own)
        elif statement.kind is StatementKind.BASE:
            self._finished(statement, self.elements.element(node.operands[0], tuple(own)), own)
        else:
            self._finished(statement, self._value(statement, own), own)

    def _value(self, statement: Statement, own: list[str]) -> str:
        node = statement.node
        if node.op.name == "contract":
            from gradc_codegen.lower.triangular_bounds import product_of

            return product_of(self.writer, node, own, self.elements.operands(node, own))
        return self.elements.compute(node, tuple(own))

    def _reduce(self, statement: Statement, own: list[str]) -> None:
        running = self.running.get(statement)
        if running is None:
            state = self._plan.accumulators.get(statement)
            if state is None:  # over an axis of size 1
                self._finished(statement, self._single(statement, own), own)
                return
            from gradc_codegen.lower.reducing.running import Running

            # its loop is in another function
            running = self.running[statement] = Running(self.elements, state, self.own)
            running.in_rest = self._in_rest
        running.step(own)

    def _single(self, statement: Statement, own: list[str]) -> str:
        node = statement.node
        if node.op.name == "contract":
            return self._value(statement, own)
        return self.elements.operands(node, own)[0]

    def _finished(self, statement: Statement, register: str, own: list[str]) -> None:
        """Put one finished element of a statement's value where it lives, and into outputs."""
        value = statement.value
        storage = self._plan.storage[value]
        if not storage.memory:
            self.elements.registers[value] = register
            if statement.outputs:
                self._outputs.write(statement, own, register)
            return
        index = tuple(own[dim] if dim >= 0 else "0" for dim in statement.axis_dims)
        self.elements.keep(value, index, register)
        is_whole = statement.kind is StatementKind.MAP and value not in self._nest.shares
        if not statement.dims or (is_whole and storage.lanes > 1):
            self.writer.remember((value, index), register)

    def check(self, status: str) -> None:
        """Return what a function of C returned, where that is not OK."""
        self.fails = True
        self.writer.return_unless_ok(status)

    def refuse(self, condition: str, status: Status) -> None:
        """Return a status where a condition holds."""
        label = self._refusals.setdefault(status, f"refused.{status.name.lower()}")
        (following,) = self.writer.labels("fits")
        self.writer.branch(condition, label, following)
        self.writer.start(following)


def _is_plain(node: Node) -> bool:
    return node.op.is_elementwise and node.op.family != "unbounded"
