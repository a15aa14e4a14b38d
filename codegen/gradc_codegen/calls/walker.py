"""The walk of a plan as LLVM text: one function of CPython's fast calling convention for all calls.

Its self is a method of Python, which takes the calls that no plan is for. That is bound to a tuple
whose first item is an int64 array, of the words: the address of the first plan, that of the table
of addresses (:mod:`layout`), and that of the cells that all plans share. There is no loop over
numbers: what a call costs is the objects it looks at.
"""

from __future__ import annotations

from gradc_codegen.calls.steps import Step
from gradc_codegen.calls.walk_inputs import INPUTS
from gradc_codegen.calls.walk_methods import write_methods
from gradc_codegen.calls.walk_reads import READS
from gradc_codegen.calls.walk_results import RESULTS
from gradc_codegen.calls.walk_writer import Walker


def text() -> str:
    """Return the LLVM text of the module."""
    writers = READS | INPUTS | RESULTS
    walker = Walker()
    walker.begin()
    for step in Step:
        walker.label(f"step{step.value}")
        writers[step](walker)
    walker.end()
    write_methods(walker)
    return "\n".join(walker.lines) + "\n"
