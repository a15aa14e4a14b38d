"""Distributions and summaries of scipy.stats."""
