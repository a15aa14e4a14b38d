"""What an array has: members, operators, views, indexing and assignment."""
