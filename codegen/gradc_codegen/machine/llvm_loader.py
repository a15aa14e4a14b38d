"""Object files loaded into this process by LLVM's linker, of whatever format they are."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence

from gradc_codegen.target.bindings import llvm
from gradc_codegen.target.llvm_lock import uses_llvm
from gradc_codegen.target.target import target
from gradc_ir.classes.named import NamedTuple


class Library(NamedTuple):
    """Code in memory, which goes with ``code``; the engine must not go before."""

    code: llvm.ResourceTracker
    engine: llvm.LLJIT
    addresses: Mapping[str, int]


@uses_llvm
def load(code: bytes, names: Sequence[str], addresses: Mapping[str, int]) -> Library:
    """Return an object file's functions, loaded into this process.

    Parameters
    ----------
    names: the functions it defines for others.
    addresses: where functions are that no library of the process has by their names.

    Raises
    ------
    RuntimeError: it calls another that the process does not have; LLVM writes its name on stderr.
    """
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    for name in names:
        builder.export_symbol(name)
    for symbol, address in addresses.items():
        builder.import_symbol(symbol, address)
    engine = _engine()
    library = builder.link(engine, f"gradc.{next(_serial)}")
    return Library(library, engine, {name: int(library[name]) for name in names})


_serial = itertools.count()

# LLVM frees the code of a library that goes, and keeps 9 KiB of its name and symbols for as long as
# the engine lives. So an engine loads a few and goes with the last of them; to make one takes 1 ms.
_MOST_LIBRARIES = 32
_engines: list[llvm.LLJIT] = []  # the one that loads, each library of which goes by itself
_places = itertools.cycle(range(_MOST_LIBRARIES))


def _engine() -> llvm.LLJIT:
    """Return the engine for one more library."""
    if next(_places) == 0:
        host = target("native")
        # LLVM's newer linker keeps a library's sections together, which small code needs
        made = llvm.create_lljit_compiler(host.machine(), use_jit_link=sys.platform != "win32")
        _engines[:] = [made]
    return _engines[0]
