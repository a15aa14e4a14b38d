"""One eval with one tool: what the eval asks goes to the tool, and what it says of the answers."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.gradbench.conversation import Conversation, Over
from benchmarks.gradbench.tools import Tool, environment

VALUES = {"objective", "primal", "cost"}


@dataclass
class Measured:
    """A function at certain sizes in a tool.

    Attributes
    ----------
    time: seconds of a run, the median without the first.
    least: the same, the least.
    first: processor seconds of the first run; those of the clock where the tool does not tell.
    failure: what was wrong; empty if the eval found the answer valid.
    """

    eval: str
    tool: str
    function: str
    sizes: str
    time: float | None = None
    least: float | None = None
    first: float | None = None
    failure: str = "not judged"

    @property
    def is_value(self) -> bool:
        """Whether no derivative is computed."""
        return self.function in VALUES


def read_times(found: Measured, timings: Sequence[Any]) -> None:
    """Fill in the times of an answer."""
    runs = [entry["nanoseconds"] / 1e9 for entry in timings if entry["name"] == "evaluate"]
    told = [entry["nanoseconds"] / 1e9 for entry in timings if entry["name"] == "first_processor"]
    later = runs[1:] or runs
    found.time, found.least, found.first = statistics.median(later), min(later), [*told, runs[0]][0]


def drive(
    name: str, tool: Tool, suite: Path, log: Path, options: Sequence[str], within: float
) -> list[Measured]:
    """Return what was measured; an answer that takes longer than so many seconds is cut."""
    script = suite / f"python/gradbench/gradbench/evals/{name}/run.py"
    command = [sys.executable, str(script), *options]
    asking = Conversation(command, suite, log, environment(suite))
    found: dict[int, Measured] = {}
    try:
        while (message := asking.hear())["kind"] != "end":
            if message["kind"] == "evaluate":
                found[message["id"]] = Measured(
                    name, tool.name, message["function"], message.get("description", "")
                )
            elif message["kind"] == "analysis":
                judged = found[message["of"]]
                judged.failure = "" if message["valid"] else message["error"]
            answer = answered(tool, message, within)
            if message["kind"] == "evaluate":
                if answer["success"]:
                    read_times(found[message["id"]], answer["timings"])
                else:
                    found[message["id"]].failure = answer["error"]
            asking.say({"id": message["id"]} | answer)
    except Over:  # an eval that has no more to ask ends
        if asking.status():
            found[-1] = Measured(name, tool.name, "", "", failure="the eval failed")
    finally:
        asking.end()
        tool.end()
    return list(found.values())


def answered(tool: Tool, message: dict[str, Any], within: float) -> Any:
    """Return a tool's answer, or one that says that there is none."""
    if message["kind"] == "analysis":
        return {}
    try:
        return tool.ask(message, within)
    except TimeoutError:
        return {"success": False, "error": f"cut after {within:g} s"}
    except Over:
        return {"success": False, "error": "the tool ended"}
