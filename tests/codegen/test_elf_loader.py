"""Object files linked without LLVM: they do what they do when LLVM links them, or are refused."""

from __future__ import annotations

import ctypes
import math
import os
import sys

import pytest

from gradc_codegen.machine import elf_loader, jit, llvm_loader
from gradc_codegen.machine.machine_code import machine_code
from gradc_ir.errors import VerifyError

linux = pytest.mark.skipif(
    not sys.platform.startswith("linux") or os.uname().machine != "x86_64",
    reason="is for Linux on x86-64",
)
pytestmark = linux

# imports, calls between functions, tables of addresses and of numbers, jumps by a table, variables
TEXT = """
@count = internal global i64 40
@unset = internal global [3000 x i64] zeroinitializer
@table = internal constant [2 x ptr] [ptr @one, ptr @two]
@weights = internal constant [3 x double] [double 1.5, double 2.5, double 3.5]

declare double @sin(double)
declare ptr @memmove(ptr, ptr, i64)
declare double @given(double)

define double @one(double %x) {
  %y = call double @sin(double %x)
  ret double %y
}

define double @two(double %x) {
  %y = call double @given(double %x)
  ret double %y
}

define double @by_table(i64 %k, double %x) {
  %at = getelementptr ptr, ptr @table, i64 %k
  %function = load ptr, ptr %at
  %y = call double %function(double %x)
  ret double %y
}

define double @weight(i64 %k) {
  %at = getelementptr double, ptr @weights, i64 %k
  %y = load double, ptr %at
  ret double %y
}

define i64 @next() {
  %old = load i64, ptr @count
  %new = add i64 %old, 1
  store i64 %new, ptr @count
  %at = getelementptr i64, ptr @unset, i64 2999
  %zero = load i64, ptr %at
  store i64 %zero, ptr @unset
  %sum = add i64 %new, %zero
  ret i64 %sum
}

define ptr @address() {
  ret ptr @memmove
}

define i64 @jump(i64 %k) {
  switch i64 %k, label %rest [
    i64 0, label %a
    i64 1, label %b
    i64 2, label %c
    i64 3, label %d
    i64 4, label %e
  ]
a:
  %x = call i64 @next()
  ret i64 %x
b:
  ret i64 -7
c:
  %p = ptrtoint ptr @one to i64
  ret i64 %p
d:
  ret i64 99
e:
  ret i64 123456789
rest:
  ret i64 -1
}
"""
REAL = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
GIVEN = REAL(lambda x: 3.0 * x)
GIVEN_AT = ctypes.cast(GIVEN, ctypes.c_void_p).value
NAMES = ("one", "two", "by_table", "weight", "next", "address", "jump")


def address_of(name: str) -> int | None:
    return GIVEN_AT if name == "given" else jit._of_process(name)


@pytest.mark.parametrize("linker", ["own", "LLVM's"])
def test_all_that_kernels_refer_to(linker: str) -> None:
    code = machine_code(TEXT).object()
    assert GIVEN_AT is not None
    if linker == "own":
        own = elf_loader.load(code, address_of)
        found, keep = own.addresses, own.memory
    else:
        library = llvm_loader.load(code, NAMES, {"given": GIVEN_AT})
        found, keep = library.addresses, library
    assert sorted(found) == sorted(NAMES)
    assert REAL(found["one"])(1.0) == math.sin(1.0)
    assert REAL(found["two"])(5.0) == 15.0
    by_table = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64, ctypes.c_double)(found["by_table"])
    assert [by_table(k, 2.0) for k in range(2)] == [math.sin(2.0), 6.0]
    weight = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(found["weight"])
    assert [weight(k) for k in range(3)] == [1.5, 2.5, 3.5]
    jump = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(found["jump"])
    assert [jump(k) for k in (0, 0, 1, 3, 4, 5)] == [41, 42, -7, 99, 123456789, -1]
    assert REAL(jump(2))(1.0) == math.sin(1.0)
    at = ctypes.CFUNCTYPE(ctypes.c_void_p)(found["address"])()
    assert at == jit._of_process("memmove")
    assert keep


def test_memory_is_never_written_and_run() -> None:
    loaded = elf_loader.load(machine_code(TEXT).object(), address_of)
    start, end = loaded.memory.address, loaded.memory.address + len(loaded.memory.bytes)
    uses = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            first, last = (int(each, 16) for each in line.split()[0].split("-"))
            if first < end and start < last:
                uses.append(line.split()[1])
    assert uses == ["r-xp", "r--p", "rw-p"]


def test_a_child_has_variables_of_its_own() -> None:
    loaded = elf_loader.load(machine_code(TEXT).object(), address_of)
    count = ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.addresses["next"])
    assert count() == 41
    child = os.fork()
    if not child:
        os._exit(count())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
    assert count() == 42


def test_all_that_is_missing_is_named() -> None:
    text = (
        "declare double @nobody(double)\ndeclare double @nowhere(double)\n"
        "define double @f(double %x) {\n  %y = call double @nobody(double %x)\n"
        "  %z = call double @nowhere(double %y)\n  ret double %z\n}\n"
    )
    with pytest.raises(VerifyError) as raised:
        jit.load_object(machine_code(text).object(), ("f",))
    assert raised.value.what == "the code calls a function this process does not have"
    assert [*raised.value.found] == ["nobody", "nowhere"]


LOCAL = "@x = thread_local global i64 0\ndefine ptr @f() {\n  ret ptr @x\n}\n"
FAR = "@environ = external dso_local global i64\ndefine ptr @f() {\n  ret ptr @environ\n}\n"
WEAK = "declare extern_weak double @g()\ndefine ptr @f() {\n  ret ptr @g\n}\n"


@pytest.mark.parametrize("text", [LOCAL, FAR, WEAK])
def test_what_is_not_known_is_left_to_llvm(text: str) -> None:
    with pytest.raises(elf_loader.Unfit):
        elf_loader.load(machine_code(text).object(), address_of)


@pytest.mark.parametrize("triple", ["aarch64-unknown-linux-gnu", "x86_64-pc-windows-msvc"])
def test_objects_of_other_machines(triple: str) -> None:
    code = machine_code("define i64 @f() {\n  ret i64 1\n}\n", triple=triple).object()
    with pytest.raises(elf_loader.Unfit):
        elf_loader.load(code, address_of)


def test_what_cannot_be_linked_is_linked_by_llvm(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> elf_loader.Loaded:
        raise elf_loader.Unfit

    monkeypatch.setattr(elf_loader, "load", refused)
    loaded = jit.compile_module("define i64 @f() {\n  ret i64 7\n}\n")
    assert ctypes.CFUNCTYPE(ctypes.c_int64)(loaded.address("f"))() == 7
