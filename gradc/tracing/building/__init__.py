"""What recorders build with: operands made alike, axes, numbers, functions by name; no function
of NumPy.
"""
