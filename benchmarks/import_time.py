"""What `import gradc` costs over `import numpy`: the median of fresh interpreters, in milliseconds.

Run it alone on a quiet machine: ``python benchmarks/import_time.py [runs]``.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

PROBE = """
import time
import numpy
start = time.perf_counter()
import gradc
print(1000 * (time.perf_counter() - start))
"""


def measure() -> float:
    """Return the milliseconds `import gradc` takes in a fresh interpreter that has NumPy."""
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> None:
    """Print the median, the smallest and the largest time."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    measure()  # writes the byte code
    times = sorted(measure() for _ in range(runs))
    print(
        f"import gradc over import numpy: {statistics.median(times):.1f} ms "
        f"(median of {runs}; {times[0]:.1f} to {times[-1]:.1f})"
    )


if __name__ == "__main__":
    main()
