"""The text of a graph as LaTeX: one row a statement, for notebooks and papers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from gradc.reading.notation import Bound, Notation, Quotient, decimal, joined, within
from gradc.reading.statements import Assign, Block, Branch, Loop, Put, Statement, statements
from gradc.reading.terms import Axes, Term
from gradc_ir.core.graph import Function
from gradc_ir.core.sizes import Size
from gradc_ir.text.variables import is_derived

_COMPARE, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(6)

# In the order of their letters in Unicode, but for the second sigma.
_SMALL = (
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda",
    "mu", "nu", "xi", "omicron", "pi", "rho", "sigma", "tau", "upsilon", "phi", "chi", "psi",
    "omega",
)  # fmt: skip
_GREEK = {name for name in _SMALL if name != "omicron"} | {
    "Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega",
}  # fmt: skip
_LETTERS = dict(zip(map(chr, (*range(0x3B1, 0x3C2), *range(0x3C3, 0x3CA))), _SMALL))
_FUNCTIONS = {
    "log": r"\log", "sin": r"\sin", "cos": r"\cos", "tan": r"\tan", "sinh": r"\sinh",
    "cosh": r"\cosh", "tanh": r"\tanh", "arcsin": r"\arcsin", "arccos": r"\arccos",
    "arctan": r"\arctan", "log2": r"\log_2", "log10": r"\log_{10}", "sigmoid": r"\sigma",
    "gamma": r"\Gamma", "digamma": r"\psi", "lgamma": r"\log\Gamma", "beta": r"\mathrm{B}",
    "zeta": r"\zeta", "maximum": r"\max", "minimum": r"\min", "ndtr": r"\Phi",
    "log_ndtr": r"\log\Phi", "ndtri": r"\Phi^{-1}",
}  # fmt: skip
_AROUND = {
    "sqrt": (r"\sqrt{", "}"),
    "cbrt": (r"\sqrt[3]{", "}"),
    "abs": (r"\left|", r"\right|"),
    "floor": (r"\left\lfloor ", r"\right\rfloor"),
    "logical_not": (r"\lnot\left(", r"\right)"),
}
_SIGNS = {"==": "=", "!=": r"\ne", "<": "<", "<=": r"\le", "&": r"\land", "|": r"\lor",
          "^": r"\oplus"}  # fmt: skip
_REDUCE = {
    "reduce_sum": r"\sum", "reduce_prod": r"\prod", "reduce_max": r"\max", "reduce_min": r"\min",
    "any": r"\bigvee", "all": r"\bigwedge", "logsumexp": r"\operatorname{logsumexp}",
}  # fmt: skip


def latex_text(function: Function) -> str:
    """Return a function as LaTeX for mathematics mode: equations, aligned, the results last."""
    text = statements(function)
    writer = _Writer(text.block)
    rows = [row for statement in text.block for row in writer.statement(statement, 0)]
    name = writer.name(function.name)
    params = ", ".join(writer.name(param) for param, _ in text.params)
    results = r",\; ".join(writer.text(term) for term in text.results)
    if len(text.results) != 1:
        results = rf"\left({results}\right)"
    rows.append(rf"{name}\left({params}\right) &= {results}")
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


class _Writer(Notation):
    """Writes terms and statements."""

    SUM, PRODUCT, POWER, ATOM = _SUM, _PRODUCT, _POWER, _ATOM

    def __init__(self, block: Block) -> None:
        # cotangents have a bar, tangents a dot: names by what they are of
        self.derived: dict[str, str] = {}
        self._note(block)

    def _note(self, block: Block) -> None:
        for statement in block:
            match statement:
                case Assign(names=(name,), lines=lines) if is_derived(lines):
                    sign = lines[0].derived
                    if name.startswith(sign) and len(name) > len(sign):
                        self.derived[name] = sign
                case Loop():
                    self._note(statement.body)
                case Branch():
                    for inner in statement.blocks:
                        self._note(inner)

    def name(self, name: str) -> str:
        """Return a variable: greek letters, subscripts for digits and behind an underscore."""
        sign = self.derived.get(name, "")
        if sign:
            inner = self.name(name[len(sign) :])
            for each in reversed(re.findall("g_|d", sign)):
                inner = rf"{'bar' if each == 'g_' else 'dot'}{{{inner}}}"
                inner = "\\" + inner
            return inner
        head, *rest = [part for part in name.split("_") if part] or [name]
        found = re.fullmatch(r"([^\W\d]+)(\d+)", head)
        if found:
            head, rest = found[1], [found[2], *rest]
        if len(head) > 2 and head not in _GREEK and not found:
            return _word(name)  # words, which the underscore joins
        below = ",".join(_word(part) for part in rest)
        return f"{_word(head)}_{{{below}}}" if below else _word(head)

    def bound(self, term: Term, into: Axes = ()) -> Bound:
        """Return a term as LaTeX; it does not say which axes meet."""
        detail = term.detail
        match term.head:
            case "number":
                return self._literal(detail)
            case "size":
                size = self._size(detail)
                return size, _SUM if " " in size else _ATOM
            case "name":
                return self.name(detail), _ATOM
            case "sum":
                return self.sum(term, into), _SUM
            case "product":
                is_minus, text = self.product(term, into)
                return (f"-{within(text, _PRODUCT, self)}", _SIGN) if is_minus else text
            case "power":
                base, exponent = term.parts
                return f"{within(self.bound(base), _ATOM, self)}^{{{self.text(exponent)}}}", _POWER
            case "compare":
                parts = [within(self.bound(part), _SUM, self) for part in term.parts]
                return f" {_SIGNS[detail]} ".join(parts), _COMPARE
            case "where":
                condition, x, y = (self.text(part) for part in term.parts)
                cases = rf"{x} & \text{{if }} {condition} \\ {y} & \text{{otherwise}}"
                return rf"\begin{{cases}} {cases} \end{{cases}}", _ATOM
            case "call":
                return self._call(detail, term.parts)
            case "contract":
                return self._contract(term)
        return self._array(term)

    def _literal(self, value: Any) -> Bound:
        if isinstance(value, bool):
            return rf"\text{{{str(value).lower()}}}", _ATOM
        if isinstance(value, float):
            text = r"\text{nan}" if np.isnan(value) else r"\infty"
            return (f"-{text}", _SIGN) if value < 0 else (text, _ATOM)
        return self.number(value)

    def number(self, value: Fraction) -> Bound:
        """Return a number, with a power of ten where that is short."""
        text = decimal(value)
        if text is None:
            sign = "-" if value < 0 else ""
            return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}", _PRODUCT
        mantissa, e, exponent = text.partition("e")
        if e:
            power = f"10^{{{int(exponent)}}}"
            return (power if mantissa == "1" else rf"{mantissa} \cdot {power}"), _PRODUCT
        return text, _SIGN if value < 0 else _ATOM

    def raised(self, base: Bound, power: int) -> Bound:
        """Return a whole power above one."""
        return f"{within(base, _ATOM, self)}^{{{power}}}", _POWER

    def written(self, quotient: Quotient) -> Bound:
        """Return a product, as a fraction where something is divided by."""
        sides = []
        for part in quotient:
            # what stands alone above or below a line needs no parentheses
            alone = len(part) == 1 and bool(quotient.below)
            factors = [within(x, 0 if alone else _PRODUCT + 1, self) for x in part]
            sides.append(joined(factors, r" \, "))
        above, below = sides
        return (rf"\frac{{{above}}}{{{below}}}" if quotient.below else above), _PRODUCT

    def parentheses(self, text: str) -> str:
        """Return a text in parentheses of its height."""
        return rf"\left({text}\right)"

    def _size(self, size: Size) -> str:
        return re.sub(r"[A-Za-z]\w*", lambda found: self.name(found[0]), str(size))

    def _call(self, name: str, parts: Sequence[Term]) -> tuple[str, int]:
        inner = ", ".join(self.text(part) for part in parts)
        if name in _AROUND:
            before, after = _AROUND[name]
            return f"{before}{inner}{after}", _ATOM
        if name == "exp":
            return (rf"e^{{{inner}}}", _POWER) if len(inner) < 40 else (
                rf"\exp\left({inner}\right)", _ATOM)  # fmt: skip
        return rf"{_operator(name)}\left({inner}\right)", _ATOM

    def _contract(self, term: Term) -> tuple[str, int]:
        left, right, made = term.detail
        x, y = (within(self.bound(part), _SIGN, self) for part in term.parts)
        summed = set(left + right) - set(made)
        if len(summed) == 1 and set(left) & set(right) == summed and max(map(len, term.detail)) < 3:
            (label,) = summed
            if left[-1] != label or (len(left) == 1 and len(right) == 1):
                x = rf"{x}^{{\mathsf T}}"
            if right[0] != label:
                y = rf"{y}^{{\mathsf T}}"
            if made == (left + right).replace(label, ""):
                return rf"{x} \, {y}", _PRODUCT
        labels = "".join(sorted(summed))
        return rf"\sum_{{{labels}}} {x}_{{{left}}} \, {y}_{{{right}}}", _SUM

    def _array(self, term: Term) -> tuple[str, int]:
        detail = term.detail
        match term.head:
            case "index":
                (part,) = term.parts
                if all(key is None or key == ":" for key in detail):
                    return self.bound(part)
                keys = ",".join(self._key(key) for key in detail)
                return f"{_subscripted(within(self.bound(part), _ATOM, self), keys)}", _ATOM
            case "gather":
                array, *indices = term.parts
                inner = ",".join(self.text(index) for index in indices)
                return _subscripted(within(self.bound(array), _ATOM, self), inner), _ATOM
            case "reduce":
                name, places = detail
                axis = "" if places is None else f"_{{{','.join(map(str, places))}}}"
                if name == "norm":
                    return rf"\left\lVert {self.text(term.parts[0])} \right\rVert{axis}", _ATOM
                text = within(self.bound(term.parts[0]), _SUM + 1, self)
                return f"{_REDUCE[name]}{axis} {text}", _SUM + 1
            case "permute" if detail == (1, 0):
                return rf"{within(self.bound(term.parts[0]), _ATOM, self)}^{{\mathsf T}}", _ATOM
            case "expand" | "reshape" | "permute":
                return self.bound(term.parts[0])
            case "full":
                return self.bound(term.parts[0])
            case "stack" | "concatenate":
                inner = r",\; ".join(self.text(part) for part in term.parts)
                return rf"\left[{inner}\right]", _ATOM
            case "array":
                return self._constant(detail.array), _ATOM
            case "arange":
                return rf"\left[0, \dots, {self._size(detail)} - 1\right]", _ATOM
        inner = ", ".join(self.text(part) for part in term.parts)
        return rf"{_operator(detail[0])}\left({inner}\right)", _ATOM

    def _constant(self, array: Any) -> str:
        if array.size > 12 or array.ndim > 1:
            return rf"\left[{array.size}\text{{ numbers}}\right]"
        return rf"\left[{', '.join(f'{x:.6g}' for x in array)}\right]"

    def _key(self, key: Any) -> str:
        if key is None or key == ":":
            return ":"
        if key[0] == "at":
            return self.name(key[1]) if isinstance(key[1], str) else self._size(key[1])
        _, start, stop, step, _ = key
        text = f"{self._size(start)}:{self._size(stop)}"
        return text + (f":{step}" if step != 1 else "")

    # -- statements --------------------------------------------------------------------------------

    def statement(self, statement: Statement, depth: int) -> Iterator[str]:
        """Yield the rows of a statement."""
        blank = r"\quad " * depth
        match statement:
            case Assign(names=names, term=term):
                left = ",\\, ".join(map(self.name, names))
                yield f"{blank}{left} &= {self.text(term)}"
            case Put():
                name = self.name(statement.name)
                yield f"{blank}{name} &= {self.text(statement.array)}"
                keys = ",".join(
                    [self._key(key) for key in statement.window]
                    + [self.text(index) for index in statement.indices]
                )
                sign = r"\mathrel{+}=" if statement.is_sum else "="
                yield f"{blank}{_subscripted(name, keys)} &{sign} {self.text(statement.part)}"
            case Loop():
                yield from self._loop(statement, depth)
            case Branch():
                chosen = ",\\, ".join(map(self.name, statement.names))
                words = (rf"\text{{if }} {self.text(statement.condition)}", r"\text{otherwise}")
                for word, block, values in zip(words, statement.blocks, statement.values):
                    yield rf"{blank}& {word}:"
                    for inner in block:
                        yield from self.statement(inner, depth + 1)
                    made = ",\\, ".join(map(self.text, values))
                    yield rf"{blank}\quad {chosen} &= {made}"

    def _loop(self, loop: Loop, depth: int) -> Iterator[str]:
        blank = r"\quad " * depth
        for name, start in loop.carries:
            yield f"{blank}{self.name(name)} &= {self.text(start)}"
        counter = self.name(loop.counter)
        if loop.condition is not None:
            for inner in loop.before:
                yield from self.statement(inner, depth)
            yield rf"{blank}& \text{{while }} {self.text(loop.condition)}:"
        else:
            assert loop.count is not None
            last = rf"{self.text(loop.count)} - 1"
            order = rf"{last}, \dots, 0" if loop.reverse else rf"0, \dots, {last}"
            yield rf"{blank}& \text{{for }} {counter} = {order}:"
        for inner in loop.body:
            yield from self.statement(inner, depth + 1)
        blank += r"\quad "
        for (name, _), row in zip(loop.stacked, loop.rows):
            yield f"{blank}{_subscripted(self.name(name), counter)} &= {self.text(row)}"
        changed = [
            (self.name(name), self.text(term))
            for (name, _), term in zip(loop.carries, loop.after)
        ]  # fmt: skip
        for name, text in changed:
            if name != text:
                yield rf"{blank}{name} &\leftarrow {text}"


def _word(word: str) -> str:
    word = "".join(_LETTERS.get(letter, letter) if len(word) == 1 else letter for letter in word)
    if word in _GREEK:
        return f"\\{word}"
    if len(word) == 1 or word.isdecimal():
        return word
    escaped = word.replace("_", r"\_")
    return rf"\mathrm{{{escaped}}}"


def _operator(name: str) -> str:
    escaped = name.replace("_", r"\_")
    return _FUNCTIONS.get(name, rf"\operatorname{{{escaped}}}")


def _subscripted(text: str, keys: str) -> str:
    """Return a text with a subscript; one that has a subscript is a group."""
    return f"{{{text}}}_{{{keys}}}" if "_" in text or "^" in text else f"{text}_{{{keys}}}"
