"""The pass of the last rules, and the table of their files, each loaded where it may be needed.

Their right sides hide the sums, exponentials and differences that other rules look for, and pick
elements apart whose derivative is that of the whole.
"""

from __future__ import annotations

from importlib import import_module

from gradc.rules.engine import apply_rules
from gradc_ir.core.graph import Function
from gradc_ir.matching.choice import Family
from gradc_ir.pipeline import PlainPass


def _family(name: str, looks: str) -> Family:
    return Family(name, looks, lambda: import_module(f"gradc.rules.final.{name}").RULES)


# The first rule that fires wins.
FAMILIES: list[Family] = [
    _family("softmax_shares", "log: reduce_sum; add sub: exp select"),
    _family("exp_products", "exp: mul neg"),
    _family("difference_of_powers", "add sub: div mul neg power"),
    _family(
        "close_values",
        "add sub: exp exp_product log log1p sigmoid sqrt; add sub: /; log log10 log2: div",
    ),
    _family("removable_quotients", "div mul: / add"),
    _family("intervals", "add sub: erf erfc ndtr"),
    _family("directions", "fence: div"),
    _family(
        "tiny_arguments",
        "div mul: arcsin arcsinh arctan arctanh expm1 log1p sin sinh tan tanh",
    ),
]


class Finish(PlainPass):
    """Apply the last rules."""

    name = "finish"
    summary = "put forms that only compute where they are more accurate"

    def __call__(self, function: Function) -> Function:
        """Return the function in its last form."""
        return apply_rules(self.name, function, FAMILIES)
