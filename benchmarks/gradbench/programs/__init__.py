"""The programs of GradBench, a file each: plain NumPy, as its reader would write it."""
