"""What happens when a module of another library is loaded."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from gradc.interop.when_loaded import when_loaded


def test_now_or_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "loaded_later.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    finders = list(sys.meta_path)
    told: list[int] = []
    when_loaded("loaded_later", lambda module: told.append(module.value))
    when_loaded("loaded_later", lambda module: told.append(-module.value))
    assert told == []
    importlib.import_module("loaded_later")
    assert sorted(told) == [-3, 3]
    assert sys.meta_path == finders
    when_loaded("loaded_later", lambda module: told.append(10))
    assert told[-1] == 10
    del sys.modules["loaded_later"]


def test_a_module_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    when_loaded("not_there_at_all", lambda module: None)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("not_there_at_all")
