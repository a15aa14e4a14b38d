"""The tracer: what stands for an array or a number while a function is recorded."""

from __future__ import annotations

from typing import Any, NoReturn

from gradc.arguments import pytree
from gradc.tracing.captured.top import state
from gradc.tracing.core.materialise import constant_value
from gradc.tracing.core.source import shape_error, trace_error
from gradc.tracing.core.state import Trace, running
from gradc.tracing.core.symbolic_size import as_integer
from gradc.tracing.core.views import View, Window
from gradc_ir import build
from gradc_ir.core.graph import Value
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import Array, DType, Type, dtype_of
from gradc_ir.errors import TraceError


class Tracer:
    """An array, or a number, of a function being traced.

    It has a ``Value`` of the graph, or an array that is *known* while tracing, or both. Assignment
    replaces the value, so a tracer is a variable and values stay immutable. A view reads its base
    again when the base has changed, and writes through to it.

    Operators, methods and attributes are those of ``numpy.ndarray``; they are attached in
    :mod:`gradc.tracing.array.operators`.
    """

    __slots__ = (
        "__weakref__",
        "_known",
        "_origin",
        "_parent",
        "_seen",
        "_trace",
        "_type",
        "_value",
        "_version",
        "_view",
        "_weak",
        "_why_fixed",
        "contiguous",
        "forms",
        "scalar",
    )
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000.0

    _value: Value | None
    _known: Array | None
    _parent: Tracer | None
    _view: View | None
    _why_fixed: str | None
    _origin: Any
    _seen: int
    contiguous: bool
    forms: frozenset[int]
    scalar: bool
    _weak: type | None

    def __init__(
        self, trace: Trace, type_: Type, value: Value | None = None, *, contiguous: bool = True
    ) -> None:
        self._trace = trace
        # None until it is first read
        self._value = value
        self._type = type_
        self._known = None
        self._parent = None
        self._version = 0
        self._why_fixed = None
        self._origin = None
        # whether NumPy's array would certainly be C-contiguous: decides if reshape is a view
        self.contiguous = contiguous
        # whether NumPy would give a number, which is not assigned to in place, not a 0-d array
        self.scalar = value is not None and not type_.shape
        self._weak = None
        # the arguments that it is made of alone, where it would be weak or not as they are: numbers
        self.forms = _NO_FORMS

    @property
    def weak(self) -> type | None:
        """Its type where it is a Python number, whose dtype yields to that of arrays.

        Who asks may depend on it: from then on the graph is for arguments of these forms alone.
        What can tell that it does not goes by :func:`promoted`.
        """
        if self.forms:
            self._trace.root.deciding |= self.forms
        return self._weak

    @property
    def python_type(self) -> type:
        """Its type as a Python number, where it may be one."""
        return _PYTHON_TYPES[self._type.dtype]

    @property
    def type(self) -> Type:
        """The dtype and shape; neither ever changes."""
        return self._type

    @property
    def known(self) -> Array | None:
        """The array, when its value is known while tracing; it belongs to the tracer."""
        if self._parent is not None and self._seen != root(self)._version:
            _refresh(self)
        return self._known

    @property
    def symbolic(self) -> bool:
        """Whether a size of the shape is a symbol."""
        return any(not isinstance(size, int) for size in self._type.shape)


pytree.know_leaves(Tracer)


_NO_FORMS: frozenset[int] = frozenset()
# The dtypes of which Python has numbers that NumPy and Python hold for equal otherwise.
_PYTHON_TYPES: dict[DType, type] = {DType.F64: float, DType.I64: int, DType.BOOL: bool}


def may_be_weak(type_: Type) -> bool:
    """Whether an argument of a type may be a Python number."""
    return not type_.shape and type_.dtype in (DType.F64, DType.I64)


def make(trace: Trace, value: Value, *, contiguous: bool = True) -> Tracer:
    """Return a fresh tracer of a value built in the trace."""
    return Tracer(trace, value.type, value, contiguous=contiguous)


def again(tracer: Tracer) -> Tracer:
    """Return a fresh tracer of what one is now, which owns its memory."""
    made = Tracer(tracer._trace, tracer._type, read(tracer), contiguous=tracer.contiguous)
    made.scalar = tracer.scalar
    return as_weak(made, tracer._weak, tracer.forms)


def make_known(array: Array) -> Tracer:
    """Return a tracer of an array known while tracing, which from now on belongs to the tracer."""
    trace = state.top
    assert trace is not None
    type_ = Type(dtype_of(array.dtype), array.shape)
    tracer = Tracer(trace, type_, contiguous=bool(array.flags.c_contiguous))
    tracer._known = array
    return tracer


def make_hidden(trace: Trace, type: Type, origin: Any, why_fixed: str) -> Tracer:
    """Return a tracer of an array outside; it becomes a parameter when it is first used."""
    tracer = Tracer(trace, type)
    tracer._why_fixed = why_fixed
    tracer._origin = origin
    return tracer


def hide_type(tracer: Tracer) -> None:
    """Have the type of an array outside be told by its origin, when it is first asked for."""
    del tracer._type


def told_type(tracer: Tracer) -> Type:
    """Return the type that :func:`hide_type` has hidden; Python asks, as it finds none."""
    type_: Type = tracer._origin.tell_type()
    tracer._type = type_
    return type_


def make_view(parent: Tracer, view: View, shape: tuple[Size, ...] = ()) -> Tracer:
    """Return a view: of its memory for a known array, else of this shape, read when used."""
    known = parent.known
    array = view.known(known) if known is not None and view.follows_known else None
    type_ = Type(parent._type.dtype, shape if array is None else array.shape)
    tracer = Tracer(parent._trace, type_)
    tracer._parent = parent
    tracer._view = view
    tracer._why_fixed = view.why_fixed
    tracer._seen = root(parent)._version
    if array is not None:
        tracer._known = array
        tracer.contiguous = bool(array.flags.c_contiguous)
        return tracer
    tracer.contiguous = view.keeps_contiguous and parent.contiguous
    owner = root(parent)._trace
    if owner is not state.top:
        # a view of an outer array belongs to this trace
        tracer._value = view.forward(read(parent))
        tracer._trace = _running(state.top)
        if _may_adopt(owner):
            return tracer
        # and neither can be written in it
        tracer._parent = None
        tracer._why_fixed = _why_outside(tracer._trace)
    elif view.certain:
        tracer._seen = -1
    else:
        tracer._value = view.forward(read(parent))
    return tracer


def _why_outside(trace: Trace) -> str:
    if trace.body_of is None:
        return "it belongs to the function outside; return the new array instead of assigning to it"
    place = _PLACES.get(trace.body_of, "an argument")
    return f"it is outside of the body of {trace.body_of}: make it {place}, and return the new one"


_PLACES = {
    "gradc.map": "the carry of gradc.scan",
    **dict.fromkeys(("gradc.scan", "gradc.fori_loop", "gradc.while_loop"), "a part of the carry"),
    **dict.fromkeys(("gradc.cond", "gradc.switch"), "an operand"),
}


def _may_adopt(owner: Trace) -> bool:
    """Whether arrays of an outer trace may be assigned to in the running one."""
    step: Trace | None = state.top
    while step is not None and step is not owner:
        if step.adopt is None:
            return False
        step = step.outer
    return step is not None


def root(tracer: Tracer) -> Tracer:
    """Return the tracer that owns the memory."""
    while tracer._parent is not None:
        tracer = tracer._parent
    return tracer


def read(tracer: Tracer) -> Value:
    """Return the current value in the running trace."""
    if tracer._parent is not None and tracer._seen != root(tracer)._version:
        _refresh(tracer)
    trace = state.top
    value = tracer._value
    if value is not None:
        if tracer._trace is trace:
            return value
        return _running(trace).lift(value, tracer._trace)
    return _first_value(tracer, _running(trace))


def _running(trace: Trace | None) -> Trace:
    return running() if trace is None else trace


def _first_value(tracer: Tracer, trace: Trace) -> Value:
    if tracer._known is not None:
        value = constant_value(tracer._known)
        if tracer._trace is trace:
            tracer._value = value
        return value
    hidden: Value = tracer._origin.read(tracer, trace)
    return hidden


def _refresh(tracer: Tracer) -> None:
    """Read a view's elements from its base again, down the chain of views."""
    chain = []
    step = tracer
    while step._parent is not None:
        chain.append(step)
        step = step._parent
    # an inner trace may be the one that asks
    before, state.top = state.top, step._trace
    try:
        with step._trace.builder:
            _refresh_chain(chain[::-1], step)
    finally:
        state.top = before


def _refresh_chain(chain: list[Tracer], base: Tracer) -> None:
    version = base._version
    for view in chain:
        parent, how = view._parent, view._view
        assert parent is not None
        assert how is not None
        if view._seen == version:
            continue
        view._trace = base._trace
        if not how.certain:
            _refuse_uncertain(how)
        if parent._known is not None and how.follows_known:
            view._value = None
            if view._known is None:  # the base was not known for a while
                view._known = how.known(parent._known)
        else:
            view._known = None
            view._value = how.forward(parent._value or _first_value(parent, parent._trace))
        view._seen = version


_UNCERTAIN = "an array was assigned to that may or may not share memory with another one in use"
# Why an array is not assigned to after a recorded loop or branch.
MAY_BE = "a branch or a loop may have made it another name for an array: copy it first, x.copy()"


def may_share(error: TraceError) -> bool:
    """Whether an error is for an assignment to an array that may have another name."""
    return error.what == _UNCERTAIN or error.help == MAY_BE


def _refuse_uncertain(view: View) -> NoReturn:
    raise trace_error(_UNCERTAIN, help=view.cure)


def refuse_write(tracer: Tracer) -> None:
    """Raise TraceError when the array, or an array it is a view of, must not be assigned to."""
    step: Tracer | None = tracer
    why: str | None = None
    base = root(tracer)
    is_outside = base._trace is not state.top
    if is_outside and not _may_adopt(base._trace):
        why = _why_outside(_running(state.top))
    while step is not None:
        why = why or step._why_fixed
        if step._parent is not None and step._view is not None and not step._view.certain:
            _refuse_uncertain(step._view)
        step = step._parent
    if why:
        raise trace_error("this array cannot be assigned to", help=why)
    if is_outside:
        trace = _running(state.top)
        assert trace.adopt is not None
        trace.adopt(base)


def write(tracer: Tracer, part: Value) -> None:
    """Replace all elements, through the views down to the array that owns the memory."""
    refuse_write(tracer)
    written = []
    while tracer._parent is not None:
        written.append((tracer, part))
        parent, view = tracer._parent, tracer._view
        assert view is not None
        part = view.backward(read(parent), part)
        tracer = parent
    if part.type != tracer._type:
        raise shape_error(f"{part.type} was assigned to {tracer._type}")
    tracer._value = part
    tracer._known = None
    tracer._version += 1
    for view_tracer, value in written:
        view_tracer._value = value
        view_tracer._known = None
        view_tracer._seen = tracer._version


def same_view(left: Tracer, right: Tracer, base: Tracer) -> bool:
    """Whether both are the same view of ``base``, and ``right`` has been written to it or read."""
    if right._parent is None or right._seen != root(right)._version:
        return False
    while left is not base and right is not base:
        if left._parent is None or right._parent is None or left._view != right._view:
            return False
        left, right = left._parent, right._parent
    if left is base and right is not base and right._parent is base:
        # the whole of it, x[:]
        return (
            right._type == base._type and isinstance(right._view, Window) and right._view.is_whole
        )
    return left is right


def touch(tracer: Tracer) -> None:
    """Say that the memory of a known array was written."""
    base = root(tracer)
    base._version += 1
    base._value = None
    tracer._value = None
    tracer._seen = base._version


def shape_of(tracer: Tracer) -> tuple[Any, ...]:
    """Return the shape as the user sees it."""
    return tuple(as_integer(size) for size in tracer._type.shape)


def weak_number(value: Value, kind: type) -> Tracer:
    """Return a tracer of a Python number, whose dtype yields to that of arrays."""
    trace = state.top
    assert trace is not None
    return as_weak(make(trace, value), kind)


def as_weak(tracer: Tracer, kind: type | None, forms: frozenset[int] = _NO_FORMS) -> Tracer:
    """Return a fresh tracer, weak where ``kind`` is one, as the forms of some arguments say."""
    tracer._weak = kind
    tracer.forms = forms if tracer._type.dtype in _PYTHON_TYPES else _NO_FORMS
    return tracer


def size_tracer(size: Any) -> Tracer:
    """Return a symbolic size as a traced Python integer."""
    return weak_number(build.size_value(size, DType.I64), int)
