"""What a trace has read from outside, how it is read again, and what a trace has found."""
