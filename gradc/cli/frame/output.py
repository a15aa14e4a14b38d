"""What commands print: text and JSON, to a file or standard output; colours on terminals only."""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import click

from gradc.cli.frame.failure import Failure

_Item = TypeVar("_Item")

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON; docs/schemas/ says which."
)


def output_option(help: str) -> Callable[[Any], Any]:
    """Return the option ``-o`` with ``-`` for standard output."""
    return click.option("-o", "--output", default="-", type=click.Path(allow_dash=True), help=help)


def write(text: str, output: str) -> None:
    """Write text to a file, or to standard output for ``-``."""
    text = text if text.endswith("\n") else text + "\n"
    if output == "-":
        click.echo(text, nl=False)
        return
    try:
        with open(output, "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise Failure(f"cannot write to {output}: {error.strerror}") from None


def write_json(command: str, found: dict[str, Any], output: str = "-") -> None:
    """Write what a command found as JSON, with the name of the command in front.

    A nan is null, and an infinity a text: JSON has neither.
    """
    write(json.dumps({"command": command, **plain(found)}, indent=1, allow_nan=False), output)


def plain(found: Any) -> Any:
    """Return what JSON can hold of something."""
    if isinstance(found, dict):
        return {str(key): plain(item) for key, item in found.items()}
    if isinstance(found, list | tuple):
        return [plain(each) for each in found]
    if hasattr(found, "tolist"):
        return plain(found.tolist())
    if isinstance(found, float) and not math.isfinite(found):
        return None if math.isnan(found) else str(found)
    return found


# -- colours ---------------------------------------------------------------------------------------


def wants_colour() -> bool:
    """Whether standard output is a terminal that shows colours, and nobody asked for none."""
    if os.environ.get("NO_COLOR"):
        return False
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


_IR = re.compile(
    r'(?P<comment>#.*)|(?P<value>%(?:[\w.]+|"[^"]*"))|(?P<function>@[\w.<>-]+)'
    r"|(?P<op>(?<== )[a-z_]\w*)|(?P<word>\b(?:func|return|constant)\b)"
)
_PYTHON = re.compile(
    r"(?P<comment>#.*)|(?P<word>\b(?:def|return|from|import|for|in|while|if|else|not|break)\b)"
    r"|(?P<op>\b\w+(?=\())"
)
_COLOURS: dict[str, dict[str, Any]] = {
    "comment": {"dim": True},
    "value": {"fg": "cyan"},
    "function": {"fg": "magenta"},
    "op": {"bold": True},
    "word": {"fg": "blue", "bold": True},
}


def coloured(text: str, python: bool = False) -> str:
    """Return the text of a graph, or Python, with colours where they are wanted."""
    if not wants_colour():
        return text
    pattern = _PYTHON if python else _IR
    return pattern.sub(lambda m: click.style(m[0], **_COLOURS[m.lastgroup or ""]), text)


def coloured_change(line: str) -> str:
    """Return a line of a difference with its colour, where colours are wanted."""
    colour = {"+": "green", "-": "red", "#": None, "@": "blue"}.get(line[:1])
    if not wants_colour():
        return line
    if line.startswith("#"):
        return click.style(line, bold=True)
    return click.style(line, fg=colour) if colour else line


def progress(items: Iterable[_Item], what: str, total: int | None = None) -> Iterator[_Item]:
    """Yield items, and say on a terminal how far it is; the line is gone at the end."""
    shown = sys.stderr.isatty() and not os.environ.get("CI")
    for number, item in enumerate(items, 1):
        if shown:
            of = f"/{total}" if total else ""
            click.echo(f"\r\033[K{what} {number}{of}", err=True, nl=False)
        yield item
    if shown:
        click.echo("\r\033[K", err=True, nl=False)
