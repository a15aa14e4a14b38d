"""A kernel as an external function of CasADi: the symbols by which it finds, asks and calls one.

CasADi calls ``int F(const double **arg, double **res, casadi_int *iw, double *w, int mem)`` and
asks ``F_n_in``, ``F_name_in``, ``F_sparsity_in`` and so on, where ``casadi_int`` is ``long long``.
Matrices are columns one after another; an argument that is NULL is zero.
"""

from __future__ import annotations

from collections.abc import Sequence

from gradc_codegen.abi import Signature
from gradc_codegen.text.c_text import c_text
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.types import Array


class Matrix(NamedTuple):
    """One input or output as CasADi knows it.

    Parameters
    ----------
    name: of it.
    rows, columns: how many.
    is_empty: whether all of its elements are zeros that are not stored.
    places: of a sparse one where each column begins, and the end, then the row of each element.
    """

    name: str
    rows: int
    columns: int
    is_empty: bool = False
    places: tuple[Array, Array] | None = None


class External(NamedTuple):
    """One function of CasADi over a kernel.

    Parameters
    ----------
    name: the symbol that CasADi looks for.
    kernel: the C function that computes it.
    signature: its arguments, which have no sizes.
    inputs, outputs: as CasADi knows them.
    taken: which inputs the kernel takes, in its order.
    made: which outputs the kernel makes, in its order.
    """

    name: str
    kernel: str
    signature: Signature
    inputs: Sequence[Matrix]
    outputs: Sequence[Matrix]
    taken: Sequence[int]
    made: Sequence[int]


_QUESTIONS = ("n_in", "n_out", "name_in", "name_out", "sparsity_in", "sparsity_out", "work")


def symbols(name: str) -> tuple[str, ...]:
    """Return what CasADi looks for of a function."""
    return (name, *(f"{name}_{question}" for question in _QUESTIONS))


def external_text(external: External) -> str:
    """Return the LLVM text of all symbols of a function."""
    name = external.name
    parts = [
        _call(external),
        _count(f"{name}_n_in", len(external.inputs)),
        _count(f"{name}_n_out", len(external.outputs)),
    ]
    for side, matrices in (("in", external.inputs), ("out", external.outputs)):
        parts += [
            _table(f"{name}_name_{side}", [c_text(matrix.name) for matrix in matrices]),
            _table(f"{name}_sparsity_{side}", [_pattern(matrix) for matrix in matrices]),
        ]
    return "\n".join(parts)


def _call(external: External) -> str:
    lines: list[str] = []
    values: list[str] = []
    longest = 1
    for position, argument in zip(external.taken, external.signature.inputs):
        matrix = external.inputs[position]
        longest = max(longest, matrix.rows * matrix.columns)
        lines += [
            f"  %in{position}.at = getelementptr ptr, ptr %arg, i64 {position}",
            f"  %in{position}.given = load ptr, ptr %in{position}.at",
            f"  %in{position}.none = icmp eq ptr %in{position}.given, null",
            f"  %in{position} = select i1 %in{position}.none, ptr @casadi.zeros, "
            f"ptr %in{position}.given",
        ]
        if argument.by_value:
            lines.append(f"  %number{position} = load double, ptr %in{position}")
            values.append(f"double %number{position}")
        else:
            values.append(f"ptr %in{position}")
    for position in external.made:
        lines += [
            f"  %out{position}.at = getelementptr ptr, ptr %res, i64 {position}",
            f"  %out{position} = load ptr, ptr %out{position}.at",
        ]
        values.append(f"ptr %out{position}")
    types = ", ".join(argument.llvm for argument in external.signature.arguments)
    body = "\n".join(lines)
    return f"""declare i32 @"{external.kernel}"({types})
declare i64 @"{external.kernel}_worksize"()
@casadi.zeros = internal constant [{longest} x double] zeroinitializer, align 64

define signext i32 @"{external.name}"(ptr %arg, ptr %res, ptr %iw, ptr %w, i32 signext %mem) {{
{body}
  %status = call i32 @"{external.kernel}"({", ".join([*values, "ptr %w"])})
  ret i32 %status
}}

define signext i32 @"{external.name}_work"(ptr %args, ptr %ress, ptr %iws, ptr %ws) {{
entry:
  %bytes = call i64 @"{external.kernel}_worksize"()
  %more = add i64 %bytes, 7
  %count = udiv i64 %more, 8
{_stored("args", str(len(external.inputs)))}
{_stored("ress", str(len(external.outputs)))}
{_stored("iws", "0")}
{_stored("ws", "%count")}
  ret i32 0
}}
"""


def _stored(place: str, value: str) -> str:
    """Return the text that stores a number where the place is not NULL."""
    return f"""  %{place}.none = icmp eq ptr %{place}, null
  br i1 %{place}.none, label %after.{place}, label %store.{place}
store.{place}:
  store i64 {value}, ptr %{place}
  br label %after.{place}
after.{place}:"""


def _count(name: str, count: int) -> str:
    return f'define i64 @"{name}"() {{\n  ret i64 {count}\n}}\n'


def _table(name: str, values: Sequence[tuple[str, str]]) -> str:
    """Return the text of a function from a position to a constant; NULL for any other position."""
    lines = []
    cases = []
    blocks = []
    for position, (type_, value) in enumerate(values):
        place = f'@"{name}.{position}"'
        lines.append(f"{place} = private unnamed_addr constant {type_} {value}")
        cases.append(f"    i64 {position}, label %case{position}")
        blocks.append(f"case{position}:\n  ret ptr {place}")
    return "\n".join(
        [
            *lines,
            f'define ptr @"{name}"(i64 %i) {{',
            "  switch i64 %i, label %none [",
            *cases,
            "  ]",
            *blocks,
            "none:\n  ret ptr null\n}\n",
        ]
    )


def _pattern(matrix: Matrix) -> tuple[str, str]:
    """Return a pattern: its size, then 1 where it is dense, or where columns start, and rows."""
    if matrix.is_empty:
        numbers = [matrix.rows, matrix.columns, *[0] * (matrix.columns + 1)]
    elif matrix.places is not None:
        starts, rows = matrix.places
        numbers = [matrix.rows, matrix.columns, *starts.tolist(), *rows.tolist()]
    else:
        numbers = [matrix.rows, matrix.columns, 1]
    return f"[{len(numbers)} x i64]", f"[{', '.join(f'i64 {number}' for number in numbers)}]"
