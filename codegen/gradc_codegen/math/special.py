"""Words that SciPy computes, as bodies of small functions: widened to double, called, rounded."""

from __future__ import annotations

from gradc_codegen.libraries.scipy_pointers import PREFIX
from gradc_codegen.math import zeta
from gradc_codegen.math.functions import is_emitted, reference
from gradc_codegen.math.scipy_words import (
    FIRST_ORDERS,
    scipy_name,
    scipy_operands,
    scipy_result,
)
from gradc_codegen.text.module import Module
from gradc_ir.core.types import DType

_ATTRIBUTES = "nounwind willreturn memory(none)"


def declare(module: Module, word: str) -> None:
    """Declare, or define, what a word's body calls."""
    if word == "math.zeta":
        reference(module, "math.pow", DType.F64)
    for order in FIRST_ORDERS.get(word, ()):
        if is_emitted(order):
            reference(module, order, DType.F64)
    for line in _declarations(word):
        module.declare(line)


def _declarations(word: str) -> list[str]:
    if word == "math.zeta":
        return list(zeta.DECLARATIONS)
    if scipy_result(word) is not None:
        return [f"declare void @{PREFIX}{scipy_name(word)}(double, ptr, ptr) nounwind willreturn"]
    return [
        f"declare double @{PREFIX}{scipy_name(called)}"
        f"({'double, ' * scipy_operands(called)}i32) {_ATTRIBUTES}"
        for called in (word, *FIRST_ORDERS.get(word, ()))
        if not is_emitted(called)
    ]


def body(word: str, dtype: DType) -> tuple[str, str]:
    """Return the parameters and the body of a word's function."""
    if word == "math.zeta":
        return _zeta(dtype)
    names = ["a", "b", "c"][: scipy_operands(word)]
    lines, wide = [], list(names)
    if dtype is DType.F32:
        wide = [f"{name}.wide" for name in names]
        lines = [f"%{w} = fpext float %{name} to double" for w, name in zip(wide, names)]
    if scipy_result(word) is not None:
        lines += _of_pair(word, wide[0], dtype)
        return " ".join(names), _text(lines)
    if word not in FIRST_ORDERS:
        lines += _returned(word, wide, dtype, "general")
        return " ".join(names), _text(lines)
    order, x = wide
    zeroth, first = FIRST_ORDERS[word]
    lines += [
        f"%is.zeroth = fcmp oeq double %{order}, 0.0",
        "br i1 %is.zeroth, label %zeroth, label %above",
        "above:",
        f"%is.first = fcmp oeq double %{order}, 1.0",
        "br i1 %is.first, label %first, label %general",
        "zeroth:",
        *_returned(zeroth, [x], dtype, "at.zero"),
        "first:",
        *_returned(first, [x], dtype, "at.one"),
        "general:",
        *_returned(word, wide, dtype, "at.order"),
    ]
    return " ".join(names), _text(lines)


def _zeta(dtype: DType) -> tuple[str, str]:
    if dtype is DType.F64:
        return "s q", f"{zeta.body()}\n  ret double %result"
    widened = [f"  %{name} = fpext float %{name}.given to double" for name in ("s", "q")]
    narrowed = ["  %narrow = fptrunc double %result to float", "  ret float %narrow"]
    return "s.given q.given", "\n".join([*widened, zeta.body(), *narrowed])


def _of_pair(word: str, operand: str, dtype: DType) -> list[str]:
    lines = [
        "%first = alloca double",
        "%second = alloca double",
        f"call void @{PREFIX}{scipy_name(word)}(double %{operand}, ptr %first, ptr %second)",
        f"%result = load double, ptr %{('first', 'second')[scipy_result(word) or 0]}",
    ]
    if dtype is DType.F64:
        return [*lines, "ret double %result"]
    return [*lines, "%narrow = fptrunc double %result to float", "ret float %narrow"]


def _returned(word: str, operands: list[str], dtype: DType, result: str) -> list[str]:
    arguments = [f"double %{operand}" for operand in operands]
    if is_emitted(word):
        function = f"gradc.{word.removeprefix('math.')}.f64"
    else:
        function = f"{PREFIX}{scipy_name(word)}"
        arguments.append("i32 0")
    call = f"%{result} = call double @{function}({', '.join(arguments)})"
    if dtype is DType.F64:
        return [call, f"ret double %{result}"]
    narrowed = f"%{result}.narrow = fptrunc double %{result} to float"
    return [call, narrowed, f"ret float %{result}.narrow"]


def _text(lines: list[str]) -> str:
    return "\n".join(line if line.endswith(":") else f"  {line}" for line in lines)
