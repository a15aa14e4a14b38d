"""What is joined of pieces and read by pieces: parts of values, carries of loops, and the pass."""
