"""How a command ends that cannot do what it was asked for: a line on standard error, code 2."""

from __future__ import annotations

from typing import IO, Any

import click


class Failure(click.ClickException):
    """Something about the user's files, or what was asked of them, that a line tells."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the line."""
        tell(self.message)


def tell(message: str) -> None:
    """Print a line about what failed on standard error."""
    click.echo(f"{click.style('Error:', fg='red', bold=True)} {message}", err=True)


def tell_use(error: click.UsageError) -> None:
    """Print a line about a wrong use, with the command whose help says the right one."""
    command = error.ctx.command_path if error.ctx is not None else None
    message = " ".join(error.format_message().split())
    message = message if message.endswith((".", "?")) else f"{message}."
    tell(message + (f" See {command} --help." if command else ""))
