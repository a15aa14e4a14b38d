"""The distributions and summaries of scipy.stats."""
