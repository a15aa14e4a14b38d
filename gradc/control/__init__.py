"""Loops and branches on nests, in traced code and outside of it: what users call, and what
traces its bodies.
"""
