"""SymPy both ways: its expressions as compiled functions, and graphs as expressions of its own."""
