"""One call: its signature, the checks of its arguments, the nests of tangents and results."""
