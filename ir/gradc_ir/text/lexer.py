"""Tokens of the language's text, shared by functions, types, specs and patterns.

Every error underlines the place::

    ParseError: expected a type, found )
      line 3: %0: ) = add %x, %y
                  ^
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager

from gradc_ir.classes.named import NamedTuple
from gradc_ir.errors import GradcError, ParseError

_TOKEN = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<comment>\#[^\n]*)
    | (?P<value>%(?:[A-Za-z0-9_.]+|"(?:[^"\\\n]|\\.)*"))
    | (?P<function>@(?:[A-Za-z0-9_.<>-]+|"(?:[^"\\\n]|\\.)*"))
    | (?P<variable>\?[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>-?(?:0x[0-9a-f]+(?:\.[0-9a-f]*)?p[+-]?\d+
        | (?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?
        | (?:inf|nan)(?![A-Za-z0-9_])(?::0x[0-9a-f]+)?))
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<mark>->|=>|//|[-+*/(){}\[\],:=])
    """,
    re.VERBOSE,
)


_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
# Beyond these no text is meant, and reading it would take long, or more stack than there is.
_DEEPEST = 100
_LONGEST = 1000


class Token(NamedTuple):
    """A piece of text: its kind (a group name of the grammar, or ``end``) and where it stands."""

    kind: str
    text: str
    start: int
    end: int

    def __str__(self) -> str:
        return self.text if self.kind != "end" else "the end of the text"


class Cursor:
    """A place in a text, from which tokens are taken one after another.

    ``comments`` has the comments by the number of their line, counted from 0.
    """

    def __init__(self, text: str, error: type[GradcError] = ParseError) -> None:
        self.text = text
        self.error = error
        self.comments: dict[int, str] = {}
        self._line_ends = [found.start() for found in re.finditer("\n", text)]
        self.tokens = list(self._tokens())
        self.position = 0

    def _tokens(self) -> Iterator[Token]:
        start = depth = 0
        while start < len(self.text):
            found = _TOKEN.match(self.text, start)
            if found is None:
                bad = Token("mark", self.text[start], start, start + 1)
                raise self.failure(f"unexpected character {bad}", bad)
            kind, end = found.lastgroup or "", found.end()
            if end - start > _LONGEST and kind == "number":
                long = Token("number", self.text[start : start + 10], start, start + 10)
                raise self.failure(f"a number of {end - start} characters", long)
            if kind == "mark":
                depth += (found.group() in _OPEN) - (found.group() in _CLOSE)
                if depth > _DEEPEST:
                    bad = Token("mark", found.group(), start, end)
                    raise self.failure(f"more than {_DEEPEST} brackets are open", bad)
            if kind == "comment":
                self.comments[self._line(start)] = found.group()[1:].strip()
            elif kind != "space":
                yield Token(kind, found.group(), start, end)
            start = end
        yield Token("end", "", start, start)

    @property
    def next(self) -> Token:
        """The next token, which stays."""
        return self.tokens[self.position]

    @property
    def line(self) -> int:
        """The number of the next token's line, counted from 0."""
        return self._line(self.next.start)

    def _line(self, place: int) -> int:
        return bisect_left(self._line_ends, place)

    def comments_of_statement(self) -> list[str]:
        """Return the comments of the statement that begins here: beside it, and below.

        It ends before a token that begins a line and cannot go on with what stands before it.
        """
        first = last = self.line
        for position in range(self.position + 1, len(self.tokens)):
            token = self.tokens[position]
            line = self._line(token.start)
            if line == last:
                continue
            begins = token.kind in ("value", "end") or token.text in ("return", "}")
            if begins and self.tokens[position - 1].text not in (",", "="):
                last = line - 1
                break
            last = line
        return [self.comments[i] for i in range(first, last + 1) if i in self.comments]

    def take(self) -> Token:
        """Take the next token."""
        token = self.tokens[self.position]
        self.position += token.kind != "end"
        return token

    def accept(self, text: str) -> bool:
        """Take the next token if it is a mark or name of this text, and say whether it was."""
        if self.next.text == text and self.next.kind in ("mark", "name"):
            self.position += 1
            return True
        return False

    def expect(self, text: str) -> Token:
        """Take the next token, which must be this mark or name."""
        token = self.next
        if not self.accept(text):
            raise self.failure(f"expected {text}, found {token}", token)
        return token

    def expect_kind(self, kind: str, wanted: str) -> Token:
        """Take the next token, which must be of this kind; ``wanted`` says so in the error."""
        if self.next.kind != kind:
            raise self.failure(f"expected {wanted}, found {self.next}", self.next)
        return self.take()

    def sequence(self, close: str) -> Iterator[None]:
        """Yield before each item of a comma-separated sequence, and take ``close`` at its end."""
        while not self.accept(close):
            yield
            if not self.accept(","):
                self.expect(close)
                return

    def expect_end(self) -> None:
        """Check that nothing is left."""
        self.expect_kind("end", "the end of the text")

    @contextmanager
    def blaming(self, token: Token) -> Iterator[None]:
        """Turn errors about what is built from the text into errors that underline a token."""
        try:
            yield
        except self.error:
            raise
        except GradcError as error:
            raise self.failure(error.what, token, *error.found, help=error.help) from error
        except (ValueError, OverflowError) as error:
            raise self.failure(str(error), token) from error

    def failure(self, what: str, token: Token, *found: str, help: str | None = None) -> GradcError:
        """Return an error that shows the line of a token and underlines it."""
        begin = self.text.rfind("\n", 0, token.start) + 1
        end = self.text.find("\n", token.start)
        shown = self.text[begin : end if end >= 0 else len(self.text)]
        number = self._line(token.start) + 1
        heading = f"line {number}: " if "\n" in self.text.strip() else ""
        marks = "^" * max(1, min(token.end, begin + len(shown)) - token.start)
        indent = " " * (len(heading) + token.start - begin)
        return self.error(what, found=[f"{heading}{shown}", f"{indent}{marks}", *found], help=help)


def parse_number(text: str) -> int | float:
    """Return the number written in a ``number`` token: an int where it has no point or exponent."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if "0x" in text and ":" not in text:
        return float.fromhex(text)
    return float(text.partition(":")[0])
