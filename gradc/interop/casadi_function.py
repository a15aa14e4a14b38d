"""Kernels inside of CasADi: a library with a function and its derivatives, by CasADi's symbols."""

from __future__ import annotations

import functools
import math
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gradc.api.compile import compiled
from gradc.arguments import pytree
from gradc.exports.kinds import VALUE
from gradc.exports.plan import Asked, plan
from gradc.exports.sparse import by_columns
from gradc.interop.flat import Flat, flat_of
from gradc.native.arguments import types_of
from gradc.native.needs import needed
from gradc.pipeline import derive
from gradc.requests.request import Request
from gradc.runtime.export import Entry
from gradc.runtime.specialize import working
from gradc_codegen.abi import Signature, c_identifier
from gradc_codegen.compile_function import compile_object
from gradc_codegen.files.shared import library_name, shared_library
from gradc_codegen.hosts.casadi_functions import External, Matrix, external_text, symbols
from gradc_codegen.libraries.routines import libraries
from gradc_codegen.target.target import target
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.graph import Function
from gradc_ir.core.types import DType, Type
from gradc_ir.errors import ExportError
from gradc_ir.graphs.subgraph import joined_results

_WHAT = "gradc.casadi_external"


class _Function(NamedTuple):
    """One function that CasADi may look for.

    Parameters
    ----------
    name: as CasADi calls it.
    flat: what computes it, of the inputs at ``taken`` to the outputs at ``made``.
    inputs, outputs: as CasADi knows them.
    ready: its kernel, where that was made to know the outputs.
    """

    name: str
    flat: Flat
    inputs: tuple[Matrix, ...]
    outputs: tuple[Matrix, ...]
    taken: tuple[int, ...]
    made: tuple[int, ...]
    ready: Entry | None = None

    @property
    def entry(self) -> Entry:
        """Its kernel."""
        if self.ready is not None:
            return self.ready
        return _entry(self.flat, [self.inputs[i] for i in self.taken])


def casadi_external(
    function: Callable[..., Any],
    *arguments: Any,
    spec: str | None = None,
    name: str | None = None,
    out: str | Path | None = None,
) -> Any:
    """Return a function of CasADi that calls gradc's kernels, as ``casadi.external`` loads it.

    Parameters
    ----------
    function: of NumPy, or a compiled one, of arrays of at most two axes and of numbers, all f64.
    arguments: such arguments, for their sizes; or ``spec``, or that of the compiled function.
    name: of CasADi's function, by default the function's.
    out: a folder in which the library stays, ``libNAME.so``, for ``casadi.external`` in another
        program; by default it goes when it is loaded.

    Inputs and outputs are named as in C. Jacobian, forward and reverse mode, and those of both
    modes, are gradc's, which is what ``nlpsol`` asks for up to exact Hessians; Jacobians have the
    elements that may be other than zero. Captured arrays are constants, of their values now. Raises
    MissingLibraryError without CasADi, ExportError for other arguments or where there is no linker.
    """
    casadi = needed("casadi", _WHAT)
    source = compiled(function)
    called = name or source.__name__
    if not called.isidentifier():
        raise ExportError(f"{called!r} cannot be the name of a function", help='pass name="…"')
    base = _base(source, arguments, spec, called)
    first = [_forward(base), _reverse(base), _jacobian(base)]
    second = [
        derivative(one) for one in first[:2] for derivative in (_forward, _reverse, _jacobian)
    ]
    code = _library(called, [base, *first, *second])
    file = library_name(called, target("native"))
    if out is None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / file
            path.write_bytes(code)
            return casadi.external(called, str(path))
    path = Path(out) / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(code)
    return casadi.external(called, str(path))


def _base(source: Any, arguments: Sequence[Any], spec: str | None, called: str) -> _Function:
    """Return the function itself, of matrices in CasADi's order of elements."""
    names = list(source._parameters.names)
    if arguments:
        nests = [types_of(path, nest) for path, nest in zip(names, arguments)]
    else:
        nests = list(source.argument_types(spec))
    leaves: list[Type] = []
    paths: list[str] = []
    order: list[int] = []
    for path, nest in zip(names, nests):
        own, structure = pytree.flatten(nest)
        order += [len(leaves) + position for position in pytree.written(structure)]
        leaves += own
        paths += pytree.paths(nest, path)
    inputs = tuple(_matrix(paths[i], leaves[i]) for i in order)
    structure = pytree.flatten(tuple(nests))[1]

    def rebuild(given: Sequence[Any]) -> Any:
        own: list[Any] = [None] * len(leaves)
        for place, array in zip(order, given):
            own[place] = _turned(array, leaves[place])
        return pytree.unflatten(structure, own), {}

    whole, _ = flat_of(source, rebuild)

    def of_columns(*given: Any) -> tuple[Any, ...]:
        return tuple(np.transpose(y) for y in whole.function(*given))

    flat = Flat(of_columns, called, source)
    entry = _entry(flat, inputs)
    names_of = _result_names(source, arguments, spec, called)
    outputs = tuple(
        _matrix(path, _transposed(type_))
        for path, type_ in zip(names_of, entry.function.result_types)
    )
    return _Function(
        called, flat, inputs, outputs, tuple(range(len(inputs))), tuple(range(len(outputs)))
    )


def _result_names(source: Any, arguments: Sequence[Any], spec: str | None, called: str) -> Any:
    with working():
        found = plan(source, Asked(called, (spec,) if spec else tuple(arguments), (VALUE,)))
    return found.entries[0].outputs


def _turned(array: Any, type_: Type) -> Any:
    return np.transpose(array) if type_.rank == 2 else array


def _transposed(type_: Type) -> Type:
    return type_.with_shape(type_.shape[::-1])


def _matrix(path: str, type_: Any) -> Matrix:
    """Return an argument as CasADi knows it; raises ExportError for what it has not."""
    if type_.dtype is not DType.F64 or type_.rank > 2:
        raise ExportError(
            f"{_WHAT}: {path} is {type_}, and CasADi has matrices of f64",
            help="give it one or two axes, of float64",
        )
    sizes = [size for size in type_.shape if not isinstance(size, int)]
    if sizes:
        raise ExportError(
            f"{_WHAT}: {path} has the size {sizes[0]}, and sizes of CasADi's functions are numbers",
            help='write it in the spec, as in "x: f64[3]", or pass arguments',
        )
    rows, columns = (*type_.shape, 1, 1)[:2]
    return Matrix(c_identifier(path), rows, columns)


# -- derivatives, with the arguments that CasADi gives them ----------------------------------------


def _known(one: _Function) -> tuple[Matrix, ...]:
    """Return inputs and results, which come before seeds; of the results nothing is read."""
    return (*one.inputs, *(m._replace(name=f"out_{m.name}", is_empty=True) for m in one.outputs))


def _forward(one: _Function) -> _Function:
    known = _known(one)
    count = len(one.taken)
    seeds = tuple(m._replace(name=f"fwd_{m.name}") for m in one.inputs)
    taken = (*one.taken, *(len(known) + i for i in one.taken))
    outputs = tuple(m._replace(name=f"fwd_{m.name}") for m in one.outputs)
    flat = one.flat.pushed(range(count), count)
    return _Function(f"fwd1_{one.name}", flat, (*known, *seeds), outputs, taken, one.made)


def _reverse(one: _Function) -> _Function:
    known = _known(one)
    count = len(one.taken)
    seeds = tuple(m._replace(name=f"adj_{m.name}") for m in one.outputs)
    taken = (*one.taken, *(len(known) + i for i in one.made))
    outputs = tuple(
        m._replace(name=f"adj_{m.name}", is_empty=i not in one.taken)
        for i, m in enumerate(one.inputs)
    )
    flat = one.flat.pulled(range(count), count)
    return _Function(f"adj1_{one.name}", flat, (*known, *seeds), outputs, taken, one.taken)


def _jacobian(one: _Function) -> _Function:
    """Return the blocks of the Jacobian; those by an input that is not read are empty."""
    options = one.flat.owner.options
    function = one.flat.planned([_type(one.inputs[i]) for i in one.taken]).traced.function
    blocks: list[Matrix] = []
    made: list[int] = []
    values: list[Function] = []
    with working():
        for j, y in enumerate(one.outputs):
            for i, x in enumerate(one.inputs):
                sizes = y.rows * y.columns, x.rows * x.columns
                block = Matrix(f"jac_{y.name}_{x.name}", *sizes, is_empty=True)
                if i in one.taken and j in one.made:
                    found = by_columns(function, options, one.made.index(j), one.taken.index(i))
                    places = None if len(found.rows) == math.prod(sizes) else found.places
                    made.append(len(blocks))
                    values.append(found.values)
                    block = block._replace(is_empty=False, places=places)
                blocks.append(block)
        whole = derive(functools.reduce(joined_results, values), Request(options=options))
    name = f"jac_{one.name}"
    entry = Entry(name, whole, [blocks[i].name for i in made])
    return _Function(name, one.flat, _known(one), tuple(blocks), one.taken, tuple(made), entry)


# -- the library -----------------------------------------------------------------------------------


def _entry(flat: Flat, inputs: Sequence[Matrix]) -> Entry:
    """Return the kernel of a flat function at matrices, which it reads column by column."""
    (entry,) = flat.planned([_type(matrix) for matrix in inputs]).entries
    return entry


def _type(matrix: Matrix) -> Type:
    if matrix.columns == 1:
        return Type(DType.F64, () if matrix.rows == 1 else (matrix.rows,))
    return Type(DType.F64, (matrix.columns, matrix.rows))


def _library(called: str, functions: Sequence[_Function]) -> bytes:
    machine = target("native")
    kernels: dict[str, Entry] = {}
    more: dict[str, Sequence[str]] = {}
    shown: list[str] = []
    for one in functions:
        entry = one.entry
        kernel = f"{one.name}.kernel_of_casadi"
        signature = Signature.of(entry.function, entry.outputs, order=entry.order)
        kernels[kernel] = entry
        external = External(
            one.name, kernel, signature, one.inputs, one.outputs, one.taken, one.made
        )
        more[external_text(external)] = symbols(one.name)
        shown += symbols(one.name)
    made = compile_object(
        {kernel: entry.function for kernel, entry in kernels.items()},
        cpu="native",
        orders={kernel: entry.order for kernel, entry in kernels.items() if entry.order},
        more=more,
    )
    flags = [f"-l{library}" for library in libraries(made.routines)] if made.routines else []
    return shared_library(made.code, called, machine, shown, flags)
