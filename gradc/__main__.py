"""``python -m gradc``: the same as the command ``gradc``."""

from gradc.cli.main import main

main()
