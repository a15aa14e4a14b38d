"""Sums over rows that no one process has at once: in blocks, on clusters, and fits by them."""
