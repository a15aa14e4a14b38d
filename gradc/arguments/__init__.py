"""Arguments as leaves: what takes nests apart, joins them and reads arrays, without a graph."""
