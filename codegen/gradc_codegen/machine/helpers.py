"""What an object file needs of the compiler's own library, for want of an instruction."""

from __future__ import annotations

import re

# Symbols stand in the string tables of all formats as they are. Those of libgcc and compiler-rt:
# arithmetic and comparison of floats, conversions, arithmetic of wide integers; those of ARM's ABI;
# copies and zeros, which LLVM writes for large ones.
_HELPER = re.compile(
    rb"(?<![A-Za-z0-9_.])_?("
    rb"__(?:add|sub|mul|div|neg|eq|ne|lt|le|gt|ge|unord|cmp|powi)[hsdxtk]f[23]"
    rb"|__(?:fix|fixuns|float|floatun|floatuns|extend|trunc)[hsdxtk][fi][hsdxtk][fi]2?"
    rb"|__(?:u?div|u?mod|u?divmod|mul|mulo|ashl|ashr|lshr|u?cmp|clz|ctz|popcount)[sdt]i[234]"
    rb"|__aeabi_[a-z0-9_]+|__gnu_[a-z0-9_]+_ieee|__riscv_[a-z0-9_]+"
    rb"|mem(?:cpy|set|move)"
    rb")(?![A-Za-z0-9_])"
)


def helpers_in(code: bytes) -> tuple[str, ...]:
    """Return which functions of the compiler's library an object file names, in order."""
    return tuple(sorted({name.decode() for name in _HELPER.findall(code)}))
