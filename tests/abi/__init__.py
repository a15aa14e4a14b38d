"""The C headers of all versions of the ABI, and the ten functions that they are of."""
