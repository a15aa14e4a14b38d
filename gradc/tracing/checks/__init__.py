"""What traced code asserts or raises on conditions that only the program knows."""
