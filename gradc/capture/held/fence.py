"""What stands in a list for elements that a step cannot know: whoever asks is told so."""

from __future__ import annotations

from typing import Any, NoReturn

from gradc.capture.held.uniform import NotUniform


class Fence:
    """In place of elements of a list to which the steps of a loop append."""

    def __init__(self, path: str) -> None:
        self._path = path

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise ReadsElements(self._path)

    def __getattr__(self, name: str) -> Any:
        if name == "__gradc_refuse__":
            return self._refuse
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse()

    def __str__(self) -> str:
        self._refuse()

    __repr__ = __str__


_ASKED = """
    add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul
    neg pos abs lt le gt ge eq ne bool len iter getitem setitem contains call float int index hash
    array array_ufunc array_function enter exit
"""
for _name in _ASKED.split():
    setattr(Fence, f"__{_name}__", Fence._refuse)


class ReadsElements(NotUniform):
    """A step reads what other steps have appended to a list."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"it reads {path} in the steps that append to it")
