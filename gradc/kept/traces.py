"""Traces that are kept: the name of each, what is written after a trace, and read instead of one.

The name tells all that is known before a trace: the function's own code, the types of the
arguments, what is asked, and what is in force. Under it there is a file for each program that was
met so far: its manifest tells the helpers, the numbers and the objects that the trace has looked
at. The first one whose looks all find what they found before has the graphs.
"""

from __future__ import annotations

import marshal
import sys
import zlib
from hashlib import sha256
from typing import Any

from gradc.calls.derivation import Derivation
from gradc.calls.traceable import Traceable
from gradc.kept import nests
from gradc.kept.in_force import content_in_force
from gradc.kept.looking import Looked, look_again
from gradc.kept.places import read_line
from gradc.kept.plain import Unkept
from gradc.kept.roots import Roots
from gradc.requests.request import Request
from gradc.tracing.captured.traced import Looked as LookedAt
from gradc.tracing.captured.traced import Traced
from gradc.tracing.core.signals import NeedsConcreteSize, NeedsNumber
from gradc_codegen.cache import files
from gradc_codegen.cache.versions import CODEGEN, Packages, libraries, settings
from gradc_ir.classes.named import NamedTuple
from gradc_ir.core.deferred import Deferred
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size
from gradc_ir.core.types import DType, Type
from gradc_ir.telling.log import log
from gradc_ir.text.size_text import parse_size, size_text

FOLDER = "graphs"
# So many programs are kept under one name; a number that is another one each time makes many.
_MOST_PROGRAMS = 16
_TRACER = Packages(*sys.modules[__name__.partition(".")[0]].__path__)


class Question(NamedTuple):
    """What is asked of a trace.

    Parameters
    ----------
    source: the function at arguments of one structure.
    asked: what is derived of it.
    wrt: the leaves that it is derived by.
    types: those of the leaves.
    is_last: whether the trace itself is not differentiated.
    """

    source: Traceable
    asked: Derivation
    wrt: tuple[int, ...]
    types: tuple[Type, ...]
    is_last: bool


class Found(NamedTuple):
    """What a trace and the passes after it have made, or would make."""

    traced: Traced
    request: Request
    functions: tuple[Function, ...]
    least: tuple[tuple[Size, int], ...]


class Stopped(NamedTuple):
    """A trace that was stopped, since it needs a size or an argument as a number."""

    signal: NeedsConcreteSize | NeedsNumber


class Place(NamedTuple):
    """Where a trace is kept: under which name, and what its looks begin at."""

    name: str
    roots: Roots


def place_of(question: Question) -> Place | None:
    """Return where the answer to a question is kept, None where it is not."""
    digests = CODEGEN.digest(), _TRACER.digest()
    if None in digests:
        return None
    source, asked, wrt, types, is_last = question
    try:
        roots = Roots(source)
        every = (
            digests,
            libraries(),
            settings(),
            source.name,
            roots.content(),
            content_in_force(source.options, roots),
            tuple(asked._replace(wrt=None)),  # which the leaves tell
            (wrt, tuple(map(str, types)), is_last),
        )
    except Unkept as why:
        _tell(source, why)
        return None
    return Place(sha256(repr(every).encode("utf-8", "surrogatepass")).hexdigest()[:40], roots)


def _tell(source: Traceable, why: object) -> None:
    log("cache", "%s is not kept: %s", source.name, why)


# -- reading ---------------------------------------------------------------------------------------


def find(question: Question, place: Place) -> Found | Stopped | None:
    """Return what is kept of a trace, None where nothing is that is as it would be traced now."""
    names = files.names_in(FOLDER, place.name[:2], place.name)
    for name in names:
        held = files.read(FOLDER, place.name[:2], place.name, name)
        if held is None:
            continue
        manifest, rest = marshal.loads(held)
        looked = look_again(manifest[0], place.roots.values)
        if looked is not None:
            log("cache", "%s: the trace is kept, as %s", question.source.name, name)
            if len(rest) == 1:
                return _stopped(looked, *rest)
            return _read(question, looked, manifest, rest)
    log("cache", "%s: %d traces are kept, none as it is now", question.source.name, len(names))
    return None


def _read(question: Question, looked: Looked, manifest: Any, rest: Any) -> Found:
    head, wanted, functions, more = rest
    traced_as, out_tree, deciding, specialised, least, limits = head

    def deferred(number: int, about: Any) -> Deferred:
        return _deferred(about, lambda: _unpacked(more[number], looked))

    # of the function as it was traced only that is kept which calls need
    traced = Traced(
        _deferred(traced_as, lambda: _unpacked(more[len(functions)], looked)),
        nests.read(out_tree, looked.found.__getitem__),
        looked.captures(manifest[2]),
        frozenset(deciding),
        looked.guards(manifest[1]),
        {name: _size(size) for name, size in specialised},
        least={_size(size): number for size, number in least},
    )
    return Found(
        traced,
        _request(question, traced, wanted),
        tuple(deferred(number, about) for number, about in enumerate(functions)),
        tuple((_size(size), number) for size, number in limits),
    )


def _stopped(looked: Looked, about: Any) -> Stopped:
    if len(about) == 1:
        return Stopped(NeedsNumber(*about))
    size, what, line = about
    at = None if line is None else read_line(looked.found, line)
    return Stopped(NeedsConcreteSize(_size(size), what, at))


def _request(question: Question, traced: Traced, wanted: Any) -> Request:
    wrt, connected, groups = wanted
    asked = question.asked
    policed = None
    if connected is not None:
        from gradc.calls.apply_policies import ApplyPolicies  # few have any

        assert asked.policies is not None
        policed = ApplyPolicies(traced.function.name, asked.policies, connected, groups)
    return Request(asked.of, wrt, asked.mode, question.source.options, policed)


def _deferred(about: Any, read: Any) -> Deferred:
    name, names, params, results, symbols, digest = about
    types = tuple(map(_type, params)), tuple(map(_type, results))
    return Deferred(name, names, types, symbols, read, digest)


def _unpacked(data: bytes, looked: Looked) -> Function:
    from gradc_ir.text.packed import Packed, unpack  # few calls look into a graph

    packed = Packed(*marshal.loads(zlib.decompress(data)))
    return unpack(packed, lambda line: read_line(looked.found, line))


def _type(data: Any) -> Type:
    dtype, shape = data
    return Type(DType(dtype), tuple(map(_size, shape)))


def _size(data: int | str) -> Size:
    return data if isinstance(data, int) else parse_size(data)


# -- writing ---------------------------------------------------------------------------------------


def keep(question: Question, place: Place, made: Found | Stopped) -> None:
    """Keep what a trace and the passes have made, where that can be done."""
    looked = made.signal.looked if isinstance(made, Stopped) else made.traced.looked
    try:
        if looked is None or looked.unkept:
            raise Unkept(looked.unkept[0] if looked else "it was stopped")
        held = _written(place, looked, made, question.source.options.capture)
    except (Unkept, ValueError) as why:
        _tell(question.source, why)
        return
    if not (CODEGEN.are_as_read() and _TRACER.are_as_read()):
        return
    where = FOLDER, place.name[:2], place.name
    if files.write(held, *where, sha256(held).hexdigest()[:32]):
        log("cache", "%s: kept %d bytes of its trace", question.source.name, len(held))
        for old in files.names_in(*where)[_MOST_PROGRAMS:]:
            files.drop(*where, old)


def _written(place: Place, looked: LookedAt, made: Found | Stopped, captures: bool) -> bytes:
    # what only those need whose traces are not kept yet
    from gradc.kept.manifest import Writer
    from gradc.kept.places import WrittenLines

    writer = Writer(place.roots.values, looked.imports, captures)
    manifest = writer.manifest(looked.captures, tuple(looked.guards.values()))
    lines = WrittenLines(writer.codes())
    if isinstance(made, Stopped):
        return marshal.dumps((tuple(manifest), (_signal(made.signal, lines),)))
    traced, request, functions, limits = made
    packed = [_packed(function, lines) for function in functions]
    if request.of == "linearize":
        packed.append(_packed(traced.function, lines))  # of which further parts are made
    head = (
        _about(traced.function, b""),
        nests.written(traced.out_tree, writer.place_of),
        tuple(sorted(traced.deciding)),
        tuple((name, _text(size)) for name, size in traced.specialised.items()),
        tuple((_text(size), number) for size, number in traced.least.items()),
        tuple((_text(size), number) for size, number in limits),
    )
    policies: Any = request.policies
    wanted = (
        request.wrt,
        None if policies is None else policies.connected,
        () if policies is None else policies.groups,
    )
    about = tuple(_about(one, digest) for one, (digest, _) in zip(functions, packed))
    more = tuple(data for _, data in packed)
    return marshal.dumps((tuple(manifest), (head, wanted, about, more)))


def _signal(signal: NeedsConcreteSize | NeedsNumber, lines: Any) -> tuple[Any, ...]:
    if isinstance(signal, NeedsNumber):
        return (signal.leaves,)
    return _text(signal.size), signal.what, None if signal.at is None else lines(signal.at)


def _packed(function: Function, lines: Any) -> tuple[bytes, bytes]:
    from gradc_ir.text.packed import pack

    packed = pack(function, lines)
    return packed.digest, zlib.compress(marshal.dumps(tuple(packed)), 1)


def _about(function: Function, digest: bytes) -> Any:
    names = tuple(map(str, function.names))
    params, results = (
        tuple((type_.dtype.value, tuple(map(_text, type_.shape))) for type_ in types)
        for types in (function.param_types, function.result_types)
    )
    return str(function.name), names, params, results, function.size_symbols, digest


def _text(size: Size) -> int | str:
    return size if isinstance(size, int) else size_text(size)


__all__ = ["Found", "Place", "Question", "Stopped", "find", "keep", "place_of"]
