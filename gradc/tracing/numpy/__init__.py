"""The NumPy functions, each recorded in terms of ops: one record a function, beside its body."""
