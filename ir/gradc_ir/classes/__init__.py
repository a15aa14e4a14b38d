"""Kinds of classes that all rooms are made of, as of the standard library and made quickly."""
