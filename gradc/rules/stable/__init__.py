"""The stable rules, by the function that their right sides are made of."""
