"""Rules of the user's: how they are written, read and registered."""
