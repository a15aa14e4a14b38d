"""The tool: answers the messages of GradBench's protocol with the programs beside it.

``python -m benchmarks.gradbench.tool`` reads a message a line and writes an answer a line.
"""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from benchmarks.gradbench.programs.program import Function

Message = Mapping[str, Any]


def functions_of(module: str) -> Mapping[str, Function]:
    """Return the functions of a program by their names; an error where there is no such program."""
    functions: Mapping[str, Function] = import_module(
        f"benchmarks.gradbench.programs.{module}"
    ).FUNCTIONS
    return functions


def timings(function: Function, arguments: Any, runs: int, seconds: float) -> Iterator[Any]:
    """Yield the name and nanoseconds of each run, and last the result.

    Besides the time of the clock there is that of the processor, of the first run by itself: that
    one traces and compiles.
    """
    spent, done, name = 0, 0, "first_processor"
    while done < runs or spent < seconds * 1e9:
        # to ask for the processor's time takes half a microsecond, which is not the function's
        busy, began = time.process_time_ns(), time.perf_counter_ns()
        result = function.run(*arguments)
        elapsed = time.perf_counter_ns() - began
        busy = time.process_time_ns() - busy
        yield "evaluate", elapsed
        yield name, busy
        spent, done, name = spent + elapsed, done + 1, "processor"
    yield "result", result


def evaluated(message: Message) -> dict[str, Any]:
    """Return what a function answers and how long its runs took."""
    function, given = functions_of(message["module"])[message["function"]], message["input"]
    arguments = function.arguments(given)
    wanted = given if isinstance(given, Mapping) else {}
    runs, seconds = wanted.get("min_runs", 1), wanted.get("min_seconds", 0)
    found = list(timings(function, arguments, runs, seconds))
    _, result = found.pop()
    return {
        "success": True,
        "output": function.answer(result),
        "timings": [{"name": name, "nanoseconds": time} for name, time in found],
    }


def answered(message: Message) -> dict[str, Any]:
    """Return the answer to a message; an error of a program is one of its parts."""
    try:
        if message["kind"] == "start":
            return {"tool": "gradc"}
        if message["kind"] == "define":
            functions_of(message["module"])
            return {"success": True}
        if message["kind"] == "evaluate":
            return evaluated(message)
    except Exception:
        return {"success": False, "error": traceback.format_exc()}
    return {}


def main() -> None:
    """Answer until there are no more messages."""
    for line in sys.stdin:
        message = json.loads(line)
        print(json.dumps({"id": message["id"]} | answered(message)), flush=True)


if __name__ == "__main__":
    main()
