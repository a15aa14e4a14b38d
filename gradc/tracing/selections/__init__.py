"""What a traced mask selects, and what can be done with it."""
