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

    def keep_out(self, index: Any, known: int) -> None:
        """Raise ReadsElements where an index of the list is not of the ``known`` elements behind.

        How many this one stands for is not known: elements are counted from the end.
        """
        first = index.start if type(index) is slice else index
        last = index.stop if type(index) is slice else None
        step = index.step if type(index) is slice else None
        if type(first) is not int or step not in (None, 1):
            self._refuse()
        if not -known <= first < 0 or not (last is None or first <= last < 0):
            raise ReadsElements(self._path, -first)

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
    """A step reads what other steps have appended to a list: so many last elements, if known."""

    def __init__(self, path: str, count: int | None = None) -> None:
        self.path = path
        self.count = count
        super().__init__(f"it reads {path} in the steps that append to it")
