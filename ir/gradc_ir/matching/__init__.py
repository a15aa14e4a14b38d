"""Patterns, and the engine that rewrites what they match."""
