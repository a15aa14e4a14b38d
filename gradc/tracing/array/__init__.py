"""What a traced array has, as a user of NumPy knows it: members, operators, iteration, numbers."""
