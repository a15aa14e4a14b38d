"""Where values live: registers, scratch, the memory of results."""
