"""Shared libraries: made of object files by a linker of this machine."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from gradc_codegen.target.target import Target, host
from gradc_ir.errors import ExportError


def library_name(name: str, target: Target) -> str:
    """Return what the file of a shared library is called on a target."""
    match target.format:
        case "coff":
            return f"{name}.dll"
        case "mach-o":
            return f"lib{name}.dylib"
        case "wasm":
            return f"{name}.wasm"
    return f"lib{name}.so"


def shared_library(
    code: bytes, name: str, target: Target, exported: Sequence[str], flags: Sequence[str] = ()
) -> bytes:
    """Return the bytes of a shared library made of an object file.

    Parameters
    ----------
    exported: the symbols that callers see.
    flags: what else is linked, such as ``-lblas``.

    Raises
    ------
    ExportError: there is no linker for the target here, or it refuses the object file.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / f"{name}.o").write_bytes(code)
        library = library_name(name, target)
        tried = []
        for command in _commands(name, library, target, exported):
            if shutil.which(command[0]) is None:
                tried.append(command[0])
                continue
            done = subprocess.run(
                [*command, *flags], cwd=folder, capture_output=True, text=True, errors="replace"
            )
            if done.returncode:
                told = [line for line in done.stderr.splitlines() if line.strip()]
                raise ExportError(
                    f"{command[0]} makes no shared library of {name}.o",
                    found=told[-3:] or f"it ended with {done.returncode}",
                    help='link="object" writes what it was given, to be linked by hand',
                )
            return (folder / library).read_bytes()
    raise ExportError(
        f"a shared library of {name} needs a linker for {target.triple}, and there is none here",
        found=f"looked for {', '.join(dict.fromkeys(tried))}",
        help="install a C compiler (cc) or LLVM's linker (ld.lld, of the package lld); or write "
        'link="static" or link="object", which need none',
    )


def _commands(
    name: str, library: str, target: Target, exported: Sequence[str]
) -> Iterator[list[str]]:
    """Yield how a linker may be called, those that know more of the target first."""
    made = ["-o", library, f"{name}.o"]
    architecture = target.architecture
    match target.format:
        case "wasm":
            # Hosts put arrays where the module's own data end.
            shown = [f"--export={symbol}" for symbol in (*exported, "__heap_base")]
            yield ["wasm-ld", "--no-entry", "--stack-first", *shown, *made]
        case "coff":
            prefix = {"x86_64": "x86_64", "i86": "i686", "aarch64": "aarch64"}.get(architecture)
            yield [f"{prefix or architecture}-w64-mingw32-gcc", "-shared", "-nostdlib", *made]
            machine = {"x86_64": "i386pep", "i86": "i386pe", "aarch64": "arm64pe"}
            entry = ["--entry=0"] if architecture == "x86_64" else ["--no-entry"]
            options = ["-m", machine.get(architecture, architecture), "-shared", *entry]
            yield ["ld.lld", *options, *made]
        case "mach-o":
            if host().format == "mach-o" and target.architecture == host().architecture:
                yield ["cc", "-dynamiclib", *made]
            arch = "arm64" if architecture in ("arm64", "aarch64") else "x86_64"
            platform = ["-platform_version", "macos", "11.0", "11.0"]
            options = ["-arch", arch, *platform, "-undefined", "dynamic_lookup"]
            yield ["ld64.lld", "-dylib", *options, "-install_name", f"@rpath/{library}", *made]
        case _:
            soname = f"-soname={library}"
            if _same_machine(target):
                yield ["cc", "-shared", f"-Wl,{soname}", *made]
            else:
                yield [f"{_gnu_name(target)}-gcc", "-shared", "-nostdlib", f"-Wl,{soname}", *made]
            yield ["ld.lld", "-shared", soname, *made]


def _same_machine(target: Target) -> bool:
    mine = host()
    return target.format == mine.format and target.architecture == mine.architecture


def _gnu_name(target: Target) -> str:
    """Return how cross compilers of GNU call a machine: aarch64-linux-gnu."""
    parts = target.triple.split("-")
    return "-".join([re.sub(r"^i[3-9]86$", "i686", parts[0]), *parts[2:]])
