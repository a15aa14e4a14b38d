"""The rewrites of a graph that come before its schedule, one file each, and the list of them."""
