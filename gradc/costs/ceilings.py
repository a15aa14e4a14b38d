"""What this core can do at most: bytes read and written, multiply-adds, and exponentials a second.

The kernels that tell are LLVM text, so that no compiler has to be there.
"""

from __future__ import annotations

import ctypes
import functools
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gradc_codegen.compile_function import compile_function
from gradc_codegen.machine.jit import LoadedModule, compile_module
from gradc_ir import build
from gradc_ir.build import Builder
from gradc_ir.core.types import DType, Type

_CHAINS = 16
_STEPS = 1000
# A turn takes so long, and there are so many.
_TURN, _TURNS = 0.004, 9


@dataclass(frozen=True)
class Ceilings:
    """What a core does at most in a second.

    Parameters
    ----------
    bandwidth: bytes read, by the size of the array that is read again and again.
    triad: bytes moved by ``a = b + s * c``, three arrays of the largest of these sizes.
    flops: operations of multiply-adds, two each, by dtype.
    exponentials: of doubles, in a loop over an array.
    """

    bandwidth: dict[int, float]
    triad: float
    flops: dict[str, float]
    exponentials: float


def ceilings() -> Ceilings:
    """Return what this core does at most, measured now: half a second."""
    bandwidth = {size: size / seconds_to_move(size, 0) for size in (2**14, 2**18, 2**22, 2**27)}
    size = 2**25
    triad = _function("triad", size, size, size)
    moved = 3 * size / seconds_a_call(lambda calls: triad(calls, size))
    flops = {}
    for dtype, lanes in (("f64", 8), ("f32", 16)):
        multiply = _function(f"multiply_{dtype}", 64)
        operations = 2.0 * _CHAINS * lanes * _STEPS
        flops[dtype] = operations / seconds_a_call(multiply)
    return Ceilings(bandwidth, moved, flops, _exponentials())


def seconds_to_move(read: int, written: int) -> float:
    """Return how long it takes to read and write so many bytes, again and again."""
    run = _function("move", read, written, 64)
    return seconds_a_call(lambda calls: run(calls, read, written))


def seconds_a_call(run: Callable[[int], object]) -> float:
    """Return the seconds that one of many calls takes: the least of some turns.

    What other programs do meanwhile only makes turns longer.
    """
    calls = 1
    while True:
        begun = time.perf_counter()
        run(calls)
        taken = time.perf_counter() - begun
        if taken >= _TURN or calls > 2**40:
            break
        calls = max(2 * calls, min(int(calls * _TURN / max(taken, 1e-7)), 100 * calls))
    turns = []
    for _ in range(_TURNS):
        begun = time.perf_counter()
        run(calls)
        turns.append((time.perf_counter() - begun) / calls)
    return min(turns)


def _exponentials() -> float:
    """Return how many exponentials of doubles a kernel takes in a second."""
    count = 4096
    with Builder() as builder:
        x = builder.param(0, Type(DType.F64, (count,)))
        kernel = compile_function(builder.function("exponentials", [x], [build.exp(x)]))
    values = np.linspace(-10.0, 10.0, count)
    out = np.empty(count)
    call = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3)(kernel.address)
    places = values.ctypes.data, out.ctypes.data

    def run(calls: int) -> None:
        for _ in range(calls):
            call(*places, None)

    return count / seconds_a_call(run)


def _function(name: str, *bytes_: int) -> Callable[..., object]:
    """Return a function of the module with arrays of so many bytes; it takes calls and sizes."""
    address = _module().address(name)
    arrays = [np.ones(length // 8 + 16) for length in bytes_]  # each may begin in its first line
    places = [array.ctypes.data + -array.ctypes.data % 64 for array in arrays]

    def run(calls: int, *sizes: int) -> None:
        types = [ctypes.c_int64, *[ctypes.c_void_p] * len(places), *[ctypes.c_int64] * len(sizes)]
        ctypes.CFUNCTYPE(None, *types)(address)(calls, *places, *sizes)
        assert arrays

    return run


# -- the text --------------------------------------------------------------------------------------


@functools.cache
def _module() -> LoadedModule:
    return compile_module("\n".join([_move(), _triad(), _multiply("f64", 8), _multiply("f32", 16)]))


def _move() -> str:
    """Return reading, in eight chains of or, so that no load waits for another, and writing."""
    loads = "\n".join(
        f"""  %at{j} = getelementptr <8 x i64>, ptr %from, i64 {j}
  %word{j} = load volatile <8 x i64>, ptr %at{j}, align 8
  %next{j} = or <8 x i64> %sum{j}, %word{j}"""
        for j in range(8)
    )
    sums = "\n".join(
        f"  %sum{j} = phi <8 x i64> [ zeroinitializer, %call ], [ %next{j}, %read ]"
        for j in range(8)
    )
    ends = "\n".join(
        f"""  %end{j} = phi <8 x i64> [ zeroinitializer, %call ], [ %next{j}, %read ]
  store volatile <8 x i64> %end{j}, ptr %out, align 8"""
        for j in range(1)
    )
    stores = "\n".join(
        f"""  %to{j} = getelementptr <8 x i64>, ptr %target, i64 {j}
  store volatile <8 x i64> zeroinitializer, ptr %to{j}, align 8"""
        for j in range(4)
    )
    parameters = "i64 %calls, ptr %source, ptr %goal, ptr %out, i64 %bytes, i64 %written"
    return f"""define void @move({parameters}) {{
entry:
  br label %call
call:
  %number = phi i64 [ 0, %entry ], [ %later, %done ]
  %some = icmp sge i64 %bytes, 512
  br i1 %some, label %read, label %readout
read:
  %i = phi i64 [ 0, %call ], [ %i.next, %read ]
{sums}
  %from = getelementptr i8, ptr %source, i64 %i
{loads}
  %i.next = add i64 %i, 512
  %i.end = add i64 %i.next, 512
  %more = icmp sle i64 %i.end, %bytes
  br i1 %more, label %read, label %readout
readout:
{ends}
  %any = icmp sge i64 %written, 256
  br i1 %any, label %write, label %done
write:
  %k = phi i64 [ 0, %readout ], [ %k.next, %write ]
  %target = getelementptr i8, ptr %goal, i64 %k
{stores}
  %k.next = add i64 %k, 256
  %k.end = add i64 %k.next, 256
  %left = icmp sle i64 %k.end, %written
  br i1 %left, label %write, label %done
done:
  %later = add i64 %number, 1
  %again = icmp slt i64 %later, %calls
  br i1 %again, label %call, label %end
end:
  ret void
}}
"""


def _triad() -> str:
    steps = "\n".join(
        f"""  %i{j} = add i64 %i, {8 * j}
  %b{j} = getelementptr double, ptr %b, i64 %i{j}
  %c{j} = getelementptr double, ptr %c, i64 %i{j}
  %a{j} = getelementptr double, ptr %a, i64 %i{j}
  %x{j} = load volatile <8 x double>, ptr %b{j}, align 8
  %y{j} = load volatile <8 x double>, ptr %c{j}, align 8
  %z{j} = call <8 x double> @llvm.fma.v8f64(<8 x double> %y{j}, <8 x double> %s, <8 x double> %x{j})
  store volatile <8 x double> %z{j}, ptr %a{j}, align 8"""
        for j in range(4)
    )
    return f"""declare <8 x double> @llvm.fma.v8f64(<8 x double>, <8 x double>, <8 x double>)
define void @triad(i64 %calls, ptr %a, ptr %b, ptr %c, i64 %bytes) {{
entry:
  %count = sdiv i64 %bytes, 8
  %last = sub i64 %count, 32
  %one = insertelement <8 x double> poison, double 0.5, i32 0
  %s = shufflevector <8 x double> %one, <8 x double> poison, <8 x i32> zeroinitializer
  br label %call
call:
  %number = phi i64 [ 0, %entry ], [ %later, %done ]
  br label %loop
loop:
  %i = phi i64 [ 0, %call ], [ %i.next, %loop ]
{steps}
  %i.next = add i64 %i, 32
  %more = icmp sle i64 %i.next, %last
  br i1 %more, label %loop, label %done
done:
  %later = add i64 %number, 1
  %again = icmp slt i64 %later, %calls
  br i1 %again, label %call, label %end
end:
  ret void
}}
"""


def _multiply(dtype: str, lanes: int) -> str:
    """Return chains of multiply-adds of full vectors, of which none waits for another."""
    element = "double" if dtype == "f64" else "float"
    vector = f"<{lanes} x {element}>"
    name = f"llvm.fma.v{lanes}{dtype}"
    starts = "\n".join(
        f"  %s{j} = phi {vector} [ %start, %entry ], [ %n{j}, %loop ]" for j in range(_CHAINS)
    )
    steps = "\n".join(
        f"  %n{j} = call {vector} @{name}({vector} %s{j}, {vector} %half, {vector} %start)"
        for j in range(_CHAINS)
    )
    joined = []
    for j in range(1, _CHAINS):
        before = "%n0" if j == 1 else f"%j{j - 1}"
        joined.append(f"  %j{j} = fadd {vector} {before}, %n{j}")
    declared = "" if dtype == "f64" else f"declare {vector} @{name}({vector}, {vector}, {vector})\n"
    return f"""{declared}define void @multiply_{dtype}(i64 %calls, ptr %out) {{
entry:
  %start = load {vector}, ptr %out, align 8
  %one = insertelement {vector} poison, {element} 0.5, i32 0
  %half = shufflevector {vector} %one, {vector} poison, <{lanes} x i32> zeroinitializer
  %count = mul i64 %calls, {_STEPS}
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %i.next, %loop ]
{starts}
{steps}
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %count
  br i1 %more, label %loop, label %end
end:
{chr(10).join(joined)}
  store {vector} %j{_CHAINS - 1}, ptr %out, align 8
  ret void
}}
"""
