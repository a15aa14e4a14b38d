"""Cotangents and tangents as they are carried: values with masks, and the sums of what is read."""
