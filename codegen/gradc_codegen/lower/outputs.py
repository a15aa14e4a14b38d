"""Storing elements into the outputs that the caller wants."""

from __future__ import annotations

from gradc_codegen.lower.addresses import Place
from gradc_codegen.lower.elements import Elements
from gradc_codegen.nest.loop_nest import Statement
from gradc_codegen.storage.storage import Plan
from gradc_codegen.text.module import MEMORY
from gradc_ir.core.types import DType


class Outputs:
    """The outputs of one function, which may be left out where the plan says so."""

    def __init__(self, elements: Elements, plan: Plan) -> None:
        self._elements = elements
        self._all_wanted = plan.all_wanted
        self._sinks: dict[str, str] = {}  # on the stack, by types in memory

    def write(self, statement: Statement, own: list[str], register: str) -> None:
        """Store an element, at the indices of the statement's dims, where it is wanted."""
        elements, type_ = self._elements, statement.value.type
        writer = elements.writer
        for output in statement.outputs:
            if not type_.shape:
                elements.store(self.scalar(output, type_.dtype), type_.dtype, register)
                continue

            def store(output: int = output) -> None:
                index = tuple([own[dim] for dim in statement.axis_dims])
                elements.touch(f"%out{output}", type_, index)
                position = writer.linear(list(index), list(type_.shape))
                elements.store(Place(f"%out{output}", position), type_.dtype, register)

            writer.where(elements.wanted(output), store)

    def scalar(self, output: int, dtype: DType) -> Place:
        """Return where a scalar output goes: nowhere, on the stack, when it is not wanted."""
        if self._all_wanted:
            return Place(f"%out{output}", "0")
        writer, type_ = self._elements.writer, MEMORY[dtype]
        sink = self._sinks.get(type_)
        if sink is None:
            sink = self._sinks[type_] = writer.stack.own(type_)
        flag = self._elements.wanted(output)
        return Place(writer.at_entry(f"select i1 {flag}, ptr %out{output}, ptr {sink}"), "0")
