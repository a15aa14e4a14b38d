"""Structured control flow: loops and branches on nests, in traced code and outside of it."""
