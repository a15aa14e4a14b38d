"""From a traced function to results: which kernel serves which sizes, its call, its halves, its
export; no user's name enters.
"""
