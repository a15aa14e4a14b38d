"""What build tools want beside a kernel: a file for pkg-config, one for CMake."""

from __future__ import annotations

from gradc.runtime.export import Written
from gradc_ir import __version__


def build_files(written: Written) -> dict[str, str]:
    """Return ``name.pc`` and ``nameConfig.cmake``, by their names.

    Both find the kernel in the folder that they are in, wherever that is.
    """
    return {
        f"{written.name}.pc": _pkg_config(written),
        f"{written.name}Config.cmake": _cmake(written),
    }


def _pkg_config(written: Written) -> str:
    name, library = written.name, written.library
    is_library = library.startswith("lib") and library.endswith((".a", ".so", ".dylib"))
    own = f"-L${{prefix}} -l{name}" if is_library else f"${{prefix}}/{library}"
    functions = ", ".join(one.name for one in written.exported)
    return "\n".join(
        [
            "prefix=${pcfiledir}",
            "",
            f"Name: {name}",
            f"Description: {functions}, for {written.target.triple} / {written.target.cpu}",
            f"Version: {__version__}",
            "Cflags: -I${prefix}",
            " ".join([f"Libs: {own}", *written.flags]),
            "",
        ]
    )


def _cmake(written: Written) -> str:
    name, library = written.name, written.library
    kind = "OBJECT" if library.endswith(".o") else "STATIC"
    if library.endswith((".so", ".dylib", ".dll")):
        kind = "SHARED"
    place = f'"${{CMAKE_CURRENT_LIST_DIR}}/{library}"'
    located = "IMPORTED_OBJECTS" if kind == "OBJECT" else "IMPORTED_LOCATION"
    flags = ";".join(flag.removeprefix("-l") for flag in written.flags)
    interface = ['INTERFACE_INCLUDE_DIRECTORIES "${CMAKE_CURRENT_LIST_DIR}"']
    if flags:
        interface.append(f'INTERFACE_LINK_LIBRARIES "{flags}"')
    return "\n".join(
        [
            f"# find_package({name}) with {name}_DIR set to this folder, then",
            f"# target_link_libraries(program {name}::{name})",
            f"if(NOT TARGET {name}::{name})",
            f"  add_library({name}::{name} {kind} IMPORTED)",
            f"  set_target_properties({name}::{name} PROPERTIES",
            f"    {located} {place}",
            *(f"    {line}" for line in interface),
            "  )",
            "endif()",
            "",
        ]
    )
