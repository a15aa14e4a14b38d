"""Loop distribution, a pass: what a loop computes of each row by itself leaves it for whole
arrays.
"""

from gradc.distribution.distribute import DistributeLoops

__all__ = ["DistributeLoops"]
