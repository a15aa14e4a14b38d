"""Graphs as text, of a file or of standard input."""

from __future__ import annotations

import sys
from pathlib import Path

from gradc.cli.frame.failure import Failure
from gradc_ir.core.graph import Function


def read_graph(name: str) -> Function:
    """Return the graph that a file holds, or standard input for ``-``."""
    from gradc_ir.text.parser import parse_function

    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise Failure(f"cannot read {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Failure(f"cannot read {name}: it is no text in UTF-8") from None
    return parse_function(text)
