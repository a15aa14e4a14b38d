"""Machine code from text: bits, calls, speed, and what the optimiser must leave alone."""

from __future__ import annotations

import ctypes
import gc
import math
import random
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

from gradc_codegen.machine.jit import compile_module, load_object
from gradc_codegen.machine.machine_code import machine_code
from gradc_codegen.machine.optimize import (
    LARGE,
    LONG,
    SHORT,
    STRAIGHT,
    STRIDED,
    USUAL,
    effort,
    optimize,
    parse,
)
from gradc_codegen.target.target import host, target
from gradc_ir.errors import ExportError, VerifyError

UNARY = """
declare double @{call}(double)
define double @f(double %x) {{
  %y = call double @{call}(double %x)
  ret double %y
}}
"""
# out[i] = x[i] * y[i] + z[i], and a left-to-right sum of x
LOOP = """
define double @f(ptr noalias %x, ptr noalias %y, ptr noalias %z, ptr noalias %out, i64 %n) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [0, %entry], [%k, %loop]
  %sum = phi double [0.0, %entry], [%next, %loop]
  %px = getelementptr double, ptr %x, i64 %i
  %py = getelementptr double, ptr %y, i64 %i
  %pz = getelementptr double, ptr %z, i64 %i
  %po = getelementptr double, ptr %out, i64 %i
  %vx = load double, ptr %px
  %vy = load double, ptr %py
  %vz = load double, ptr %pz
  %product = fmul double %vx, %vy
  %result = fadd double %product, %vz
  store double %result, ptr %po
  %next = fadd double %sum, %vx
  %k = add i64 %i, 1
  %more = icmp slt i64 %k, %n
  br i1 %more, label %loop, label %done
done:
  %total = phi double [0.0, %entry], [%next, %loop]
  ret double %total
}
"""
Real = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


def straight_line(operations: int, cut: int) -> str:
    """Return a module of scalar operations, with sin and exp, in functions of at most ``cut``."""
    choose = random.Random(0)
    lines = [f"declare double @{name}(double) willreturn memory(none)" for name in ("sin", "exp")]
    parts: list[str] = []
    while operations > 0:
        parts.append(f"@part{len(parts)}")
        lines.append(f"define internal void {parts[-1]}(ptr noalias %w) {{")
        values = [f"%v{i}" for i in range(32)]
        for i, value in enumerate(values):
            lines.append(f"  %p{i} = getelementptr double, ptr %w, i64 {i}")
            lines.append(f"  {value} = load double, ptr %p{i}")
        for i in range(min(cut, operations)):
            x, y = (values[-1 - choose.randrange(32)] for _ in range(2))
            operation = choose.choice(["sin", "exp", *["fadd", "fmul", "fsub"] * 3])
            if operation.startswith("f"):
                lines.append(f"  %t{i} = {operation} double {x}, {y}")
            else:
                lines.append(f"  %t{i} = call double @{operation}(double {x})")
            values.append(f"%t{i}")
        lines += [f"  store double {values[-1 - i]}, ptr %p{i}" for i in range(32)]
        lines += ["  ret void", "}"]
        operations -= cut
    lines.append("define void @f(ptr %w) {")
    lines += [f"  call void {part}(ptr %w)" for part in parts]
    lines += ["  ret void", "}"]
    return "\n".join(lines)


@pytest.mark.parametrize("name", ["sin", "exp", "expm1", "log1p", "tanh"])
def test_libm_is_found_in_this_process(name: str) -> None:
    code = compile_module(UNARY.format(call=name))
    assert code.names == ("f",)
    assert Real(code.address("f"))(0.75) == getattr(math, name)(0.75)


def test_a_library_function_of_a_constant_stays_a_call() -> None:
    text = UNARY.format(call="sin").replace("double %x)\n  ret", "double 1.0)\n  ret")
    assert "call double @sin" in str(machine_code(text).module)


def test_elementwise_loops_are_vectorised_and_sums_are_not_reassociated() -> None:
    elementwise = LOOP.replace("%next = fadd double %sum, %vx", "%next = fadd double %vx, 0.0")
    assert "fmul <4 x double>" in str(machine_code(elementwise).module)
    assert "vector.reduce" not in str(machine_code(LOOP).module)
    rng = np.random.default_rng(0)
    x, y, z = rng.normal(size=(3, 1001)) * 10.0 ** rng.integers(-8, 8, (3, 1001))
    out = np.empty(1001)
    code = compile_module(LOOP)
    kernel = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_void_p] * 4, ctypes.c_int64)
    total = kernel(code.address("f"))(*(a.ctypes.data for a in (x, y, z, out)), 1001)
    assert out.tobytes() == (x * y + z).tobytes()
    expected = 0.0
    for term in x:
        expected += term
    assert total == expected


def test_neighbours_are_never_fused() -> None:
    assembly = machine_code(LOOP).assembly()
    assert "vmulsd" in assembly
    assert "fmadd" not in assembly


def test_a_zero_loop_does_not_become_memset() -> None:
    zeros = LOOP.replace("store double %result", "store double 0.0")
    assert "memset" not in machine_code(zeros).assembly()


def strided(strides: int) -> str:
    """Return a loop that sums what lies at so many multiples of its index, for sizes as strides."""
    sizes = "".join(f", i64 %s{k}" for k in range(strides))
    terms = "".join(
        f"  %m{k} = mul nsw i64 %i, %s{k}\n"
        f"  %p{k} = getelementptr double, ptr %x, i64 %m{k}\n"
        f"  %v{k} = load double, ptr %p{k}\n"
        f"  %t{k + 1} = fadd double %t{k}, %v{k}\n"
        for k in range(strides)
    )
    return f"""
define double @f(ptr %x, i64 %n{sizes}) {{
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%k, %loop]
  %t0 = phi double [0.0, %entry], [%t{strides}, %loop]
{terms}  %k = add i64 %i, 1
  %more = icmp slt i64 %k, %n
  br i1 %more, label %loop, label %done
done:
  ret double %t{strides}
}}
"""


def test_addresses_of_many_strides_are_left_as_they_are() -> None:
    assert effort([strided(40)]) == USUAL
    assert effort([strided(41)]) == STRIDED


def test_strength_reduction_is_off_for_one_module_only() -> None:
    def code(how):
        machine_of = target()
        return optimize(parse([strided(8)], machine_of, how), machine_of, how).object()

    usual = code(USUAL)
    assert code(STRIDED) != usual
    assert code(USUAL) == usual


def summing(sums: int) -> str:
    """Return a loop that carries so many sums of vectors."""
    vector = "<8 x double>"
    lines = [f"define void @f(ptr %x, i64 %n) {{\nentry:\n  %first = load {vector}, ptr %x"]
    lines += ["  br label %loop\nloop:\n  %i = phi i64 [0, %entry], [%j, %loop]"]
    lines += [f"  %s{k} = phi {vector} [%first, %entry], [%t{k}, %loop]" for k in range(sums)]
    for k in range(sums):
        lines += [
            f"  %m{k} = mul nsw i64 %i, {k + 3}",
            f"  %p{k} = getelementptr double, ptr %x, i64 %m{k}",
            f"  %v{k} = load {vector}, ptr %p{k}, align 8",
            f"  %t{k} = fadd {vector} %s{k}, %v{k}",
        ]
    lines += ["  %j = add i64 %i, 1\n  %more = icmp slt i64 %j, %n"]
    lines += ["  br i1 %more, label %loop, label %done\ndone:"]
    for k in range(sums):
        lines += [f"  %o{k} = getelementptr {vector}, ptr %x, i64 {k}"]
        lines += [f"  store {vector} %t{k}, ptr %o{k}, align 8"]
    return "\n".join([*lines, "  ret void\n}\n"])


@pytest.mark.parametrize(("cpu", "width"), [("x86-64-v4", 64), ("x86-64-v3", 32)])
def test_vectors_on_the_stack_cross_no_line_of_the_cache(cpu: str, width: int) -> None:
    triple = "x86_64-unknown-linux-gnu"
    assembly = machine_code(summing(40), cpu, triple).assembly()
    assert f"andq\t$-{width}, %rsp" in assembly
    assert re.search(r"vmova\w+\t%[yz]mm\d+, \d*\(%rsp\)", assembly)
    assert not re.search(r"vmovu\w+\t%[yz]mm\d+, \d*\(%rsp\)", assembly)
    # not where nothing is repeated, or callers align the stack to vectors
    assert "$-64, %rsp" not in machine_code(straight_line(100, 100), cpu, triple).assembly()
    aarch64 = machine_code(summing(40), triple="aarch64-unknown-linux-gnu").assembly()
    assert "and\tsp, " not in aarch64


def test_code_goes_with_its_object_and_not_before() -> None:
    functions = [
        compile_module(UNARY.format(call="sin").replace("%y\n", f"{i}.0\n")) for i in range(40)
    ]
    kept = functions[::2]
    del functions
    gc.collect()
    assert [Real(code.address("f"))(0.0) for code in kept] == list(range(0, 40, 2))


def test_an_object_file_loads_again() -> None:
    code = compile_module(UNARY.format(call="exp"))
    again = load_object(code.code, code.names)
    assert Real(again.address("f"))(1.0) == math.exp(1.0)


def test_names_that_are_not_defined() -> None:
    with pytest.raises(KeyError):
        compile_module(UNARY.format(call="exp")).address("g")


def test_faulty_text() -> None:
    with pytest.raises(VerifyError, match="LLVM refuses the text of a module"):
        compile_module("define double @f(double %x) {\n  ret float %x\n}")


def test_an_unknown_function_is_an_error_and_not_the_end_of_the_process() -> None:
    # LLVM writes the name on stderr, hence a process of its own
    program = f"""
from gradc_codegen.machine.jit import compile_module
from gradc_ir.errors import VerifyError
try:
    compile_module({UNARY.format(call="no_such_function")!r})
except VerifyError as error:
    print(error.what)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=_environment()
    )
    assert done.stdout == "the code calls a function this process does not have\n"


def test_threads_compile_at_once() -> None:
    found: dict[int, float] = {}

    def compile_one(i: int) -> None:
        code = compile_module(UNARY.format(call="sin").replace("%y\n", f"{i}.5\n"))
        found[i] = Real(code.address("f"))(0.0)

    threads = [threading.Thread(target=compile_one, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {i: i + 0.5 for i in range(8)}


def test_long_straight_line_code_compiles_fast() -> None:
    text = straight_line(40_000, 4_000)
    assert effort([text]) == LONG
    compile_module(text)


def test_long_code_is_emitted_as_it_is_written_but_for_math_functions() -> None:
    inner = "define internal double @gradc.half.f64(double %x) {\n  ret double %x\n}\n"
    text = inner + UNARY.format(call="gradc.half.f64").split("\n", 2)[2]
    for how in (LONG, STRAIGHT):
        made = str(parse([text], target(), how))
        groups = dict(re.findall(r"(?m)^attributes (#\d+) = \{(.*)\}$", made))
        names = re.findall(r"(?m)^define .*@(f|gradc\.half\.f64)\(.*(#\d+)", made)
        marked = {name: "optnone" in groups[group] for name, group in names}
        assert marked == {"f": how is LONG, "gradc.half.f64": False}


def test_code_without_loops_gets_less_effort() -> None:
    text = UNARY.format(call="sin")
    assert effort([text]) == SHORT
    assert effort([text, "\n" * 5_000]) == STRAIGHT
    assert effort([text, strided(1)]) == USUAL
    assert effort([text, strided(1) + "\n" * 9_000]) == LARGE  # what is long is beside the loop
    kernels = [strided(1) + "\n" * 3_000] * 4
    assert effort([text, *kernels]).pipeline == USUAL.pipeline  # none of many is long
    rare = strided(1).replace("define double @f(", "define internal double @rare(")
    assert effort([text + rare.replace(") {", ") noinline cold {")]) == SHORT


def test_long_code_with_loops_goes_through_few_passes() -> None:
    machine_of = target()
    text = """
define void @f(ptr %x, i64 %n) {
  %place = alloca double
  store double 0.0, ptr %place
  br label %loop
loop:
  %i = phi i64 [0, %0], [%j, %loop]
  %before = load double, ptr %place
  %after = fadd double %before, 1.0
  store double %after, ptr %place
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %done
done:
  %last = load double, ptr %place
  store double %last, ptr %x
  ret void
}
"""
    made = str(optimize(parse([text], machine_of, LARGE), machine_of, LARGE).module)
    assert " = phi double " in made
    assert "alloca" not in made


def test_very_many_optional_outputs_compile_fast() -> None:
    count = 1_000
    lines = [
        f"define void @f(double %x, {', '.join(f'ptr noalias %o{i}' for i in range(count))}) {{"
    ]
    for i in range(count):
        lines += [
            f"  %null{i} = icmp eq ptr %o{i}, null",
            f"  br i1 %null{i}, label %next{i}, label %store{i}",
            f"store{i}:",
            f"  store double %x, ptr %o{i}",
            f"  br label %next{i}",
            f"next{i}:",
        ]
    text = "\n".join([*lines, "  ret void", "}"])
    assert effort([text]) == LARGE  # 0.5 s; with LLVM's second level 5 s
    compile_module(text)


def test_targets() -> None:
    assert target("native") == host()
    assert target("x86-64-v3", "x86_64-unknown-linux-gnu").cpu == "x86-64-v3"
    assert target(triple="aarch64-unknown-linux-gnu").pointer_bits == 64
    assert target(triple="wasm32-unknown-unknown").pointer_bits == 32
    with pytest.raises(ExportError, match="LLVM knows no CPU 'i8008'"):
        target("i8008")
    with pytest.raises(ExportError, match="no kernels are written for 'pdp11'"):
        target(triple="pdp11-dec-unix")
    with pytest.raises(ExportError, match="cpu native is this machine's"):
        target("native", "aarch64-unknown-linux-gnu")


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
