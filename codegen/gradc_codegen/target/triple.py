"""The names of targets, in the one spelling that LLVM reads as it is meant.

LLVM reads a triple by position: of ``x86_64-windows-gnu``, as of anything that it does not know
where it stands, it silently takes what is left, and writes ELF for no system. Compilers therefore
put the parts in order first, as is done here (``llvm::Triple::normalize``).
"""

from __future__ import annotations

import functools
import re

from gradc_ir.classes.named import NamedTuple
from gradc_ir.errors import ExportError

# What is not of this machine is read rarely, so these are texts until then.
_SYSTEMS = (
    r"(linux|windows|win32|mingw32|cygwin|darwin|macosx|macos|ios|tvos|watchos|xros|visionos|"
    r"driverkit|freebsd|netbsd|openbsd|dragonfly|kfreebsd|solaris|illumos|haiku|hurd|fuchsia|"
    r"managarm|aix|zos|rtems|nacl|wasip\d|wasi|emscripten|uefi|serenity|lv2|ps4|ps5|elfiamcu|"
    r"nto|qnx|zephyr)[\d.]*"
)
_ENVIRONMENTS = (
    r"(gnu|musl|eabihf|eabi|android|msvc|cygnus|itanium|coreclr|simulator|macabi|ohos|llvm|"
    r"elf|coff|macho|wasm)\w*[\d.]*"
)
# what other names of systems mean, with an environment
_OTHER_NAMES = {
    "mingw32": ("windows", "gnu"),
    "win32": ("windows", ""),
    "cygwin": ("windows", "cygnus"),
}

# Processors that C programs run on. For others, such as those of graphics cards, LLVM writes no
# object file, or one that no linker joins to a program.
_PROCESSORS = (
    r"x86_64h?|amd64|i[3-9]86|aarch64(_32)?|arm64(e|_32)?|(arm|thumb)(v\d\w*(\.\w+)*)?|"
    r"riscv(32|64)|wasm(32|64)|powerpc64le|ppc64le|loongarch64|mips64el|mipsel"
)
_SAME_PROCESSOR = {"amd64": "x86_64", "ppc64le": "powerpc64le"}


class Triple(NamedTuple):
    """The parts of a triple; ``environment`` may be empty."""

    architecture: str
    vendor: str
    system: str
    environment: str

    def __str__(self) -> str:
        return "-".join(part for part in self if part)


@functools.cache
def normalised(text: str) -> str:
    """Return a triple with its parts in order: processor, vendor, system, environment.

    Raises
    ------
    ExportError: a part is no system, or the processor is none that C programs run on.
    """
    architecture, *rest = text.split("-")
    architecture = _SAME_PROCESSOR.get(architecture, architecture)
    if not re.fullmatch(_PROCESSORS, architecture):
        raise ExportError(
            f"no kernels are written for {architecture!r}, of the target {text!r}",
            help=f"name a processor that C programs run on; {HELP}",
        )
    system = environment = ""
    vendors: list[str] = []
    for part in rest:
        if not system and re.fullmatch(_SYSTEMS, part):
            system = part
        elif not environment and re.fullmatch(_ENVIRONMENTS, part):
            environment = part
        elif part == "none" and not system and not environment:
            system = part
        elif part not in ("unknown", "none", ""):
            vendors.append(part)
    if system in _OTHER_NAMES:
        system, other = _OTHER_NAMES[system]
        environment = environment or other
    if system.startswith("windows") and not environment:
        environment = "msvc"
    known = vendors in ([], ["pc"], ["apple"], ["w64"])
    if len(vendors) > 1 or (not known and system in ("", "none")):
        raise ExportError(f"no system is called {vendors[-1]!r}, of the target {text!r}", help=HELP)
    vendor = vendors[0] if vendors else "unknown"
    made = Triple(architecture, vendor, system or "unknown", environment)
    return str(made)


HELP = (
    "write it like x86_64-unknown-linux-gnu, aarch64-apple-darwin, x86_64-w64-windows-gnu, "
    "thumbv7em-none-eabihf or wasm32-unknown-unknown"
)
