"""How far values and gradients are from the truth, in bits, for naive NumPy code."""
