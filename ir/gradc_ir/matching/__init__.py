"""Patterns, and the engine that rewrites what they match; the rules stand elsewhere."""
