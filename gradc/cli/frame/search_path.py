"""The user's folder on Python's search path, where a file must not stand for a package of ours."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# What gradc imports, some of it late: a file of the user's that is called so is found instead.
NEEDED = (
    "click", "flint", "gradc", "gradc_codegen", "gradc_ir", "llvmlite", "mpmath", "numpy",
    "optree", "scipy", "sympy",
)  # fmt: skip


def add_folder(folder: str | Path) -> None:
    """Have modules of a folder found: before all others, as Python does for a program's folder.

    Where one of them is called as a package that gradc needs, the folder comes last instead.
    """
    entry = str(folder)
    if any(_is_there(Path(entry), name) for name in NEEDED):
        sys.path[:] = [one for one in sys.path if (one or os.curdir) != (entry or os.curdir)]
        sys.path.append(entry)
    else:
        sys.path.insert(0, entry)


def module_name(path: Path) -> str:
    """Return what a file is called as a module: its name, unless another module is called so."""
    name = path.stem
    taken = name in NEEDED or name in sys.stdlib_module_names
    return f"{name}_of_{path.resolve().parent.name or 'user'}" if taken else name


def _is_there(folder: Path, name: str) -> bool:
    """Whether a folder has a module of this name, and is not where gradc itself lies."""
    found = next((one for one in (folder / f"{name}.py", folder / name / "__init__.py")
                  if one.is_file()), None)  # fmt: skip
    if found is None:
        return False
    loaded = getattr(sys.modules.get(name), "__file__", None)
    return loaded is None or not os.path.samefile(found, loaded)
