"""How the user's code is seen: copies of functions, and stand-ins for what they reach."""
