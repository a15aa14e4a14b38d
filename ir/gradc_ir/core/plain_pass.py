"""What passes without options are: all of one class are equal."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PlainPass:
    """The base of passes without fields, whose methods are made once and not for each class."""
