"""Several threads: which loops are divided among them, and the pool that runs them."""
