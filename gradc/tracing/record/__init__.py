"""The run of a function that records its graph, to its end or past its errors."""
