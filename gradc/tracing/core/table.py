"""The table of NumPy: what traced code sees in place of its functions, methods of ufuncs, objects.

Each file that records functions adds them when it is imported (``registry/numpy_function.py``). The
files are announced in an order, those that most programs use first, and are imported one after
another until what is asked for is there: a program loads little more than what it calls, and no
index repeats the names. What is not NumPy's loads nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from gradc import on_need

# a function of the user's, of NumPy, or one that records such a one
AnyFunction: TypeAlias = Callable[..., Any]


class Table:
    """Functions by the names they have after ``np.``, and by NumPy's own objects."""

    def __init__(self) -> None:
        self._by_name: dict[str, Any] = {}
        self._by_original: dict[Any, Any] = {}
        self._objects: dict[Any, Any] = {}
        self._is_complete = False

    def add(self, name: str, entry: Any) -> None:
        """Have an entry stand for a function; of several names the first is that of the object."""
        self._by_name[name] = entry
        self._by_original.setdefault(entry.__gradc_original__, entry)

    def add_object(self, stand_in: Any) -> None:
        """Have something stand for an object of NumPy that is no function, or for a class."""
        self._objects[stand_in.__gradc_original__] = stand_in

    def get(self, name: str) -> Any:
        """Return the entry of a name such as ``linalg.norm`` or ``add.reduce``, or None."""
        found = self._by_name.get(name)
        if found is None and not self._is_complete:
            found = self._loaded(lambda: self._by_name.get(name), name)
        return found

    def __getitem__(self, name: str) -> Any:
        found = self._by_name.get(name) or self.get(name)
        if found is None:
            raise KeyError(name)
        return found

    def __contains__(self, name: str) -> bool:
        return self.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        """Yield all names."""
        self._loaded(lambda: None, "")
        yield from self._by_name

    def of(self, original: Any) -> Any:
        """Return the entry of a function of NumPy; None for one without, and for all else."""
        try:
            found = self._by_original.get(original)
        except TypeError:
            return None  # not hashable
        if found is None and not self._is_complete and _is_function_of_numpy(original):
            module = (getattr(original, "__module__", None) or "").removeprefix("numpy.")
            found = self._loaded(lambda: self._by_original.get(original), f"{module}.")
        return found

    def object(self, original: Any) -> Any:
        """Return what stands for a class of NumPy, or an object that is no function, or None."""
        owner = original if isinstance(original, type) else type(original)
        if owner is np.ndarray or package_of(owner) != "numpy":
            return None
        on_need.load(on_need.NUMPY_OBJECTS)
        try:
            return self._objects.get(original)
        except TypeError:
            return None  # not hashable

    def _loaded(self, find: Callable[[], Any], name: str) -> Any:
        """Import one file after the other until something is found; all of them if it is not."""
        room = name.partition(".")[0] if "." in name else ""
        for _ in on_need.loaded(on_need.NUMPY_FUNCTIONS, first=room):
            found = find()
            if found is not None:
                return found
        self._is_complete = True
        return None


def _is_function_of_numpy(x: Any) -> bool:
    if isinstance(x, np.ufunc):
        return getattr(np, x.__name__, None) is x
    return callable(x) and package_of(x) == "numpy"


def package_of(x: Any) -> str:
    """Return the package that a function, type or object was defined in, no text if none says."""
    module = getattr(x, "__module__", None)
    return module.partition(".")[0] if isinstance(module, str) else ""


TABLE = Table()


def call(name: str, *operands: Any, **options: Any) -> Any:
    """Call a function of NumPy by name on tracers, numbers and arrays."""
    return TABLE[name](*operands, **options)
