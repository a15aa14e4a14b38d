"""Statements on whole arrays: where their operands, results and scratch are, and what writes them.

A task has a range of what a statement does many of, such as the rows it sorts.
"""

from __future__ import annotations

from collections.abc import Container
from functools import cached_property

from gradc_codegen.abi import Status
from gradc_codegen.arrays.whole_array_ops import WHOLE, arrays_of
from gradc_codegen.arrays.whole_array_site import Site
from gradc_codegen.lower.lowering import Bounds, Lowering
from gradc_codegen.lower.outputs import Outputs
from gradc_codegen.nest.carry_storage import left_open
from gradc_codegen.nest.loop_nest import LoopNest, Statement
from gradc_codegen.storage.storage import Plan
from gradc_ir.core.graph import Value


class WholeArrays:
    """The statements on whole arrays of one LLVM function.

    Parameters
    ----------
    lowering: the function in the making.
    nest: what it is of.
    plan: where values live.
    outputs: where results go.
    """

    def __init__(self, lowering: Lowering, nest: LoopNest, plan: Plan, outputs: Outputs) -> None:
        self._lowering = lowering
        self._nest = nest
        self._plan = plan
        self._outputs = outputs

    @cached_property
    def _left_open(self) -> Container[Value]:
        return left_open(self._nest.function)

    def write(self, statement: Statement, bounds: Bounds | None) -> None:
        """Write a statement, or of what it does a range.

        What nobody reads is not computed where nobody wants it.
        """
        storage = self._plan.storage[statement.value]
        elements = self._lowering.elements
        if storage.is_output_only and not self._plan.all_wanted:
            wanted = elements.wanted(storage.output)
            elements.writer.where(wanted, lambda: self._write(statement, bounds))
        else:
            self._write(statement, bounds)

    def _write(self, statement: Statement, bounds: Bounds | None) -> None:
        lowering, node = self._lowering, statement.node
        elements = lowering.elements
        scratch = tuple(map(elements.pointer, self._plan.scratch[statement]))
        bodies = self._nest.bodies.get(node)
        if bodies is not None:
            from gradc_codegen.lower.control.control import Control  # loops, branches and calls

            shares = self._nest.shares
            control = Control(lowering, node, bodies, shares, scratch, self._left_open)
            for value, register in control.write(bounds).items():
                elements.registers[value] = register
                for output in statement.outputs:
                    if self._nest.function.results[output] is value:
                        dtype = value.type.dtype
                        place = self._outputs.scalar(output, dtype)
                        elements.store(place, dtype, register)
            return
        WHOLE[node.op.name].write(
            Site(
                elements.writer,
                node,
                tuple(map(elements.whole, arrays_of(node))),
                tuple(map(elements.whole, node.results)),
                scratch,
                lambda condition: lowering.refuse(condition, Status.SIZE),
                lowering.check,
                bounds,
            )
        )
