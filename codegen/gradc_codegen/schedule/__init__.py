"""From a graph to loop nests: labels, statements, phases, lanes."""
