"""Small arrays as numbers: what each op is, element by element, and the pass that takes them apart."""
