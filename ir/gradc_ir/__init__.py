"""The language of gradc: types, ops, graphs, their text, their meaning, and passes over them."""
