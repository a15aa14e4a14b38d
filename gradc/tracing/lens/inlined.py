"""Objects that are called in their own way inside of a trace."""

from __future__ import annotations

from typing import Any

from gradc.tracing.core.table import AnyFunction


class Inlined:
    """An object that is called in its own way inside a trace; for all else it is itself."""

    def __init__(self, original: Any, run: AnyFunction) -> None:
        self.__gradc_original__ = original
        self.__gradc_run__ = run

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run inside the trace."""
        return self.__gradc_run__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__gradc_original__, name)
