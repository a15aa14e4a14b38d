"""What other systems call their gradients by, with their meaning, on NumPy arrays: one file a
system.
"""

from gradc.compat import ivy, tf

__all__ = ["ivy", "tf"]
