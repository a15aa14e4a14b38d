"""Rules proved over the reals and measured in floating point: what judges rules and applies
none.
"""
