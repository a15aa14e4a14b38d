"""What this core can do at most in a second: bytes read and written, multiply-adds, functions.

The kernels that tell are LLVM text, so that no compiler has to be there; those of functions are
gradc's own.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from gradc.costs.operations import SlowOp
from gradc.costs.repeated_call import RepeatedCall, seconds_a_call
from gradc_codegen.compile_function import compile_function
from gradc_codegen.machine.jit import LoadedModule, compile_module
from gradc_ir.build import Builder
from gradc_ir.core.types import Type

_CHAINS = 16
_STEPS = 1000
# Functions are measured on so many elements, between the first of these where they are finite.
_COUNT = 1024
_INTERVALS = ((0.1, 0.9), (1.1, 2.0), (1.0, 4.0))


@dataclass(frozen=True)
class Ceilings:
    """What a core does at most in a second.

    Parameters
    ----------
    bandwidth: bytes read, by the size of the array that is read again and again.
    triad: bytes moved by ``a = b + s * c``, three arrays of the largest of these sizes.
    flops: operations of multiply-adds, two each, by dtype.
    functions: ops that are slower, each in a loop of its own; those that were asked for.
    """

    bandwidth: dict[int, float]
    triad: float
    flops: dict[str, float]
    functions: dict[SlowOp, float] = field(default_factory=dict)

    def function(self, slow: SlowOp) -> float:
        """Return how many of a slow op a core takes in a second, measured when first asked."""
        if slow not in self.functions:
            self.functions[slow] = _rate(slow)
        return self.functions[slow]


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
    return Ceilings(bandwidth, moved, flops)


def seconds_to_move(read: int, written: int) -> float:
    """Return how long it takes to read and write so many bytes, again and again."""
    run = _function("move", read, written, 64)
    return seconds_a_call(lambda calls: run(calls, read, written))


def _rate(slow: SlowOp) -> float:
    """Return how many of an op a kernel takes in a second, of arrays in the first cache."""
    with Builder() as builder:
        types = [Type(dtype, (_COUNT,)) for dtype in slow.operands]
        params = [builder.param(i, type_) for i, type_ in enumerate(types)]
        node = builder.apply(slow.op, tuple(params), dict(slow.attributes))
        function = builder.function("function", params, node.results)
    kernel = compile_function(function)
    for low, high in _INTERVALS:
        arrays = [np.linspace(low, high, _COUNT).astype(type_.dtype.numpy) for type_ in types]
        call = RepeatedCall(function, arrays, kernel)
        if all(np.isfinite(result).all() for result in call.results):
            break
    return _COUNT / call.seconds()


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
