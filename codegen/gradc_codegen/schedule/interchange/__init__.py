"""Loop interchange: which loops take an axis strip by strip, and the graph in which they do."""
