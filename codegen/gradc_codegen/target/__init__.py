"""The processor that code is for."""
