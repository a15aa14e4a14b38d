"""Sparse derivatives of compiled functions: which plan serves a call, and what users ask it for."""
