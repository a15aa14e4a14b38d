"""The rewrites of a graph that come before its schedule, and the list of them."""
