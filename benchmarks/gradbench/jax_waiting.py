"""The suite's tool of JAX, except that each run ends when its results are there.

The tool takes the time at which JAX returns, which is before it has computed. Called with the
tool's script.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
from gradbench import wrap

as_it_is = wrap.multiple_runs


def waiting(**options: Any) -> Callable[[Callable[[Any], Any]], Any]:
    """Return the suite's decorator of measured functions, of one that waits."""
    measured = as_it_is(**options)
    return lambda function: measured(lambda given: jax.block_until_ready(function(given)))


if __name__ == "__main__":
    script = sys.argv[1]
    # without the option it would choose a core by itself
    sys.argv[:] = [script, "--multithreaded"]
    sys.path.insert(0, str(Path(script).parent))
    wrap.multiple_runs = waiting
    runpy.run_path(script, run_name="__main__")
