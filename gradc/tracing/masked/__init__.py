"""Selections by a traced mask, and the functions they can be given to."""
