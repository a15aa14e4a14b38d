"""Rules proved over the reals, and measured in floating point."""
