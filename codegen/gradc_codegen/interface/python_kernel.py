"""A kernel as a Python callable: NumPy arrays in, freshly allocated NumPy arrays out."""

from __future__ import annotations

import ctypes
import math
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gradc_codegen.abi import STATUS_MEANING, Argument, Signature, Status
from gradc_codegen.calls import cells
from gradc_codegen.calls import door as calls
from gradc_codegen.calls.plan import CallLayout, NoPlan, Plan
from gradc_codegen.calls.steps import Form
from gradc_codegen.calls.uniform import uniform_name, uniform_text
from gradc_codegen.interface.tape_growth import TapeTooLong, first_steps, most_bytes
from gradc_codegen.machine.jit import LoadedModule, compile_module
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core import sizes
from gradc_ir.core.binding import bind_sizes
from gradc_ir.core.foreign import C_TYPES
from gradc_ir.core.graph import Function
from gradc_ir.core.types import Array, DType, Type
from gradc_ir.errors import DTypeError, ShapeError
from gradc_ir.interpreter import tape

Shape = tuple[int, ...]

# Above this many bytes of arrays and scratch a call lets other threads run meanwhile; below it,
# taking the interpreter lock again could cost more than the kernel.
_RELEASE_BYTES = 16384
# A kernel met with ever new shapes forgets the older plans.
_MOST_PLANS = 256
# Of so many shapes it is known that there was a call with them.
_MOST_MET = 256


class KernelStatus(Exception):
    """A kernel returned another status than OK; the caller knows the user's line and says it there.

    Attributes
    ----------
    status: what it returned.
    """

    def __init__(self, status: int, name: str) -> None:
        self.status = Status(status)
        super().__init__(f"{name} returned {self.status.name}: {STATUS_MEANING[self.status]}")


class _Plan(NamedTuple):
    """What a call with arguments of certain shapes needs, worked out once."""

    shapes: tuple[Shape, ...]
    sizes: tuple[int, ...]
    scratch: int
    outputs: tuple[tuple[Shape, np.dtype[Any]], ...]
    bytes: int  # of all arrays and the scratch
    steps: int | None  # that tapes have room for


_NONE: Array = np.empty(0, np.uint8)


class Kernel:
    """A compiled function. Calls from several threads at once are safe.

    Parameters
    ----------
    function: what the kernel computes; its types say what a call takes and returns.
    code: LLVM text of the module with the kernel and its ``_worksize``, or its machine code.
    name: the kernel's name in the module; the function's by default.
    native: whether to call through machine code that reads NumPy arrays, where that is possible,
        rather than through ctypes.
    threads: how many threads tasks of the kernel run on, where it has tasks.
    """

    def __init__(
        self,
        function: Function,
        code: str | LoadedModule,
        name: str | None = None,
        *,
        native: bool = True,
        threads: int = 1,
    ) -> None:
        self.function = function
        self.name = function.name if name is None else name
        self.signature = Signature.of(function)
        if isinstance(code, str):
            code = compile_module(f"{code}\n{uniform_text(self.signature, self.name)}")
        self.compiled = code
        if threads > 1:  # a module begins with one
            self.run_on(threads)
        kernel = weakref.ref(self)  # which has the door

        def run(_: Any, /, *arrays: Any) -> list[Array]:
            called = kernel()
            assert called is not None
            return called._call_checked(arrays)

        self._plans_of_calls = calls.Plans(quick=native)
        self._call = calls.door(self._plans_of_calls, run, kernel, self.name)
        self._in_c = ctypes.CFUNCTYPE(
            ctypes.c_int32, *[_c_type(argument) for argument in self.signature.arguments]
        )(self.address)
        self._worksize = ctypes.CFUNCTYPE(
            ctypes.c_int64, *(ctypes.c_int64 for _ in self.signature.sizes)
        )(self.compiled.address(f"{self.name}_worksize"))
        self._plans: dict[tuple[Shape, ...], _Plan] = {}
        self._met: set[tuple[Shape, ...]] = set()  # shapes that there was a call with
        self._most_steps = 0  # that a call needed room for

    @property
    def address(self) -> int:
        """The address of the C function, with the signature that ``self.signature`` tells."""
        return self.compiled.address(self.name)

    def run_on(self, threads: int) -> None:
        """Have calls run on so many threads from now on, where the kernel has tasks."""
        setter = f"{self.name}_threads"
        if setter in self.compiled.names:
            ctypes.CFUNCTYPE(None, ctypes.c_int64)(self.compiled.address(setter))(threads)

    def __call__(self, arrays: Sequence[Any]) -> list[Array]:
        """Return the results for the arguments.

        Parameters
        ----------
        arrays: one array or number per parameter of the function, of its dtype; others are made
            contiguous first. Their shapes say what the symbolic sizes are.

        Raises
        ------
        ShapeError: shapes do not fit the function's types.
        DTypeError: an array would have to be cast.
        KernelStatus: the kernel returned another status than OK, such as INDEX.
        TapeTooLong: the tapes of its loops do not fit into memory.
        """
        found: list[Array] = self._call(*arrays)
        return found

    def layout_of(self, shapes: tuple[Shape, ...]) -> CallLayout | None:
        """Return how arguments of these shapes are passed; None for shapes it has not met."""
        plan = self._plans.get(shapes)
        uniform = uniform_name(self.name)
        if plan is None or uniform not in self.compiled.names:
            return None
        return CallLayout(
            self.compiled.address(uniform),
            plan.sizes,
            tuple(zip(self.function.result_types, (shape for shape, _ in plan.outputs))),
            plan.scratch,
            plan.bytes > _RELEASE_BYTES,
        )

    def _call_checked(self, arrays: Sequence[Any]) -> list[Array]:
        """Make the arguments ready, whatever they are, find or make the plan, and call."""
        if len(arrays) != len(self.signature.inputs):
            raise TypeError(
                f"{self.name} takes {len(self.signature.inputs)} arrays, not {len(arrays)}"
            )
        ready = [
            self._ready(array, argument)
            for array, argument in zip(arrays, self.signature.inputs, strict=True)
        ]
        shapes = tuple([array.shape for array in ready])
        plan = self._plans.get(shapes) or self._make_plan(shapes)
        result = self._run(plan, ready)
        if result == Status.TAPE and plan.steps is not None:
            plan, result = self._run_with_more_steps(plan.steps, ready)
        if isinstance(result, int):
            raise KernelStatus(result, self.name)
        self._keep(plan)
        self._learn(shapes)
        return result

    def _keep(self, plan: _Plan) -> None:
        """Have the next call with arguments of these shapes find this plan."""
        if self._plans.get(plan.shapes) is not plan:
            if len(self._plans) >= _MOST_PLANS:
                self._plans = {}
            self._plans[plan.shapes] = plan
        if plan.steps is not None:
            self._most_steps = max(self._most_steps, plan.steps)

    def _learn(self, shapes: tuple[Shape, ...]) -> None:
        """Have calls with arguments of these shapes go by machine code, from the second one on."""
        if not self._plans_of_calls.are_taken:
            return
        if shapes not in self._met:
            if len(self._met) >= _MOST_MET:
                self._met.clear()
            self._met.add(shapes)
            return
        layout = self.layout_of(shapes)
        if layout is None:
            return
        try:
            plan = Plan(len(shapes), (), cells.version())
            for register, (shape, argument) in enumerate(zip(shapes, self.signature.inputs)):
                assert argument.type is not None
                if argument.by_value:
                    plan.number(register, argument.type, _forms(argument.type))
                else:
                    plan.array(register, argument.type, shape)
            plan.call(layout, self.compiled, numbers=False)
            for output in range(len(layout.outputs)):
                plan.push(output)
            plan.make_list(len(layout.outputs))
        except NoPlan:
            return
        self._plans_of_calls.add(plan)

    def _run_with_more_steps(
        self, steps: int, ready: Sequence[Array]
    ) -> tuple[_Plan, int | list[Array]]:
        """Call with room for twice as many steps, and again, until that is enough."""
        while True:
            before, steps, needed = steps, max(2 * steps, 1), 0
            try:
                # an argument has the size where the first half of a pullback chose it
                longer = tape.lengthened(self.function.param_types, ready, steps)
                plan = self._make_plan(tuple([array.shape for array in longer]), steps)
                needed = plan.bytes
                if needed > most_bytes():
                    raise MemoryError
                result = self._run(plan, longer)
            except MemoryError:
                raise TapeTooLong(before, needed) from None
            if result != Status.TAPE:
                return plan, result

    def _run(self, plan: _Plan, ready: Sequence[Array]) -> int | list[Array]:
        """Call the kernel and return its results, or its status."""
        outputs = [np.empty(shape, dtype) for shape, dtype in plan.outputs]
        inputs = [
            array[()].item() if argument.by_value else array.ctypes.data
            for array, argument in zip(ready, self.signature.inputs, strict=True)
        ]
        pointers = [output.ctypes.data for output in outputs]
        scratch = np.empty(plan.scratch, np.uint8)
        status = self._in_c(*plan.sizes, *inputs, *pointers, scratch.ctypes.data)
        return int(status) or outputs

    def _ready(self, array: Any, argument: Argument) -> Array:
        """Return an argument as a contiguous, aligned array of its dtype; numbers are weak."""
        assert argument.type is not None
        dtype = argument.type.dtype.numpy
        if type(array) is np.ndarray and array.dtype == dtype:
            flags = array.flags
            if flags.c_contiguous and flags.aligned:
                return array
        if type(array) in (bool, int, float):
            array = _number(array, argument.type, self.function.name, argument.name)
        found = np.asarray(array)
        if found.dtype != dtype:
            raise DTypeError(
                f"{self.function.name}: {argument.name} has dtype {found.dtype}, not {dtype}",
                help=f"pass {argument.name}.astype(np.{dtype})",
            )
        return np.require(found, dtype, ["C", "A"])

    def _make_plan(self, shapes: tuple[Shape, ...], steps: int | None = None) -> _Plan:
        """Return the plan for arguments of these shapes, with room for ``steps`` where asked."""
        function = self.function
        values = bind_sizes(function.param_types, shapes, function.names)
        if self.signature.tape is not None:
            values[tape.NAME] = steps or first_steps(
                self._most_steps,
                lambda steps: self._layout({**values, tape.NAME: steps})[2],
            )
        outputs, scratch, made_bytes = self._layout(values)
        touched = made_bytes + _bytes(shapes, function.param_types)
        made = [size for shape in outputs for size in shape]
        if any(size < 0 for size in made):
            raise ShapeError(
                f"{function.name}: the arguments are too short, a result would have negative sizes",
                found=[f"{name} = {value}" for name, value in values.items()],
            )
        order = tuple(values[name] for name in function.size_symbols)
        dtypes = [type_.dtype.numpy for type_ in function.result_types]
        made_as = tuple(zip(outputs, dtypes, strict=True))
        return _Plan(shapes, order, scratch, made_as, touched, values.get(tape.NAME))

    def _layout(self, values: Mapping[str, int]) -> tuple[tuple[Shape, ...], int, int]:
        """Return the shapes of the outputs, the bytes of scratch, and the bytes of both."""
        types = self.function.result_types
        outputs = tuple(
            tuple(sizes.evaluate(size, values) for size in type_.shape) for type_ in types
        )
        scratch = self._worksize(*(values[name] for name in self.function.size_symbols))
        return outputs, scratch, scratch + _bytes(outputs, types)

    def __repr__(self) -> str:
        return f"<kernel {self.name}: {', '.join(a.c for a in self.signature.arguments)}>"


def _bytes(shapes: Sequence[Shape], types: Sequence[Type]) -> int:
    return sum(
        math.prod(shape) * type_.dtype.bytes for shape, type_ in zip(shapes, types, strict=True)
    )


def _forms(type_: Type) -> Form:
    """Return the forms of a number that need no cast."""
    forms = Form.SCALAR | Form.ARRAY
    return forms | Form.FLOAT if type_.dtype is DType.F64 else forms


def _c_type(argument: Argument) -> type[Any]:
    if argument.type is None or not argument.by_value:
        return ctypes.c_void_p
    found: type[Any] = C_TYPES[argument.type.dtype]
    return found


def _number(number: float, type_: Type, function: str, name: str) -> Array:
    """Return a Python number as an array of a parameter's dtype, as NumPy casts weak scalars."""
    dtype = type_.dtype
    fits = (
        dtype.is_float or (dtype.is_integer and isinstance(number, int)) or isinstance(number, bool)
    )
    if not fits:
        raise DTypeError(
            f"{function}: {name} is a {type(number).__name__}, not {dtype}",
            help=f"pass np.{dtype.numpy}({name})",
        )
    return np.array(number, dtype.numpy)
