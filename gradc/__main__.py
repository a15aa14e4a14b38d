"""``python -m gradc``: the same as the command ``gradc``."""

import sys

# Python puts the current folder in front, where a numpy.py would stand for NumPy.
if not sys.flags.safe_path and len(sys.path) > 1:
    sys.path.append(sys.path.pop(0))

from gradc.cli.main import main

main()
