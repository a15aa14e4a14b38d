"""Reading and writing elements: index keys, slices, picks and masks."""
