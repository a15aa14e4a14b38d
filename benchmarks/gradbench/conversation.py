"""A process that is spoken with in lines of JSON, as GradBench's evals and tools are."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


class Over(Exception):
    """The process has ended."""


class Conversation:
    """A process with its ends of two pipes; what it prints besides goes into a log."""

    def __init__(
        self, command: Sequence[str], folder: Path, log: Path, environment: Mapping[str, str]
    ) -> None:
        self._command = command
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._read = b""

    def say(self, message: Mapping[str, Any]) -> None:
        """Write a message."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise Over(self._command) from error

    def hear(self, within: float | None = None) -> Any:
        """Return the next message; TimeoutError after so many seconds, Over at the end."""
        assert self._process.stdout is not None
        until = None if within is None else time.monotonic() + within
        pieces = [self._read]
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in pieces[-1]:
                left = None if until is None else until - time.monotonic()
                if left is not None and (left <= 0 or not selector.select(left)):
                    raise TimeoutError
                pieces.append(os.read(self._process.stdout.fileno(), 1 << 20))
                if not pieces[-1]:
                    raise Over(self._command)
        line, self._read = b"".join(pieces).split(b"\n", 1)
        return json.loads(line)

    def status(self) -> int:
        """Return the exit status of a process that ends by itself."""
        return self._process.wait()

    def end(self) -> None:
        """Stop the process."""
        self._process.kill()
        self._process.communicate()
