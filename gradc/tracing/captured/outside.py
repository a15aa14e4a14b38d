"""What reads or writes outside of the program: a clock, a file, the environment, random numbers.

Of Python's library the list is of what does nothing of the kind, so that what is new is kept out.
"""

from __future__ import annotations

import sys

# Modules whose functions compute with their arguments alone.
_PURE = frozenset({
    "__future__", "_abc", "_collections", "_collections_abc", "_functools", "_operator", "abc",
    "bisect", "builtins", "cmath", "collections", "contextlib", "copy", "dataclasses", "enum",
    "fractions", "functools", "heapq", "itertools", "math", "numbers", "operator", "re", "reprlib",
    "statistics", "string", "textwrap", "types", "typing",
})  # fmt: skip
# Of Python's builtins, those that look at more than their arguments.
_BUILTINS = frozenset({
    "__import__", "breakpoint", "compile", "copyright", "credits", "dir", "eval",
    "exec", "exit", "globals", "hash", "help", "id", "input", "license", "locals", "memoryview",
    "open", "quit", "vars",
})  # fmt: skip
# Names of attributes by which code reaches what is not seen through the lens.
HIDDEN = frozenset({
    "__builtins__", "__closure__", "__code__", "__dict__", "__globals__", "__loader__",
    "__subclasses__", "f_back", "f_builtins", "f_globals", "f_locals", "gi_frame", "tb_frame",
})  # fmt: skip
# Names in NumPy of what reads files, clocks, or the state of the process.
_NUMPY = frozenset({
    "DataSource", "asanyarray_chkfinite", "datetime64", "fromfile", "fromregex", "genfromtxt",
    "get_include", "get_printoptions", "getbufsize", "geterr", "geterrcall", "info", "load",
    "loadtxt", "memmap", "open_memmap", "printoptions", "save", "savetxt", "savez",
    "savez_compressed", "set_printoptions", "setbufsize", "seterr", "seterrcall", "show_config",
    "show_runtime", "test",
})  # fmt: skip
_NUMPY_MODULES = ("numpy.random", "numpy.testing", "numpy.ctypeslib", "numpy.f2py", "numpy.lib")
# Modules of SciPy whose functions compute with their arguments alone.
_SCIPY = (
    "scipy.constants", "scipy.fft", "scipy.integrate", "scipy.interpolate", "scipy.linalg",
    "scipy.ndimage", "scipy.signal", "scipy.special",
)  # fmt: skip


def of_module(name: str) -> str:
    """Return why a module of Python's library is not asked while tracing; nothing where it may."""
    package = name.partition(".")[0]
    if package in sys.stdlib_module_names and package not in _PURE and package != "__main__":
        return f"it uses {name}, which reads or writes outside of the program"
    return ""


def is_recorded(module: str) -> bool:
    """Whether a module is NumPy's, SciPy's or Python's math, whose functions are recorded."""
    return module.partition(".")[0] in ("numpy", "scipy", "math")


def of_builtin(name: str) -> str:
    """Return why a builtin of Python's is not called while tracing; nothing where it may."""
    return f"it uses {name}()" if name in _BUILTINS else ""


def of_library(module: str, name: str) -> str:
    """Return why a function of NumPy or SciPy is not run while tracing; nothing where it may."""
    package = module.partition(".")[0]
    last = name.rpartition(".")[2]
    if package == "scipy" and not module.startswith(_SCIPY):
        return f"it runs {name} of {module} while tracing"
    if package == "numpy" and (last in _NUMPY or _below(module, _NUMPY_MODULES)):
        return f"it runs np.{name} while tracing"
    return ""


def _below(module: str, modules: tuple[str, ...]) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in modules)
