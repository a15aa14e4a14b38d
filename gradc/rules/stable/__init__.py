"""The stable rules, in rooms by the function that their right sides are made of: equal over the
reals, never less accurate.
"""
