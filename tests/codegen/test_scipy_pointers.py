"""SciPy's functions by their addresses: found for doubles, called from code, refused by name."""

from __future__ import annotations

import ctypes

import pytest
import scipy.special

from gradc_codegen.libraries.scipy_pointers import SYMBOL, address
from gradc_codegen.machine.jit import compile_module, load_object
from gradc_codegen.math import scipy_words

TEXT = """
declare double @gradc_scipy_erfcx(double, i32)
declare double @gradc_scipy_betaln(double, double, i32)
define double @f(double %x, double %y) {
  %a = call double @gradc_scipy_erfcx(double %x, i32 0)
  %b = call double @gradc_scipy_betaln(double %x, double %y, i32 0)
  %c = fadd double %a, %b
  ret double %c
}
"""


def test_a_function_with_two_results_has_an_address() -> None:
    pointer = ctypes.POINTER(ctypes.c_double)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_double, pointer, pointer)
    first, second = ctypes.c_double(), ctypes.c_double()
    kind(address("sici"))(1.5, first, second)
    assert (first.value, second.value) == scipy.special.sici(1.5)


@pytest.mark.parametrize("word", sorted(scipy_words._SCIPY))
def test_every_function_has_an_address(word: str) -> None:
    name = scipy_words.scipy_name(word)
    assert name is not None
    operands = scipy_words.scipy_operands(word)
    kind = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * operands, ctypes.c_int)
    args = (0.7,) * operands
    assert kind(address(name))(*args, 0) == getattr(scipy.special, name)(*args)


def test_an_unknown_function_is_refused_by_name() -> None:
    with pytest.raises(LookupError, match="no function airy of doubles"):
        address("airy")


def test_code_that_calls_them_can_be_loaded_twice() -> None:
    code = compile_module(TEXT)
    assert set(SYMBOL.findall(code.code)) == {b"gradc_scipy_betaln", b"gradc_scipy_erfcx"}
    again = load_object(code.code, code.names)
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_double)
    want = scipy.special.erfcx(1.5) + scipy.special.betaln(1.5, 2.5)
    assert [kind(one.address("f"))(1.5, 2.5) for one in (code, again)] == [want, want]
