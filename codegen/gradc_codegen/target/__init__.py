"""The processor that code is for, and what it can do."""
