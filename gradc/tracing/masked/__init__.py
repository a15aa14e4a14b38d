"""What may be done with what a traced mask selects, whose size nobody knows."""
