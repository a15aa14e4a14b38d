"""What is kept on disk is all that gradc's classes hold: a field that is added is written, too."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gradc.calls.apply_policies import ApplyPolicies
from gradc.calls.derivation import Derivation
from gradc.calls.policies import Policies
from gradc.calls.signature import Bound
from gradc.calls.traceable import Traceable
from gradc.kept.steps import Check
from gradc.kept.traces import Found
from gradc.requests.options import Options
from gradc.requests.request import Request
from gradc.tracing.captured.captures import Capture, Guard
from gradc.tracing.captured.traced import Looked, Traced
from gradc.tracing.core.signals import NeedsConcreteSize, NeedsNumber
from gradc_ir.core.constant import Constant
from gradc_ir.core.deferred import Deferred
from gradc_ir.core.graph import Function, Node, Value
from gradc_ir.core.types import Type
from gradc_ir.location import Location, Outside

# Of each class what gradc.kept or gradc_ir.text.packed writes, and what it leaves out, and why.
WRITTEN: dict[Any, tuple[str, dict[str, str]]] = {
    Traced: (
        "function out_tree captures deciding guards specialised least",
        {
            "log": "tells what was decided in this very trace",
            "prints": "what prints is not kept",
            "unkept": "what has any is not kept",
            "imports": "are looked at; of what is found nothing is traced on",
            "checks": "what has any is not kept",
            "loops": "tell what was decided in this very trace",
            "rewritten": "are looked at, and the text they come from",
        },
    ),
    Looked: ("captures guards unkept imports", {}),
    Found: ("traced request functions least", {}),
    Request: (
        "of wrt mode policies",
        {
            "options": "are the question's",
            "checked": "what has checks is not kept",
        },
    ),
    ApplyPolicies: ("called policies connected groups", {}),
    Policies: ("unconnected nonfinite aliases int_args", {}),
    Options: ("stable fast debug_nans blas rules capture checkpoint threads", {}),
    Derivation: (
        "of mode has_aux policies groups",
        {"wrt": "the leaves tell it"},
    ),
    Traceable: ("function name parameters bound options", {}),
    Bound: (
        "names static numbers structure",
        {
            "values": "the types and the structure tell what a trace sees of them",
            "leaves": "the types tell what a trace sees of them",
            "spans": "the structure tells them",
            "places": "the leaves that are differentiated tell what is made of them",
        },
    ),
    Capture: ("name type fetch variable", {}),
    Guard: ("name value fetch", {"_key": "is made of the value"}),
    NeedsConcreteSize: ("size what at", {"cure": "is of specs alone, which are not kept"}),
    NeedsNumber: ("leaves", {}),
    Function: (
        "name params results names locations location",
        {"_nodes": "found", "_structure": "found", "_symbols": "found"},
    ),
    Deferred: ("_types _made_by digest", {}),
    Node: (
        "op operands attributes results serial",
        {"outline": "found when it is asked for", "right_where": "found when it is verified"},
    ),
    Value: ("node index type", {"known": "found when it is asked for", "heads": "found, too"}),
    Type: ("dtype shape", {"_hash": "is made of them"}),
    Constant: ("array type", {"_key": "is made of them"}),
    Location: (
        "file line function instruction outside is_whole derived caller named",
        {},
    ),
    Outside: ("kind what help", {}),
}


def fields_of(kind: Any) -> set[str]:
    """Return the names of all that an object of a class holds."""
    if dataclasses.is_dataclass(kind):
        return {field.name for field in dataclasses.fields(kind)}
    if kind is Location:
        return {*kind._fields, *kind.__annotations__}
    if hasattr(kind, "_fields"):
        return set(kind._fields)
    if "__slots__" in vars(kind):
        return set(kind.__slots__) - {"__weakref__"}
    return set(vars(EXAMPLES[kind]))


EXAMPLES: dict[Any, Any] = {
    NeedsConcreteSize: NeedsConcreteSize(3, "range()", None),
    NeedsNumber: NeedsNumber((0,)),
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_all_fields_are_kept_or_left_out_for_a_reason(kind: Any) -> None:
    written, left_out = WRITTEN[kind]
    assert fields_of(kind) == {*written.split(), *left_out}


def test_every_kind_of_guard_has_a_check() -> None:
    kinds = {kind.__name__ for kind in Guard.__subclasses__()}
    assert kinds == {"SameObject", "SameElements"}
    assert {"SAME", "ELEMENTS"} <= set(Check.__members__)


def test_what_was_chosen_for_a_derivation_counts_whole() -> None:
    for field in dataclasses.fields(Policies):
        assert f"{field.name}=" in repr(Policies())
