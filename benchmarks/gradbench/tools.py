"""What is put side by side: gradc, JAX, and each tool of the suite that has been built."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from benchmarks.gradbench.conversation import Conversation, Over

ROOT = Path(__file__).resolve().parents[2]

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def environment(suite: Path) -> dict[str, str]:
    """Return the environment of evals and tools: gradc compiles anew, nothing is kept on disk."""
    packages = os.pathsep.join([str(suite / "python/gradbench"), str(ROOT)])
    own = {"PYTHONPATH": packages, "JAX_PLATFORMS": "cpu", "GRADC_CACHE": "0"}
    return os.environ | ONE_THREAD | own


def processor_clock() -> Path:
    """Return a library; processes that preload it take the processor's time for the clock's."""
    source = Path(__file__).with_name("processor_clock.c")
    made = Path(tempfile.gettempdir()) / "gradbench_processor_clock.so"
    command = ["cc", "-O2", "-shared", "-fPIC", source, "-o", made]
    subprocess.run(command, check=True)
    return made


class Tool(Protocol):
    """Something that answers messages."""

    name: str

    def has(self, name: str) -> bool:
        """Whether it knows the eval of this name."""

    def ask(self, message: Mapping[str, Any], within: float) -> Any:
        """Return the answer, without the message's number; TimeoutError or Over if there is none.

        It can be asked again after an error.
        """

    def end(self) -> None:
        """Stop what runs."""


@dataclass
class Speaking:
    """A tool that is a process of its own and speaks the protocol."""

    name: str
    command: list[str]
    folder: Path
    suite: Path
    log: Path
    _process: Conversation | None = field(default=None, init=False)

    def has(self, name: str) -> bool:
        """Whether there is a file for the eval."""
        return (self.folder / f"{name}.py").is_file()

    def ask(self, message: Mapping[str, Any], within: float) -> Any:
        """Return the answer; a process that does not give one is replaced."""
        if self._process is None:
            self._process = Conversation(
                self.command, self.suite, self.log, environment(self.suite)
            )
        try:
            self._process.say(message)
            answer = self._process.hear(within)
        except (TimeoutError, Over):
            self.end()
            raise
        del answer["id"]
        return answer

    def end(self) -> None:
        """Stop the process."""
        if self._process is not None:
            self._process.end()
            self._process = None


@dataclass(frozen=True)
class Built:
    """A tool of an executable for each eval, which is given an input's file and a function."""

    name: str
    folder: Path
    suite: Path

    def has(self, name: str) -> bool:
        """Whether the eval has been built."""
        return os.access(self.folder / name, os.X_OK)

    def ask(self, message: Mapping[str, Any], within: float) -> Any:
        """Return the answer: the executable prints the output and then a line a timing."""
        if message["kind"] != "evaluate":
            return {"success": True} if message["kind"] == "define" else {}
        with tempfile.NamedTemporaryFile("w", suffix=".json") as given:
            json.dump(message["input"], given)
            given.flush()
            command = [self.folder / message["module"], given.name, message["function"]]
            try:
                ran = subprocess.run(
                    command, cwd=self.suite, capture_output=True, timeout=within, text=True
                )
            except subprocess.TimeoutExpired as error:
                raise TimeoutError from error
        if ran.returncode:
            return {"success": False, "error": ran.stderr}
        output, *timings = (json.loads(line) for line in ran.stdout.splitlines())
        return {"success": True, "output": output, "timings": timings}

    def end(self) -> None:
        """Nothing runs."""


def tools_of(suite: Path, log: Path) -> list[Tool]:
    """Return gradc, JAX if it is installed, and the tools under ``tools`` with executables."""
    found: list[Tool] = [
        Speaking(
            "gradc",
            [sys.executable, "-m", "benchmarks.gradbench.tool"],
            Path(__file__).parent / "programs",
            suite,
            log,
        )
    ]
    if importlib.util.find_spec("jax"):
        folder = suite / "python/gradbench/gradbench/tools/jax"
        script = str(folder / "run.py")
        command = [sys.executable, "-m", "benchmarks.gradbench.jax_waiting", script]
        found.append(Speaking("jax", command, folder, suite, log))
    folders = sorted(path for path in suite.glob("tools/*/bin") if path.is_dir())
    return [*found, *(Built(folder.parent.name, folder, suite) for folder in folders)]
