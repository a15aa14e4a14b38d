"""Rules of the user's: what reads, checks and registers them; gradc's own pass by."""
