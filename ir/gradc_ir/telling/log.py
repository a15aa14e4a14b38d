"""What is told while gradc works: to the logger ``gradc``, and to who asks by ``GRADC_LOG``."""

from __future__ import annotations

import logging
import os
import sys
from typing import Any


def log(topic: str, message: str, *values: Any) -> None:
    """Log to the logger ``gradc``, and to standard error when ``GRADC_LOG`` names the topic."""
    logging.getLogger("gradc").debug(message, *values)
    if is_asked(topic):
        print("gradc: " + message % values, file=sys.stderr)


def is_asked(topic: str) -> bool:
    """Whether ``GRADC_LOG`` names a topic."""
    return topic in os.environ.get("GRADC_LOG", "").split(",")
