"""Checks of functions: derivatives against other numbers, bits against bits, and accuracy; what
users run, not our own tests.
"""

from gradc.testing.accuracy import check_accuracy
from gradc.testing.determinism import check_determinism, compare_bits
from gradc.testing.gradients import check_function, check_grads, compare_grads
from gradc.testing.sampling import sample_arguments
from gradc.testing.slopes import widen

__all__ = [
    "check_accuracy",
    "check_determinism",
    "check_function",
    "check_grads",
    "compare_bits",
    "compare_grads",
    "sample_arguments",
    "widen",
]
