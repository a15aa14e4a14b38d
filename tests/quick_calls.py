"""What tests of quick calls share: which went Python's way, and the same results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from gradc.runtime import quick_call


def same(found: Any, wanted: Any) -> None:
    """Check nests of results, classes and bits."""
    assert type(found) is type(wanted)
    if isinstance(wanted, np.ndarray | np.generic):
        assert found.dtype == wanted.dtype
        assert found.shape == wanted.shape
        assert found.tobytes() == wanted.tobytes()
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key, part in wanted.items():
            same(found[key], part)
    elif isinstance(wanted, tuple | list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted):
            same(one, other)
    elif dataclasses.is_dataclass(wanted):
        same(vars(found), vars(wanted))
    else:
        assert found is wanted


def quick(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Return what a call returns Python's way, and see that the third one goes by a plan."""
    wanted = call(*args, **kwargs)
    same(call(*args, **kwargs), wanted)
    with mock.patch.object(quick_call.Learner, "learn") as learn:
        same(call(*args, **kwargs), wanted)
    assert not learn.called
    return wanted
