"""Arguments as leaves: nests, arrays, and the axes that vmap maps over."""
