"""Known arrays: what short formulas make is computed where it is read."""
