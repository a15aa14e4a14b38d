"""Loop distribution, a pass: what a loop computes of each row by itself leaves it for whole
arrays.

And a pass behind it, which leaves out a loop that another one computes in its steps.
"""

from gradc.distribution.distribute import DistributeLoops
from gradc.distribution.loops_within import LeaveOutLoops

__all__ = ["DistributeLoops", "LeaveOutLoops"]
