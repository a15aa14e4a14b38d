"""Expansions near points where the closed form of a function of one value loses its digits: what
finds, measures and writes them.
"""

from gradc.rules.series.expand import ExpandSeries
from gradc.rules.series.guards import ContinueGuards, SettleGuards

__all__ = ["ContinueGuards", "ExpandSeries", "SettleGuards"]
