"""What numbers a value may hold, found from how it is made."""
