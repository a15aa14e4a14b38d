"""Texts of functions with something wrong in them: mutants of the golden ones, and made ones."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from gradc_ir.errors import GradcError, ParseError, VerifyError
from gradc_ir.text.lexer import Cursor
from gradc_ir.text.parser import parse_module
from gradc_ir.text.printer import print_function
from gradc_ir.verify import verify
from tests.golden_runner import GOLDEN, cases_of

# What stands in for a token, or is put between two.
_WORDS = """
    { } ( ) [ ] , : = -> func @f @step %0 %1 %x %"" @"" ?x true false none f64 f32 i64 i32 bool
    f64[n] f64[0] f64[-1] f64[n//0] f64[n-9] f64[1,1] i64[3] n -1 0 1 2 7 1.5 -0.0 1e999
    nan inf -inf nan:0x7 nan:0xfff7 99999999999999999999 9223372036854775808 -5 0x1p3
    add exp scan while cond call constant reduce_sum contract broadcast slice pad gather sort return
    external recover unbounded iota param concatenate transpose reshape solve
    "ij,jk->ik" "i->ii" "->" "" "ij" [0] [9] [-1] [true] ["a"] [none] {axes=3} [[0],[1,2]]
"""
PIECES = (*_WORDS.split(), "axes = [0]", "é", "\0", "\\", "#", "\n")


def blocks() -> list[str]:
    """Return the texts of functions in the golden files, those with bodies together with them."""
    return [
        case.before
        for path in sorted(GOLDEN.rglob("*.ir"))
        for case in cases_of(path.read_text())
        if parses(case.before)
    ]


def parses(text: str) -> bool:
    """Whether a text is that of functions."""
    try:
        parse_module(text)
    except GradcError:
        return False
    return True


def mutants(texts: Sequence[str], count: int, seed: int) -> Iterator[str]:
    """Yield so many texts, each with one to three changes: of characters, tokens or lines."""
    draw = random.Random(seed)
    for _ in range(count):
        text = draw.choice(texts)
        for _ in range(draw.choice((1, 1, 1, 2, 3))):
            text = draw.choice((_characters, _tokens, _tokens, _tokens, _lines))(text, draw)
        yield text


def _characters(text: str, draw: random.Random) -> str:
    at = draw.randrange(len(text) + 1)
    new = draw.choice(("", chr(draw.randrange(1, 256)), draw.choice(text or " ")))
    return text[:at] + new + text[at + draw.randrange(3) :]


def _tokens(text: str, draw: random.Random) -> str:
    try:
        tokens = Cursor(text).tokens[:-1]
    except ParseError:
        return text
    if not tokens:
        return text
    one, other = draw.choice(tokens), draw.choice(tokens)
    new = draw.choice((draw.choice(PIECES), other.text, "", f"{one.text} {draw.choice(PIECES)}"))
    return text[: one.start] + new + text[one.end :]


def _lines(text: str, draw: random.Random) -> str:
    lines = text.split("\n")
    at = draw.randrange(len(lines))
    match draw.randrange(3):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, draw.choice(lines))
        case _:
            other = draw.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
    return "\n".join(lines)


def made() -> Iterator[str]:
    """Yield texts that are deep, long or huge."""
    yield ""
    yield "func"
    yield "\0"
    for deep in (50, 5_000, 200_000):
        yield f"func @f() -> f64[{'(' * deep}1{')' * deep}] {{\n return\n}}"
        yield f"func @f(%x: f64[{'-' * deep}n]) -> f64 {{\n return\n}}"
        yield f"func @f(%x: f64[{'max(n, ' * deep}1{')' * deep}]) -> f64 {{\n return\n}}"
        yield f"func @f(%x: f64[{'+'.join(['n'] * deep)}]) -> f64 {{\n return\n}}"
        yield (
            "func @f(%x: f64[3]) -> f64[3] {\n"
            f"  %0: f64[3] = transpose %x {{permutation = {'[' * deep}{']' * deep}}}\n"
            "  return %0\n}"
        )
        yield "func @f() -> f64 {\n  %0: f64 = constant " + "9" * deep + "\n  return %0\n}"
        yield "func @f() -> i64 {\n  %0: i64 = constant " + "9" * deep + "\n  return %0\n}"
        yield "func @f() -> f64 {\n  %0: f64 = constant 1e" + "9" * deep + "\n  return %0\n}"
        yield "func @f() -> f64 {\n  %0: f64 = constant nan:0x" + "f" * deep + "\n  return %0\n}"
        yield "func @f(%x: f64[" + "9" * deep + "]) -> f64 {\n  return %x\n}"
    for deep in (50, 400, 2_000):
        # functions in functions
        yield (
            "\n".join(
                f"func @f{i}(%x: f64) -> f64 {{\n"
                f"  %0: f64 = checkpoint %x {{body = @f{i + 1}}}\n  return %0\n}}"
                for i in range(deep)
            )
            + f"\nfunc @f{deep}(%x: f64) -> f64 {{\n  return %x\n}}"
        )
    yield "func @f(%x: f64[n ** 9]) -> f64 {\n  return %x\n}"
    yield "func @f(%x: f64[" + "*".join(["(n+m+1)"] * 30) + "]) -> f64 {\n  return %x\n}"
    for size, value in (("1000000,1000000", "broadcast 1.0 {axes = []}"), (f"0,{'9' * 20}", "[]")):
        value = value if "{" in value else f"constant {value}"
        yield f"func @f() -> f64[{size}] {{\n  %0: f64[{size}] = {value}\n  return %0\n}}"


def refusal(text: str) -> str:
    """Return how a text is refused: "" when it is well formed, prints and parses again.

    Any other exception than ParseError and VerifyError comes through.
    """
    try:
        functions = parse_module(text)
    except ParseError as error:
        return str(error)
    for function in functions.values():
        try:
            verify(function)
        except VerifyError as error:
            return str(error)
        printed = print_function(function)
        again = next(iter(parse_module(printed).values()))
        assert print_function(again) == printed, printed
        assert again == function, printed
    return ""
