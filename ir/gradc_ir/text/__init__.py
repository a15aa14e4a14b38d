"""The text of a graph: printed, parsed, shown."""
