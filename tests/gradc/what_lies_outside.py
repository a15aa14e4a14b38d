"""What compiled functions read outside of themselves: followed as it changes, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradc
from gradc_ir.errors import TraceError

X = np.array([0.5, 1.0, 1.5])


class Meta(type):
    """What makes a class odd."""


def error_of(function: Any, *args: Any) -> str:
    """Return what a function is refused with, for X where no arguments are given."""
    with pytest.raises(TraceError) as caught:
        gradc.compile(function)(*(args or (X,)))
    return str(caught.value)


def check_followed(function: Any, *changes: Any) -> None:
    """Check that a compiled function follows what changes outside of it."""
    compiled = gradc.compile(function)
    for change in (lambda: None, *changes):
        change()
        for _ in range(2):
            np.testing.assert_array_equal(compiled(X), function(X))
