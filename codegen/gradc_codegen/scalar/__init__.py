"""The code of elementwise ops, for numbers and lanes."""
