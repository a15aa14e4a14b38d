"""An exported kernel in a shared library, called as a program in C calls it."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gradc.runtime.export import export
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array
from gradc_ir.errors import ExportError

_NAME = "injected"


class NoKernel(Exception):
    """A way to compute the gradients is not there; the text says why."""


class CKernel:
    """A final function, exported, linked and loaded; raises NoKernel where that cannot be done."""

    def __init__(self, function: Function) -> None:
        from gradc_codegen.interface.python_kernel import Kernel  # loads llvmlite

        compiler = shutil.which("cc")
        if compiler is None:
            raise NoKernel("there is no C compiler, cc")
        # the library stays loaded when its file is gone
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / f"lib{_NAME}.so"
            try:
                object_file, _ = export({"": function}, _NAME, folder)
                command = [compiler, "-shared", "-o", str(library), str(object_file), "-lm"]
                subprocess.run(command, check=True, capture_output=True, text=True)
                self._library = ctypes.CDLL(str(library))
            except ExportError as error:
                raise NoKernel(error.what) from None
            except (OSError, subprocess.CalledProcessError) as error:
                raise NoKernel(f"it could not be linked: {error}") from None
        code: Any = self  # it has what the kernel asks of code in memory
        self._kernel = Kernel(function, code, _NAME, native=False)

    def address(self, name: str) -> int:
        """Return the address of a function of the library."""
        return ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value or 0

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """Return the results for the arguments, one array a parameter."""
        return self._kernel(arrays)
