"""Small arrays as numbers: each op element by element, and the pass that takes them apart."""
