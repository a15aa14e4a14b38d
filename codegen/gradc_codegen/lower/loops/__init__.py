"""Ways to write a loop: unrolled, in tiles, for short sums apart, where it is needed."""
