"""Run tests twice on a cache of their own: what is found there has to pass what was traced.

    python tools/twice.py [what pytest takes]

Most of the tests of compiled functions by default. The second run loads what the first has kept;
the number of files tells that it has kept nearly nothing more.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

USUAL = ["-n", "auto", "--dist", "worksteal", "-m", "not slow", "tests/gradc"]


def run(cache: Path, args: list[str]) -> int:
    """Run pytest on the cache; returns its exit code, and prints how much is kept."""
    env = {**os.environ, "GRADC_CACHE": "1", "GRADC_CACHE_DIR": str(cache)}
    code = subprocess.run([sys.executable, "-m", "pytest", "-q", *args], env=env).returncode
    for kind in ("graphs", "objects"):
        print(f"{kind}: {sum(1 for each in cache.rglob(f'{kind}/**/*') if each.is_file())} files")
    return code


def main() -> int:
    """Return 0 where all passed both times."""
    args = sys.argv[1:] or USUAL
    with tempfile.TemporaryDirectory() as folder:
        codes = [run(Path(folder) / "cache", args) for _ in range(2)]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
