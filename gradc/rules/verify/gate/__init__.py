"""The gate: what a rule, a formula or a pass makes of special values, beside the naive graph and
exact real numbers.
"""
