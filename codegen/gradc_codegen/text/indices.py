"""Index arithmetic, of one number or of one for each lane, and what spreads a number over lanes.

Inside a loop that runs several iterations at once, a register holds either what all lanes have in
common or a vector of one element a lane. An index is a number, a :class:`Lane` (a start and a step)
or a vector of any numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from gradc_codegen.text.lines import Lines
from gradc_ir.core.sizes import Size


class Lane(str):
    """An index that moves with the lane: ``start + step * lane``."""

    __slots__ = ("origin", "step")

    origin: str
    step: str

    def __new__(cls, origin: str, step: str) -> Lane:
        """Return the index; its text is unlike that of all others."""
        made = super().__new__(cls, f"{origin} + {step} lane")
        made.origin, made.step = origin, step
        return made


def is_vector(register: str) -> bool:
    """Whether a register, or a literal, has an element for each lane."""
    return register.startswith(("%v", "splat", "<"))


def varies(index: str) -> bool:
    """Whether an index differs from lane to lane."""
    return isinstance(index, Lane) or is_vector(index)


def is_number(text: str) -> bool:
    """Whether an index is a number that is known now."""
    return text[0] not in "%s<" and not isinstance(text, Lane)


class Indices(Lines):
    """Lines with index arithmetic that folds numbers, and with lanes."""

    # how many iterations run at once here, and which of them count: None for all
    lanes = 1
    mask: str | None = None

    # -- lanes -------------------------------------------------------------------------------------

    def type_of(self, type_: str, vector: bool) -> str:
        """Return the type of one number, or of one for each lane."""
        return f"<{self.lanes} x {type_}>" if vector else type_

    def emit_vector(self, instruction: str) -> str:
        """Write an instruction whose result has an element for each lane; returns its name."""
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def write(self, vector: bool, instruction: str) -> str:
        """Write an instruction with a result that is a vector or not; returns its name."""
        return self.emit_vector(instruction) if vector else self.emit(instruction)

    def spread(self, register: str, type_: str) -> str:
        """Return a register with an element for each lane: itself, or many times the number."""
        if is_vector(register):
            return register
        if not register.startswith("%"):
            return f"splat ({type_} {register})"
        key = ("spread", register, self.lanes)
        found = self.known(key)
        if found is None:
            whole = self.type_of(type_, True)
            first = self.emit_vector(f"insertelement {whole} poison, {type_} {register}, i64 0")
            found = self.emit_vector(
                f"shufflevector {whole} {first}, {whole} poison, <{self.lanes} x i32> "
                "zeroinitializer"
            )
            self.remember(key, found)
        return found

    def index_vector(self, index: str) -> str:
        """Return an index as a vector."""
        if not isinstance(index, Lane):
            return self.spread(index, "i64")
        key = ("index", index, self.lanes)
        found = self.known(key)
        if found is None:
            type_ = self.type_of("i64", True)
            if is_number(index.step):
                steps = [str(int(index.step) * lane) for lane in range(self.lanes)]
                moved = f"<{', '.join(f'i64 {step}' for step in steps)}>"
            else:
                lanes = ", ".join(f"i64 {lane}" for lane in range(self.lanes))
                step = self.spread(index.step, "i64")
                moved = self.emit_vector(f"mul {type_} {step}, <{lanes}>")
            if index.origin == "0":
                found = self.emit_vector(f"add {type_} zeroinitializer, {moved}")
            else:
                start = self.spread(index.origin, "i64")
                found = self.emit_vector(f"add {type_} {start}, {moved}")
            self.remember(key, found)
        return found

    def below(self, count: str) -> str:
        """Return the mask of as many lanes as are left."""
        lanes = ", ".join(f"i64 {lane}" for lane in range(self.lanes))
        type_ = self.type_of("i64", True)
        return self.emit_vector(f"icmp slt {type_} <{lanes}>, {self.spread(count, 'i64')}")

    @contextmanager
    def in_lanes(self, lanes: int, mask: str | None = None) -> Iterator[None]:
        """Write what runs in lanes; the mask says which of them count."""
        before = self.lanes, self.mask
        self.lanes, self.mask = lanes, mask
        self.open()
        yield
        self.close()
        self.lanes, self.mask = before

    def masked(self, condition: str) -> str:
        """Return the mask of the lanes that count and where a condition holds too."""
        if self.mask is None:
            return condition
        type_ = self.type_of("i1", True)
        return self.emit_vector(f"and {type_} {self.mask}, {condition}")

    # -- arithmetic --------------------------------------------------------------------------------

    def add(self, a: str, b: str) -> str:
        """Return a + b of indices."""
        if a == "0":
            return b
        if b == "0":
            return a
        if is_number(a) and is_number(b):
            return str(int(a) + int(b))
        if varies(a) or varies(b):
            return self._by_lane("add", a, b)
        return self.emit(f"add nsw i64 {a}, {b}")

    def subtract(self, a: str, b: str) -> str:
        """Return a - b of indices."""
        if b == "0":
            return a
        if is_number(a) and is_number(b):
            return str(int(a) - int(b))
        if varies(a) or varies(b):
            return self._by_lane("sub", a, b)
        return self.emit(f"sub nsw i64 {a}, {b}")

    def multiply(self, a: str, b: str) -> str:
        """Return a * b of indices."""
        if a == "1" or b == "0":
            return b
        if b == "1" or a == "0":
            return a
        if is_number(a) and is_number(b):
            return str(int(a) * int(b))
        if varies(a) or varies(b):
            return self._by_lane("mul", a, b)
        return self.emit(f"mul nsw i64 {a}, {b}")

    def _by_lane(self, name: str, a: str, b: str) -> str:
        if is_vector(a) or is_vector(b) or (name == "mul" and varies(a) and varies(b)):
            type_ = self.type_of("i64", True)
            return self.emit_vector(
                f"{name} {type_} {self.index_vector(a)}, {self.index_vector(b)}"
            )
        if name == "mul":
            lane, number = (a, b) if isinstance(a, Lane) else (b, a)
            assert isinstance(lane, Lane)
            return Lane(self.multiply(lane.origin, number), self.multiply(lane.step, number))
        (x, dx), (y, dy) = _parts(a), _parts(b)
        join = self.add if name == "add" else self.subtract
        step = join(dx, dy)
        return join(x, y) if step == "0" else Lane(join(x, y), step)

    def linear(self, indices: list[str], sizes: list[Size]) -> str:
        """Return the row-major position of indices in a shape."""
        result = "0"
        for index, size in zip(indices, sizes):
            result = (
                self.add(self.multiply(result, self.size(size)), index) if result != "0" else index
            )
        return result

    def divide(self, name: str, a: str, b: str) -> str:
        """Return a quotient (``udiv``) or rest (``urem``) of indices that are not negative."""
        if varies(a):
            type_ = self.type_of("i64", True)
            return self.emit_vector(
                f"{name} {type_} {self.index_vector(a)}, {self.spread(b, 'i64')}"
            )
        return self.emit(f"{name} i64 {a}, {b}")


def _parts(index: str) -> tuple[str, str]:
    return (index.origin, index.step) if isinstance(index, Lane) else (index, "0")
