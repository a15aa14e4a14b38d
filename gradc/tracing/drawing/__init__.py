"""Random numbers in traced code: draws of generators that it makes, and why others are refused."""
