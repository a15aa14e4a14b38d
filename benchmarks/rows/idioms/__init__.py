"""Rows of what NumPy has one idiom for, and C++ a loop."""

from benchmarks.rows.idioms import (
    labels,
    last_state,
    mixture,
    powers,
    rows_looked_up,
    running_product,
    windows,
)

ROWS = (
    labels.ROW,
    powers.ROW,
    running_product.ROW,
    mixture.ROW,
    last_state.ROW,
    rows_looked_up.ROW,
    windows.ROW,
)
